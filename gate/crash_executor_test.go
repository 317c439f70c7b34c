package gate_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/toolruntime/contract"
)

// recorder is an executor without containers. What it remembers of a task lies
// in a folder, as with the real one; every start of a task appends a line to the
// file of runs, which nothing ever takes back, so a second run can't hide.
type recorder struct {
	dir  string
	seam spool.Seam
}

func (r *recorder) runsFile() string { return filepath.Join(r.dir, "runs") }

// runs counts the starts of every task.
func (r *recorder) runs() map[string]int {
	m := map[string]int{}
	data, _ := os.ReadFile(r.runsFile())
	for _, id := range strings.Fields(string(data)) {
		if strings.HasPrefix(id, "j") { // to judge a patch again is no run of the request
			m[id]++
		}
	}
	return m
}

func (r *recorder) box(id string, elem ...string) string {
	return filepath.Join(append([]string{r.dir, "boxes", id}, elem...)...)
}

// reboot takes away what lies in memory.
func (r *recorder) reboot() error { return os.RemoveAll(filepath.Join(r.dir, "boxes")) }

// opExec is the kind of the executor's steps.
const opExec spool.Op = "executor"

func (r *recorder) take(name string, apply func() error) error {
	return r.seam(spool.Step{Name: "executor." + name, Op: opExec}, apply)
}

func (r *recorder) Identity(context.Context, executors.Task) (executors.Identity, error) {
	return executors.Identity{Backend: "ERA/1", Runtime: "recorder", Image: "sha256:" + strings.Repeat("0", 64)}, nil
}

func (r *recorder) Prepare(_ context.Context, t executors.Task) error {
	return r.take("prepare", func() error {
		b, err := json.Marshal(t)
		return errors.Join(err, os.RemoveAll(r.box(t.ID)), os.MkdirAll(r.box(t.ID), 0o700),
			os.WriteFile(r.box(t.ID, "task"), b, 0o600))
	})
}

func (r *recorder) Start(_ context.Context, id string) error {
	return r.take("start", func() error {
		for _, over := range []string{"started", "killed"} {
			if _, err := os.Lstat(r.box(id, over)); err == nil {
				return nil
			}
		}
		if t, err := r.task(id); err != nil {
			return err
		} else if n := r.balks(); slices.Contains(t.Argv, "balk") && n < balks {
			return errors.Join(os.WriteFile(filepath.Join(r.dir, "balks"), []byte{byte(n + 1)}, 0o600),
				os.WriteFile(r.box(id, "balked"), nil, 0o600))
		}
		if err := os.WriteFile(r.box(id, "started"), nil, 0o600); err != nil {
			return err
		}
		f, err := os.OpenFile(r.runsFile(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(f, id)
		return errors.Join(err, f.Close())
	})
}

// balks is how often the sandbox of a task that says so fails before it starts it.
const balks = 1

func (r *recorder) balks() int {
	data, _ := os.ReadFile(filepath.Join(r.dir, "balks"))
	if len(data) == 0 {
		return 0
	}
	return int(data[0])
}

func (r *recorder) State(_ context.Context, id string) (executors.State, error) {
	s := executors.StateAbsent
	err := r.take("state", func() error {
		if _, err := os.Lstat(r.box(id, "task")); err == nil {
			s = executors.StateCreated
		}
		if _, err := os.Lstat(r.box(id, "balked")); err == nil {
			s = executors.StateUnstarted
		}
		if _, err := os.Lstat(r.box(id, "started")); err == nil {
			s = executors.StateExited
		}
		if _, err := os.Lstat(r.box(id, "killed")); err == nil {
			s = executors.StateExited
		}
		return nil
	})
	return s, err
}

func (r *recorder) task(id string) (t executors.Task, err error) {
	b, err := os.ReadFile(r.box(id, "task"))
	if err != nil {
		return t, err
	}
	return t, json.Unmarshal(b, &t)
}

// started is when every run of the recorder began.
var started = time.Date(2026, 2, 9, 17, 0, 0, 0, time.UTC)

func (r *recorder) Wait(ctx context.Context, id string) (executors.Outcome, error) {
	var o executors.Outcome
	if t, err := r.task(id); err == nil && slices.Contains(t.Argv, "endless") {
		if err := r.awaitKill(ctx, id); err != nil {
			return o, err
		}
	}
	err := r.take("wait", func() error {
		t, err := r.task(id)
		if err != nil {
			return err
		}
		if _, err := os.Lstat(r.box(id, "balked")); err == nil {
			return executors.ErrNotStarted
		}
		o.Identity, _ = r.Identity(ctx, t)
		o.Cause, o.StartedAt, o.FinishedAt, o.Wall = schemas.CauseNone, started, started.Add(time.Second), time.Second
		if slices.Contains(t.Argv, "fail") {
			o.ExitCode = 3
		}
		if _, err := os.Lstat(r.box(id, "killed")); err == nil {
			o.ExitCode, o.Cause, o.Detail = -1, schemas.CauseInterrupted, "ended by the node"
		}
		return nil
	})
	return o, err
}

// secret is what no result may hold; it is put together here so that scanners of
// the repository are not alarmed.
var secret = "ghp_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"

// dumped refuses a result, as three secrets may stand beside others.
var dumped = "token " + secret + "\ndb_password = \"" + "Zq7!vLm2#xT9" + "\"\napi_key = \"" + "k9dLq2mZ7RtYw4BvNc8HsJf1PgUe6A" + "\"\n"

func (r *recorder) Collect(_ context.Context, id, dst string) (executors.Collected, error) {
	var c executors.Collected
	var wrote map[string]string
	err := r.take("collect", func() error {
		t, err := r.task(id)
		if err != nil {
			return err
		}
		stdout := "hello\n"
		if slices.Contains(t.Argv, "secret") {
			stdout = dumped
		}
		if slices.Contains(t.Argv, "order") {
			stdout = fetchOrder + "\n" + rows(300) + fetchOrder + "\n"
		}
		out, file := "1,2\n", "d/x.csv"
		if slices.Contains(t.Argv, "profile") {
			out, file = strings.Replace(todoPatch, "TODO", "two", 1), "changes.patch"
		}
		if slices.Contains(t.Argv, "script") {
			out = "#!/bin/sh\nls\n"
		}
		c.Stdout, c.Stderr = streamOf(stdout), streamOf("")
		c.Files = []executors.File{{Path: file, Size: int64(len(out)), SHA256: streamOf(out).SHA256}}
		wrote = map[string]string{"stdout": stdout, "stderr": "", "out/" + file: out}
		if slices.Contains(t.Argv, "bare") {
			calls := crashTimeline()
			c.Timeline = &schemas.ToolCalls{SHA256: streamOf(calls).SHA256, Calls: 1, Codes: map[string]int{"OK": 1}}
			switch {
			case slices.Contains(t.Argv, "lies"): // of arguments that no plan has
				calls = strings.Replace(calls, `"args_hash":"`+calls[strings.Index(calls, `hash":"`)+7:][:1], `"args_hash":"`+"0", 1)
				c.Timeline.SHA256 = streamOf(calls).SHA256
			case slices.Contains(t.Argv, "forged"):
				calls = "{}\n"
				c.Timeline = &schemas.ToolCalls{SHA256: streamOf(calls).SHA256, Fault: schemas.TimelineMalformed}
			}
			wrote["timeline.jsonl"] = calls
		}
		return errors.Join(os.RemoveAll(filepath.Join(dst, "timeline.jsonl")), os.RemoveAll(filepath.Join(dst, "out")), os.RemoveAll(filepath.Join(dst, "stdout")),
			os.RemoveAll(filepath.Join(dst, "stderr")), os.MkdirAll(filepath.Dir(filepath.Join(dst, "out", file)), 0o700))
	})
	for _, name := range slices.Sorted(maps.Keys(wrote)) {
		err = errors.Join(err, r.write(filepath.Join(dst, name), wrote[name]))
	}
	return c, err
}

// write writes a file that the gate is to make durable.
func (r *recorder) write(path, text string) error {
	err := r.seam(spool.Step{Name: "collect.create", Op: spool.OpCreate, Path: path},
		func() error { return os.WriteFile(path, nil, 0o600) })
	if err != nil {
		return err
	}
	return r.seam(spool.Step{Name: "collect.write", Op: spool.OpWrite, Path: path, Torn: func() error {
		return os.WriteFile(path, []byte(text[:len(text)/2]), 0o600)
	}}, func() error { return os.WriteFile(path, []byte(text), 0o600) })
}

func streamOf(text string) executors.Stream {
	sum := sha256.Sum256([]byte(text))
	return executors.Stream{Total: int64(len(text)), Kept: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}
}

// Kill ends a task. One that has ended by itself, as all do at once but the endless ones, it lets be.
func (r *recorder) Kill(_ context.Context, id string) error {
	return r.take("kill", func() error {
		t, err := r.task(id)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		_, started := os.Lstat(r.box(id, "started"))
		if err != nil || started == nil && !slices.Contains(t.Argv, "endless") {
			return err
		}
		return os.WriteFile(r.box(id, "killed"), nil, 0o600)
	})
}

// awaitKill waits until a task was killed.
func (r *recorder) awaitKill(ctx context.Context, id string) error {
	for {
		if _, err := os.Lstat(r.box(id, "killed")); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

func (r *recorder) Cleanup(_ context.Context, id string) error {
	return r.take("cleanup", func() error { return os.RemoveAll(r.box(id)) })
}

func (r *recorder) List(context.Context) ([]string, error) {
	var ids []string
	err := r.take("list", func() error {
		es, err := os.ReadDir(filepath.Join(r.dir, "boxes"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		for _, e := range es {
			ids = append(ids, e.Name())
		}
		return err
	})
	return ids, err
}

// crashTimeline tells of the call of crashPlan.
func crashTimeline() string {
	hash, _ := contract.ArgsHash([]byte(`{"path":"a"}`))
	line, _ := contract.Entry{Tool: "file_read", ArgsHash: hash, StartTS: 1, EndTS: 2, Code: contract.CodeOK}.Encode()
	return string(line)
}
