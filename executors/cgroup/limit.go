package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
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
	)
}

// set writes a setting and reads it back. Without O_CREATE: a group that is gone
// must not become a file.
func set(file, value string) error {
	fd, err := unix.Open(file, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: file, Err: err}
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte(value)); err != nil {
		return &os.PathError{Op: "write", Path: file, Err: err}
	}
	var buf [64]byte
	n, err := unix.Pread(fd, buf[:], 0)
	if err != nil {
		return &os.PathError{Op: "read", Path: file, Err: err}
	}
	if got := strings.TrimSpace(string(buf[:n])); got != value {
		return fmt.Errorf("%s is %s after %s was written", file, got, value)
	}
	return nil
}

// Holds says by an error if the group's limits in cgroup v1 are others, or if it
// allows any but harmless devices.
func Holds(root, path string, l Limits) error {
	for file, want := range map[string]int64{
		"cpu/%/cpu.cfs_period_us": l.CPUPeriodMicros, "cpu/%/cpu.cfs_quota_us": l.CPUQuotaMicros,
		"memory/%/memory.limit_in_bytes": l.MemoryBytes, "pids/%/pids.max": l.Pids,
	} {
		if got := number(filepath.Join(root, strings.Replace(file, "%", path, 1))); got != want {
			return fmt.Errorf("cgroup %s: %s is %d, not %d", path, file, got, want)
		}
	}
	swap := filepath.Join(root, "memory", path, "memory.memsw.limit_in_bytes")
	if got := number(swap); exists(swap) && got != l.MemoryBytes {
		return fmt.Errorf("cgroup %s: memory and swap are %d, not %d", path, got, l.MemoryBytes)
	}
	return devicesHold(filepath.Join(root, "devices", path))
}
