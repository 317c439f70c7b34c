//go:build browser

package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// deadline is when a test gives up that Chromium does not answer. No verdict depends on it.
const deadline = time.Minute

// chromium is a browser without a window, driven by the DevTools protocol over a pair of pipes.
type chromium struct {
	t      *testing.T
	to     io.Writer
	from   chan message
	lastID int
}

type message struct {
	ID        int             `json:"id"`
	Method    string          `json:"method"`
	SessionID string          `json:"sessionId"`
	Params    json.RawMessage `json:"params"`
	Result    json.RawMessage `json:"result"`
	Error     json.RawMessage `json:"error"`
}

// start starts a browser that ends with the test. It resolves no name and keeps nothing.
func start(t *testing.T) *chromium {
	t.Helper()
	toRead, toWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromRead, fromWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("chromium", "--headless", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu",
		"--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{toRead, fromWrite} // 3 and 4 there
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v; deploy/browser/install installs it", err)
	}
	toRead.Close()
	fromWrite.Close()
	c := &chromium{t: t, to: toWrite, from: make(chan message, 1000)}
	t.Cleanup(func() {
		c.call("", "Browser.close", nil, nil)
		cmd.Wait()
		toWrite.Close()
		fromRead.Close()
	})
	go func() {
		defer close(c.from)
		for r := bufio.NewReader(fromRead); ; {
			b, err := r.ReadBytes(0)
			if err != nil {
				return
			}
			var m message
			if json.Unmarshal(b[:len(b)-1], &m) == nil {
				c.from <- m
			}
		}
	}()
	return c
}

// next is the next message.
func (c *chromium) next() message {
	select {
	case m, ok := <-c.from:
		if ok {
			return m
		}
		c.t.Fatal("Chromium ended")
	case <-time.After(deadline):
		c.t.Fatal("Chromium does not answer")
	}
	return message{}
}

// call calls a method and returns its result. Events that come before are given to seen, if it is not nil.
func (c *chromium) call(session, method string, params any, seen func(message)) json.RawMessage {
	c.t.Helper()
	id := c.send(session, method, params)
	for {
		m := c.next()
		switch {
		case m.ID == id && m.Error != nil:
			c.t.Fatalf("%s: %s", method, m.Error)
		case m.ID == id:
			return m.Result
		case seen != nil:
			seen(m)
		}
	}
}

func (c *chromium) send(session, method string, params any) int {
	c.lastID++
	b, err := json.Marshal(map[string]any{"id": c.lastID, "sessionId": session, "method": method, "params": params})
	if err == nil {
		_, err = c.to.Write(append(b, 0))
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return c.lastID
}

type options map[string]any

// pageTime is how long a page may act, in milliseconds of its own clock, which stands still while it loads.
const pageTime = 2000

// runs opens a page, lets its clock run, and returns what script ran in it; empty if none did.
func (c *chromium) runs(url string) (what string) {
	var target struct{ TargetID, SessionID string }
	take := func(b json.RawMessage) {
		if err := json.Unmarshal(b, &target); err != nil {
			c.t.Fatal(err)
		}
	}
	take(c.call("", "Target.createTarget", options{"url": "about:blank"}, nil))
	take(c.call("", "Target.attachToTarget", options{"targetId": target.TargetID, "flatten": true}, nil))
	session, loaded, over := target.SessionID, false, false
	seen := func(m message) {
		switch {
		case m.SessionID != session:
		case m.Method == "Debugger.scriptParsed" && bytes.Contains(m.Params, []byte(`"isDefault":true`)):
			what = "a script" // and none of the browser's own, such as its viewer of XML
		case m.Method == "Page.javascriptDialogOpening":
			what = "a dialog"
			c.send(session, "Page.handleJavaScriptDialog", options{"accept": true})
		case m.Method == "Page.loadEventFired":
			loaded = true
		case m.Method == "Emulation.virtualTimeBudgetExpired":
			over = true
		}
	}
	for _, method := range []string{"Page.enable", "Debugger.enable"} {
		c.call(session, method, nil, seen)
	}
	// What it downloads instead of showing it is an error here, and never loaded.
	shown := !bytes.Contains(c.call(session, "Page.navigate", options{"url": url}, seen), []byte(`"errorText"`))
	for shown && !loaded {
		seen(c.next())
	}
	c.call(session, "Emulation.setVirtualTimePolicy", options{"policy": "pauseIfNetworkFetchesPending", "budget": pageTime}, seen)
	for !over {
		seen(c.next())
	}
	c.call("", "Target.closeTarget", options{"targetId": target.TargetID}, nil)
	return what
}
