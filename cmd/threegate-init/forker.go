package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/job"
)

// forker serves the gate until that closes its socket, or ends.
func forker() int {
	packet := make([]byte, job.MaxBirthBytes)
	rights := make([]byte, unix.CmsgSpace((job.BirthGroup+1)*4))
	for {
		n, m, flags, _, err := unix.Recvmsg(job.ForkerFD, packet, rights, unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil, n == 0:
			return 0 // the gate is gone
		}
		files, err := received(rights[:m])
		if err != nil || len(files) <= job.BirthReady || len(files) > job.BirthGroup+1 || flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
			return job.ExitInit // not the gate that started this process
		}
		var b job.Birth
		err = json.Unmarshal(packet[:n], &b)
		go func() {
			var born job.Born
			if err == nil && b.Unified != (len(files) > job.BirthGroup) {
				err = errors.New("the group of the unified hierarchy is missing, or too much")
			}
			if err == nil {
				born.Pid, err = birth(b, files)
			}
			if err != nil {
				born.Error = err.Error()
			}
			answer, _ := json.Marshal(born)                  // of a number and a text
			_, _ = unix.Write(files[job.BirthReply], answer) // nobody is left to tell
			for _, fd := range files {
				_ = unix.Close(fd) // nothing of ours was written
			}
		}()
	}
}

func received(rights []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("%d messages with descriptors, %w", len(messages), err)
	}
	return unix.ParseUnixRights(&messages[0])
}
