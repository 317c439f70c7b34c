package validate

import "sync"

// ahead begins what takes about as long as what the caller does meanwhile, and does not
// need it. The function it returns waits for that, or does it if nobody has begun; it
// panics as do does.
func ahead[T any](do func() T) (wait func() T) {
	wait = sync.OnceValue(do)
	go func() {
		defer func() { _ = recover() }() // whoever waits is told
		wait()
	}()
	return wait
}
