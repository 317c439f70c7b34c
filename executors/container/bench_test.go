package container

import (
	"testing"
	"time"

	"github.com/threegate/tool-exec/executors"
)

// BenchmarkCold is one run from nothing to nothing, and where its time goes.
func BenchmarkCold(b *testing.B) {
	e := open(b)
	ctx := b.Context()
	dst := b.TempDir()
	step := map[string]time.Duration{}
	measure := func(name string, f func() error) {
		began := time.Now()
		if err := f(); err != nil {
			b.Fatalf("%s: %v", name, err)
		}
		step[name] += time.Since(began)
	}
	warm := newTask("true") // imports and mounts the image
	if err := e.Prepare(ctx, warm); err != nil {
		b.Fatal(err)
	}
	if err := e.Cleanup(ctx, warm.ID); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		task := newTask("true")
		measure("prepare", func() error { return e.Prepare(ctx, task) })
		measure("start", func() error { return e.Start(ctx, task.ID) })
		var out executors.Outcome
		measure("wait", func() (err error) { out, err = e.Wait(ctx, task.ID); return err })
		step["payload"] += out.Wall
		measure("collect", func() error { _, err := e.Collect(ctx, task.ID, dst); return err })
		measure("cleanup", func() error { return e.Cleanup(ctx, task.ID) })
	}
	for name, d := range step {
		b.ReportMetric(float64(d.Microseconds())/1000/float64(b.N), name+"-ms")
	}
}

// BenchmarkWarm is one run in a slot. Slots are made while the clock is stopped.
func BenchmarkWarm(b *testing.B) {
	e, err := Open(b.Context(), slotConfig())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	ctx := b.Context()
	dst := b.TempDir()
	var prepare, start, wait, payload, collect time.Duration
	for b.Loop() {
		b.StopTimer()
		e.awaitSlots(b, testSlots)
		task := newTask("true")
		b.StartTimer()
		began := time.Now()
		if err := e.Prepare(ctx, task); err != nil {
			b.Fatal(err)
		}
		prepared := time.Now()
		if err := e.Start(ctx, task.ID); err != nil {
			b.Fatal(err)
		}
		started := time.Now()
		out, err := e.Wait(ctx, task.ID)
		if err != nil {
			b.Fatal(err)
		}
		waited := time.Now()
		if _, err := e.Collect(ctx, task.ID, dst); err != nil {
			b.Fatal(err)
		}
		prepare += prepared.Sub(began)
		start += started.Sub(prepared)
		wait += waited.Sub(started)
		payload += out.Wall
		collect += time.Since(waited)
		b.StopTimer()
		if err := e.Cleanup(ctx, task.ID); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	for name, d := range map[string]time.Duration{"prepare": prepare, "start": start, "wait": wait,
		"payload": payload, "collect": collect} {
		b.ReportMetric(float64(d.Microseconds())/1000/float64(b.N), name+"-ms")
	}
}

// BenchmarkSustained is how many runs there are in a second, each with its slot made
// and removed, with two under way at once; slots are of the kind that the
// environment names (see slotsVar).
func BenchmarkSustained(b *testing.B) {
	e, err := Open(b.Context(), slotConfig())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	e.awaitSlots(b, testSlots)
	b.SetParallelism(1)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		dst := b.TempDir()
		for pb.Next() {
			task := newTask("true")
			if err := e.Prepare(b.Context(), task); err != nil {
				b.Error("prepare:", err)
				return
			}
			if err := e.Start(b.Context(), task.ID); err != nil {
				b.Error("start:", err)
				return
			}
			if _, err := e.Wait(b.Context(), task.ID); err != nil {
				b.Error("wait:", err)
				return
			}
			if _, err := e.Collect(b.Context(), task.ID, dst); err != nil {
				b.Error("collect:", err)
				return
			}
			if err := e.Cleanup(b.Context(), task.ID); err != nil {
				b.Error("clean up:", err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}

// BenchmarkSlots is how many slots are made and removed in a second, one after the other. Another runtime than
// runc is named by the environment (see runtimeVar).
func BenchmarkSlots(b *testing.B) {
	e, err := Open(b.Context(), slotConfig())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	e.awaitSlots(b, testSlots)
	for b.Loop() {
		s, err := e.makeSlot(b.Context(), model{image: world.image})
		if err != nil {
			b.Fatal(err)
		}
		if err := e.destroySlot(b.Context(), s); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "slots/s")
}
