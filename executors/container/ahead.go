package container

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// roomAhead is how many bytes must be free where containerd unpacks images, for one to be
// unpacked for slots: an image of a language takes some 100 MiB, and the node takes in no
// requests without room left.
const roomAhead = 256 << 20

// mayMakeAhead fails while a slot of this image would cost the room that requests need. A
// run whose image is not there yet unpacks it all the same.
func (e *Executor) mayMakeAhead(image string) error {
	e.mu.Lock()
	r := e.roots[image]
	e.mu.Unlock()
	if r != nil && r.mu.TryLock() {
		ready := r.ready
		r.mu.Unlock()
		if ready {
			return nil
		}
	}
	return roomFor(e.cfg.Containerd.Private.Root, roomAhead)
}

// roomFor fails if fewer bytes are free in dir; what can't be told does not.
func roomFor(dir string, bytes uint64) error {
	var st unix.Statfs_t
	if dir == "" || unix.Statfs(dir, &st) != nil {
		return nil
	}
	if free := st.Bavail * uint64(st.Bsize); free < bytes {
		return fmt.Errorf("no image is unpacked ahead of need: %d MiB are free in %q, %d MiB must be: make room on that disk", free>>20, dir, bytes>>20)
	}
	return nil
}
