package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Limits are what Limit sets; all of them must be above zero.
type Limits struct {
	CPUQuotaMicros, CPUPeriodMicros int64
	MemoryBytes                     int64 // swap included, where the kernel counts it
	Pids                            int64
}

// Limit sets the limits of the group at path and reads them back: they are in
// force when it returns without an error.
func Limit(root, path string, l Limits) error {
	if l.CPUQuotaMicros <= 0 || l.CPUPeriodMicros <= 0 || l.MemoryBytes <= 0 || l.Pids <= 0 {
		return fmt.Errorf("limit cgroup %s: a limit is missing: %+v", path, l)
	}
	var err error
	if Unified(root) {
		err = limitV2(filepath.Join(root, path), l)
	} else {
		err = limitV1(root, path, l)
	}
	if err != nil {
		return fmt.Errorf("limit cgroup %s: %w", path, err)
	}
	return nil
}

func limitV1(root, path string, l Limits) error {
	cpu, memory := filepath.Join(root, "cpu", path), filepath.Join(root, "memory", path)
	limit, swap := filepath.Join(memory, "memory.limit_in_bytes"), filepath.Join(memory, "memory.memsw.limit_in_bytes")
	order := []string{limit, swap}
	if l.MemoryBytes > number(limit) { // memory may never be above memory and swap
		order = []string{swap, limit}
	}
	for _, file := range order {
		err := set(file, strconv.FormatInt(l.MemoryBytes, 10))
		if file == swap && errors.Is(err, fs.ErrNotExist) {
			continue // this kernel does not count swap
		}
		if err != nil {
			return err
		}
	}
	// The period first would change the share for an instant; both are in force
	// before anything runs.
	return errors.Join(
		set(filepath.Join(cpu, "cpu.cfs_period_us"), strconv.FormatInt(l.CPUPeriodMicros, 10)),
		set(filepath.Join(cpu, "cpu.cfs_quota_us"), strconv.FormatInt(l.CPUQuotaMicros, 10)),
		set(filepath.Join(root, "pids", path, "pids.max"), strconv.FormatInt(l.Pids, 10)),
	)
}

func limitV2(dir string, l Limits) error {
	err := set(filepath.Join(dir, "memory.swap.max"), "0")
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err,
		set(filepath.Join(dir, "memory.max"), strconv.FormatInt(l.MemoryBytes, 10)),
		set(filepath.Join(dir, "cpu.max"), fmt.Sprintf("%d %d", l.CPUQuotaMicros, l.CPUPeriodMicros)),
		set(filepath.Join(dir, "pids.max"), strconv.FormatInt(l.Pids, 10)),
		// A program that has lost one of its processes to the limit is not what was approved.
		set(filepath.Join(dir, "memory.oom.group"), "1"),
	)
}

// write writes to a file of a group. Without O_CREATE: a group that is gone must not become
// a file.
func write(file, value string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// set writes a setting and reads it back.
func set(file, value string) error {
	if err := write(file, value); err != nil {
		return err
	}
	got, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if text := strings.TrimSpace(string(got)); text != value {
		return fmt.Errorf("%s is %s after %s was written", file, text, value)
	}
	return nil
}
