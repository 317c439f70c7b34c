package validate

import "testing"

func TestAheadTellsOfAPanic(t *testing.T) {
	if got := ahead(func() int { return 7 })(); got != 7 {
		t.Errorf("it gave %d", got)
	}
	begun := make(chan struct{})
	wait := ahead(func() int { close(begun); panic("a fault") })
	<-begun
	defer func() {
		if v := recover(); v != "a fault" {
			t.Errorf("the one who waits is told %v", v)
		}
	}()
	wait()
	t.Error("it went on")
}
