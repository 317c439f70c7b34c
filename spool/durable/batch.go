package durable

import (
	"errors"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// Batch is what was changed and is not durable yet. Nothing may be built upon
// it, and nobody be told of it, before [Disk.Sync] has made it durable. Within a
// batch there is no order: what must not reach the disk before something else
// belongs into a later one.
type Batch struct {
	files, dirs []unsynced
}

type unsynced struct{ step, path string }

// File notes a file whose bytes are not durable.
func (b *Batch) File(step, path string) { b.files = note(b.files, unsynced{step, path}) }

// Dir notes a folder whose entries are not durable.
func (b *Batch) Dir(step, path string) { b.dirs = note(b.dirs, unsynced{step, path}) }

func note(list []unsynced, one unsynced) []unsynced {
	if slices.ContainsFunc(list, func(x unsynced) bool { return x.path == one.path }) {
		return list
	}
	return append(list, one)
}

// maxSyncs is how many syncs of a batch are under way at once.
const maxSyncs = 8

// Sync makes durable what b holds and empties it. The caller waits for the disk
// about once, however much b holds. After an error nobody knows what is durable:
// the kernel may call bytes clean that it lost.
func (d Disk) Sync(b *Batch) error {
	if len(b.files)+len(b.dirs) == 0 {
		return nil
	}
	errs := make([]error, len(b.files)+len(b.dirs))
	slots := make(chan struct{}, maxSyncs)
	var wg sync.WaitGroup
	for i := range errs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if i < len(b.files) {
				errs[i] = d.syncFile(b.files[i])
			} else {
				dir := b.dirs[i-len(b.files)]
				errs[i] = d.SyncDir(dir.step, dir.path)
			}
		})
	}
	wg.Wait()
	*b = Batch{}
	return errors.Join(errs...)
}

func (d Disk) syncFile(f unsynced) error {
	return d.take(Step{Name: f.step + ".fsync", Op: OpSync, Path: f.path}, func() error {
		file, err := d.Pinned.open(f.path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		return errors.Join(file.Sync(), file.Close())
	})
}
