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

// Chromium is a browser without a window, driven by the DevTools protocol over a pair of pipes.
type Chromium struct {
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

// Start starts a browser that ends with the test. It reaches nothing but this machine, and keeps nothing.
func Start(t *testing.T) *Chromium {
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
		"--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
		"--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{toRead, fromWrite} // 3 and 4 there
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v; deploy/browser/install installs it", err)
	}
	toRead.Close()
	fromWrite.Close()
	c := &Chromium{t: t, to: toWrite, from: make(chan message, 1000)}
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
func (c *Chromium) next() message {
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
func (c *Chromium) call(session, method string, params any, seen func(message)) json.RawMessage {
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

func (c *Chromium) send(session, method string, params any) int {
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

// Runs opens a page, lets its clock run, and returns what script ran in it; empty if none did.
func (c *Chromium) Runs(url string) (what string) {
	target, session := c.open()
	loaded, over := false, false
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
	c.call(session, "Emulation.setVirtualTimePolicy", options{"policy": "pauseIfNetworkFetchesPending",
		"budget": pageTime}, seen)
	for !over {
		seen(c.next())
	}
	c.call("", "Target.closeTarget", options{"targetId": target}, nil)
	return what
}

// open opens an empty page.
func (c *Chromium) open() (target, session string) {
	c.t.Helper()
	var ids struct{ TargetID, SessionID string }
	for _, b := range []func() json.RawMessage{
		func() json.RawMessage { return c.call("", "Target.createTarget", options{"url": "about:blank"}, nil) },
		func() json.RawMessage {
			return c.call("", "Target.attachToTarget", options{"targetId": ids.TargetID, "flatten": true}, nil)
		},
	} {
		if err := json.Unmarshal(b(), &ids); err != nil {
			c.t.Fatal(err)
		}
	}
	return ids.TargetID, ids.SessionID
}

// Look is how a page is looked at.
type Look struct {
	Width, Height int
	Dark          bool
	// Script is evaluated in the page when it is loaded; its promise is waited for, and what comes of it is decoded
	// into Into.
	Script string
	Into   any
}

// Open opens a page, and returns a picture of it (PNG) and the addresses that it asked for.
func (c *Chromium) Open(url string, look Look) (picture []byte, asked []string) {
	c.t.Helper()
	target, session := c.open()
	loaded := false
	seen := func(m message) {
		var p struct {
			Request struct{ URL string }
		}
		switch {
		case m.SessionID != session:
		case m.Method == "Page.loadEventFired":
			loaded = true
		case m.Method == "Network.requestWillBeSent" && json.Unmarshal(m.Params, &p) == nil:
			asked = append(asked, p.Request.URL)
		}
	}
	scheme := "light"
	if look.Dark {
		scheme = "dark"
	}
	c.call(session, "Page.enable", nil, seen)
	c.call(session, "Network.enable", nil, seen)
	c.call(session, "Emulation.setDeviceMetricsOverride", options{"width": look.Width, "height": look.Height,
		"deviceScaleFactor": 1, "mobile": false}, seen)
	c.call(session, "Emulation.setEmulatedMedia", options{"features": []options{{"name": "prefers-color-scheme",
		"value": scheme}}}, seen)
	c.call(session, "Page.navigate", options{"url": url}, seen)
	for !loaded {
		seen(c.next())
	}
	if look.Script != "" {
		var result struct {
			Result           struct{ Value json.RawMessage }
			ExceptionDetails json.RawMessage
		}
		b := c.call(session, "Runtime.evaluate", options{"expression": look.Script, "awaitPromise": true,
			"returnByValue": true}, seen)
		if err := json.Unmarshal(b, &result); err != nil || result.ExceptionDetails != nil {
			c.t.Fatalf("%v %s", err, result.ExceptionDetails)
		}
		if err := json.Unmarshal(result.Result.Value, look.Into); err != nil {
			c.t.Fatalf("%v: %s", err, result.Result.Value)
		}
	}
	var shot struct{ Data []byte }
	if err := json.Unmarshal(c.call(session, "Page.captureScreenshot", nil, seen), &shot); err != nil {
		c.t.Fatal(err)
	}
	c.call("", "Target.closeTarget", options{"targetId": target}, nil)
	return shot.Data, asked
}
