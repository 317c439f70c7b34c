package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/threegate/tool-exec/executors/job"
)

// errNoJob means that init's input ended before a job was there.
var errNoJob = errors.New("no job was handed over")

// awaitSpec reads the job. If there is none yet it blocks on nudge and looks
// again for each byte that comes: a sandbox made ahead of need waits here.
func awaitSpec(dir string, nudge io.Reader) (job.Spec, error) {
	for {
		spec, err := readSpec(dir)
		if !errors.Is(err, os.ErrNotExist) {
			return spec, err
		}
		if _, err := nudge.Read(make([]byte, 1)); err != nil {
			return job.Spec{}, errNoJob
		}
	}
}

func readSpec(dir string) (job.Spec, error) {
	var spec job.Spec
	f, err := os.Open(filepath.Join(dir, job.SpecFile))
	if err != nil {
		return spec, fmt.Errorf("read the job: %w", err)
	}
	defer f.Close()
	dec := json.NewDecoder(io.LimitReader(f, job.MaxFileBytes))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&spec); err != nil {
		return spec, fmt.Errorf("read the job: %w", err)
	}
	if len(spec.Argv) == 0 || spec.Argv[0] == "" || spec.Time <= 0 || spec.StdoutBytes < 0 || spec.StderrBytes < 0 {
		return spec, errors.New("read the job: it lacks a program or a limit")
	}
	return spec, nil
}

// writeJSON makes the file appear complete or not at all. The folder is tmpfs:
// there is nothing to sync, and what it holds outlives init.
func writeJSON(dir, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	tmp := filepath.Join(dir, "."+name)
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(tmp, filepath.Join(dir, name)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
