package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

// lookPause lies between two looks for the payload where the host can't reach a pipe.
const lookPause = 20 * time.Millisecond

// awaitPayload waits until the host says what to run.
func awaitPayload(dir string) (job.Payload, error) {
	// For writing too: so it never ends, whoever of the host goes. Opened before
	// anything is searched for, so that no byte is missed.
	pipe, err := unix.Open(filepath.Join(dir, job.StartPipe), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		pipe, err = -1, nil
	}
	if err != nil {
		return job.Payload{}, fmt.Errorf("open the start pipe: %w", err)
	}
	for {
		p, err := readPayload(dir)
		if !errors.Is(err, os.ErrNotExist) {
			return p, errors.Join(err, closePipe(pipe))
		}
		if pipe < 0 {
			time.Sleep(lookPause)
			continue
		}
		if _, err := unix.Read(pipe, make([]byte, 1)); err != nil && !errors.Is(err, unix.EINTR) {
			return p, fmt.Errorf("wait for the host: %w", err)
		}
	}
}

// closePipe keeps the payload's start from inheriting anything.
func closePipe(pipe int) error {
	if pipe < 0 {
		return nil
	}
	return unix.Close(pipe)
}

func readPayload(dir string) (job.Payload, error) {
	var p job.Payload
	f, err := os.Open(filepath.Join(dir, job.PayloadFile))
	if err != nil {
		return p, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, job.MaxFileBytes))
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		return p, fmt.Errorf("read the payload: %w", err)
	}
	// The library that is strict would make this program larger by a quarter. The host writes the file in one way.
	if again, err := json.Marshal(p); err != nil || !bytes.Equal(again, data) {
		return p, errors.New("read the payload: it is not as the host writes it")
	}
	if len(p.Argv) == 0 || p.Argv[0] == "" || p.Time <= 0 || p.StdoutBytes < 0 || p.StderrBytes < 0 ||
		p.TimelineBytes < 0 {
		return p, errors.New("read the payload: it lacks a program or a limit")
	}
	return p, nil
}

// notify tells a host that listens to look at the folder. One that does not hears
// of the end by other means.
func notify(dir string) {
	pipe, err := unix.Open(filepath.Join(dir, job.DonePipe), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, _ = unix.Write(pipe, []byte{'.'})
	_ = unix.Close(pipe)
}

// writeJSON makes the file appear complete or not at all. The folder is tmpfs:
// there is nothing to sync, and what it holds outlives init.
func writeJSON(dir, name string, v any) error {
	data, err := json.Marshal(v)
	tmp := filepath.Join(dir, "."+name)
	if err == nil {
		err = os.WriteFile(tmp, data, 0o600)
	}
	if err == nil {
		err = os.Rename(tmp, filepath.Join(dir, name))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
