package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/threegate/tool-exec/executors/job"
)

// work makes the working folder of a run, copies what the request named from /in, and becomes the run's program.
// job.WorkArgv gives its arguments. It returns an exit code only if that can't be done, and says why on stderr.
func work(args []string) int {
	i := slices.Index(args, job.WorkEnd)
	if i < 1 || i == len(args)-1 {
		fmt.Fprintln(os.Stderr, "say where to copy which inputs, then "+job.WorkEnd+" and the command")
		return job.ExitNotExec
	}
	dir := args[0]
	if err := fill("/in", dir, args[1:i]); err != nil {
		fmt.Fprintf(os.Stderr, "the working folder could not be made, and nothing was run: %v\n", err)
		return job.ExitNotExec
	}
	err := os.Chdir(dir)
	if err == nil {
		err = become(args[i+1:])
	}
	fmt.Fprintf(os.Stderr, "%s could not be started: %v\n", args[i+1], err)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		return job.ExitNotFound
	}
	return job.ExitNotExec
}

// fill makes the folder work, with writable copies of files and folders below in.
func fill(in, work string, paths []string) error {
	if err := os.Mkdir(work, 0o755); err != nil {
		return err
	}
	for _, p := range paths {
		from, to := filepath.Join(in, p), filepath.Join(work, p)
		info, err := os.Stat(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		switch {
		case err != nil:
		case info.IsDir():
			err = os.CopyFS(to, os.DirFS(from))
		default:
			err = copyFile(to, from)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyFile(to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = dst.ReadFrom(src)
	return errors.Join(err, dst.Close())
}

// become replaces this process by the program.
func become(argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return err
	}
	if err := syscall.Exec(path, argv, os.Environ()); err != nil {
		return &fs.PathError{Op: "exec", Path: path, Err: err}
	}
	return nil
}
