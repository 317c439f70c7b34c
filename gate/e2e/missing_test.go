package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/trouble"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/spool"
)

// TestMissingThings serves a node without its image and without CORE's folder, and
// then with another threegate-init: what needs them is held up, status, doctor and
// the log say what and how to mend it, and all goes on by itself once it is mended.
func TestMissingThings(t *testing.T) {
	n := emptyNode(t)
	n.untilLogged(0, "msg=serving")
	if err := n.stop(); err != nil {
		t.Fatal(err)
	}
	layout := filepath.Join(t.TempDir(), "images")
	symlink(t, t.TempDir(), layout)
	init := filepath.Join(filepath.Dir(threegate), "missing-test", "threegate-init")
	copyPrograms(t, filepath.Dir(init))
	file := filepath.Join(n.dir, config.FileName)
	text := strings.Replace(read(t, file), images, layout, 1)
	text = strings.Replace(text, "backends:\n", "backends:\n  init: "+init+"\n", 1)
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	n.load()
	core, away := n.cfg.CoreInbound.Path, n.cfg.CoreInbound.Path+".away"
	rename(t, core, away)
	n.serve()
	n.untilLogged(0, `msg="language python is missing"`)
	n.untilLogged(0, `msg="core inbound is missing"`)

	r := era("TR-20260209-230000Z-held", "print('went on')\n")
	n.send(r)
	x := n.heldUp(r.id, "its run can't be started")
	if !strings.Contains(x.Error, "image is not there") || !strings.Contains(x.Hint, "deploy/images/build") {
		t.Errorf("without its image: %+v", x)
	}
	if c := n.count("spool", string(spool.StateAdmitted), "*"); c != 1 {
		t.Errorf("%d jobs are admitted", c)
	}
	for _, want := range []string{"missing: language python", "held up: " + r.id, "mend: "} {
		if out := n.threegate("status", "--node", n.dir); !strings.Contains(out, want) {
			t.Errorf("status lacks %q:\n%s", want, out)
		}
	}
	out, err := exec.Command(threegate, "doctor", "--node", n.dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "deploy/images/build "+layout+" python") ||
		!strings.Contains(string(out), "mkdir -m 750 "+core) {
		t.Errorf("doctor: %v\n%s", err, out)
	}

	// The image is put there: it runs, and its result can't be delivered.
	if err := os.Remove(layout); err != nil {
		t.Fatal(err)
	}
	symlink(t, images, layout)
	x = n.heldUp(r.id, "its result can't be delivered")
	if strings.Contains(x.Error, "publish.") || !strings.Contains(x.Error, core) ||
		!strings.Contains(x.Hint, "core_inbound.path") {
		t.Errorf("without CORE's folder: %+v", x)
	}
	rename(t, away, core)
	if got := n.result(n.await(r.id)).Stdout.Text; got != "went on\n" {
		t.Errorf("stdout %q", got)
	}

	// Its program for payloads is gone, and comes back.
	payload := filepath.Join(filepath.Dir(init), "threegate-payload")
	rename(t, payload, payload+".away")
	r = era("TR-20260209-230002Z-payload", "print('went on')\n")
	n.send(r)
	n.heldUp(r.id, "its run can't be started")
	if out := n.threegate("status", "--node", n.dir); !strings.Contains(out, "missing: threegate-payload") {
		t.Errorf("status without a program:\n%s", out)
	}
	rename(t, payload+".away", payload)
	if got := n.result(n.await(r.id)).Stdout.Text; got != "went on\n" {
		t.Errorf("stdout %q", got)
	}

	// Another program takes the place of threegate-init beneath the gate.
	if err := os.WriteFile(init+".new", []byte("#!/bin/true\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	rename(t, init+".new", init)
	r = era("TR-20260209-230001Z-init", "print('went on')\n")
	n.send(r)
	if x = n.heldUp(r.id, "its run can't be started"); !strings.Contains(x.Error, "is no threegate-init") ||
		!strings.Contains(x.Hint, "make build") {
		t.Errorf("with another init: %+v", x)
	}
	copyPrograms(t, filepath.Dir(init))
	if got := n.result(n.await(r.id)).Stdout.Text; got != "went on\n" {
		t.Errorf("stdout %q", got)
	}
	n.check()
	n.mustBeWhole()

	// A start with a wrong one is refused, and status says why.
	if err := n.stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(init+".new", []byte("#!/bin/true\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	rename(t, init+".new", init)
	out, err = exec.Command(threegate, "serve", "--node", n.dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is no threegate-init") ||
		!strings.Contains(string(out), "hint: ") {
		t.Errorf("serve with a wrong init: %v\n%s", err, out)
	}
	if out := n.threegate("status", "--node", n.dir); !strings.Contains(out, "missing: threegate-init") {
		t.Errorf("status of a node that can't start:\n%s", out)
	}
}

// heldUp waits until status says that a request is held up in that way.
func (n *node) heldUp(id, doing string) trouble.Trouble {
	n.t.Helper()
	var found trouble.Trouble
	n.until(id+" to be held up: "+doing, func() bool {
		var s view.NodeStatus
		if err := json.Unmarshal([]byte(n.threegate("status", "--json", "--node", n.dir)), &s); err != nil {
			n.t.Fatal(err)
		}
		if s.Live == nil {
			return false
		}
		for _, x := range s.Live.Troubles {
			if x.Request == id && x.Doing == doing {
				found = x
				return true
			}
		}
		return false
	})
	return found
}

func symlink(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// copyPrograms puts the right programs of sandboxes into a folder, each at once.
func copyPrograms(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"threegate-init", "threegate-payload"} {
		path := filepath.Join(dir, name)
		data := read(t, filepath.Join(filepath.Dir(threegate), name))
		if err := os.WriteFile(path+".new", []byte(data), 0o755); err != nil {
			t.Fatal(err)
		}
		rename(t, path+".new", path)
	}
}
