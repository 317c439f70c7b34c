package container

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

// The files of a box are small, many, and on the way of every run. They are read and
// written without the runtime's poller, which can't do anything for them.

// writeFile makes the file appear complete or not at all.
func writeFile(path string, data []byte, mode uint32) error {
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	fd, err := unix.Open(tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC, mode)
	if err != nil {
		return &os.PathError{Op: "open", Path: tmp, Err: err}
	}
	err = unix.Fchmod(fd, mode) // whatever the umask is
	for err == nil && len(data) > 0 {
		var n int
		n, err = unix.Write(fd, data)
		data = data[max(n, 0):]
	}
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return &os.PathError{Op: "write", Path: tmp, Err: err}
	}
	if err := unix.Rename(tmp, path); err != nil {
		return &os.LinkError{Op: "rename", Old: tmp, New: path, Err: err}
	}
	return nil
}

// readFile reads what init or this process wrote. It follows no link at the end of path,
// and takes no more than such a file may have.
func readFile(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	const usual = 2 << 10
	data := make([]byte, 0, usual)
	for {
		n, err := unix.Read(fd, data[len(data):cap(data)])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: path, Err: err}
		}
		if n == 0 {
			return data, nil
		}
		data = data[:len(data)+n]
		if len(data) > job.MaxFileBytes {
			return nil, fmt.Errorf("%s is larger than %d bytes", path, job.MaxFileBytes)
		}
		if len(data) == cap(data) {
			data = append(data, make([]byte, len(data))...)[:len(data)]
		}
	}
}
