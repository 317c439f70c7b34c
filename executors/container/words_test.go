package container

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/executors"
)

// TestRuntimeSaysWhy: of a runtime that makes no sandbox the node says what it said itself.
func TestRuntimeSaysWhy(t *testing.T) {
	for name, tt := range map[string]struct{ script, want string }{
		"prints and exits": {`case " $* " in *" create "*) echo "first words" >&2; echo "the kernel lacks a thing" >&2; exit 1 ;; esac
exec runc "$@"`, "the kernel lacks a thing"},
		"a mount point is missing, runc": {misplaced + `exec runc "$@"`, "no-such-place"},
		"a mount point is missing, runsc": {misplaced + `exec runsc --platform=ptrace --network=none --host-fifo=open --oci-seccomp "$@"`,
			"no-such-place"},
		"killed": {`case " $* " in *" create "*) kill -9 $$ ;; esac
exec runc "$@"`, "signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			binary := filepath.Join(t.TempDir(), "runtime")
			must(t, "write", os.WriteFile(binary, []byte("#!/bin/sh\n"+tt.script+"\n"), 0o755))
			cfg := testConfig()
			cfg.RuntimeBinary, cfg.Slots = binary, Slots{}
			e, err := Open(t.Context(), cfg)
			must(t, "Open", err)
			t.Cleanup(func() { must(t, "Close", e.Close()) })
			err = e.Prepare(t.Context(), newTask("echo", "x"))
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(executors.HintOf(err), binary) {
				t.Errorf("%v (%s), want %q", err, executors.HintOf(err), tt.want)
			}
		})
	}
}

// TestRuntimeThatCantStart: it is refused with what it says.
func TestRuntimeThatCantStart(t *testing.T) {
	cfg := testConfig()
	cfg.RuntimeBinary = filepath.Join(t.TempDir(), "runtime")
	must(t, "write", os.WriteFile(cfg.RuntimeBinary, []byte("#!/bin/sh\necho no such library >&2\nexit 127\n"), 0o755))
	e, err := Open(t.Context(), cfg)
	if err == nil {
		e.Close()
	}
	if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "exit status 127: no such library") {
		t.Error(err)
	}
}

// misplaced gives the sandbox a mount at a place that its root does not have.
const misplaced = `for a; do
	case $last in --bundle) sed -i 's#"destination":"/dev/shm"#"destination":"/no-such-place"#' "$a/config.json" ;; esac
	last=$a
done
`
