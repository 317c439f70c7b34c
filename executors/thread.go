package executors

import "runtime"

// The main thread of a process can't end with a goroutine, and /proc/self tells of it. So
// the main goroutine keeps it: no other ever runs there, or changes its namespaces.
func init() { runtime.LockOSThread() }

// OnOwnThread calls f on a thread that ends with it, and with it whatever f has changed of
// the thread: its working folder, its namespaces.
func OnOwnThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread ends
		done <- f()
	}()
	return <-done
}
