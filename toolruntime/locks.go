package toolruntime

import "sync"

// locks let calls write different files at once, one file one after the other, and a call
// that may write anything alone. Readers need none: files change by renames.
type locks struct {
	tree  sync.RWMutex
	mu    sync.Mutex
	files map[string]*sync.Mutex
}

// file locks one file, and returns what unlocks it.
func (l *locks) file(clean string) (unlock func()) {
	l.tree.RLock()
	l.mu.Lock()
	if l.files == nil {
		l.files = map[string]*sync.Mutex{}
	}
	m := l.files[clean]
	if m == nil {
		m = &sync.Mutex{}
		l.files[clean] = m
	}
	l.mu.Unlock()
	m.Lock()
	return func() { m.Unlock(); l.tree.RUnlock() }
}

// all locks everything.
func (l *locks) all() (unlock func()) {
	l.tree.Lock()
	return l.tree.Unlock
}
