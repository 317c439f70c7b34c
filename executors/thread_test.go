package executors

import (
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// No work runs on the main thread: it would stay in the namespaces of a sandbox, and
// /proc/self would tell of the sandbox instead of the gate.
func TestOwnThreadIsNotTheMainOne(t *testing.T) {
	const n = 64 // all at once, so that every idle thread is used
	var all, ready sync.WaitGroup
	ready.Add(n)
	for range n {
		all.Go(func() {
			err := OnOwnThread(func() error {
				ready.Done()
				ready.Wait()
				if unix.Gettid() == os.Getpid() {
					t.Error("it runs on the main thread")
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
