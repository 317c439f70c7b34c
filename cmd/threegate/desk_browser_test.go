//go:build browser

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/deploy/browser"
)

// violation is what axe-core finds: a rule, and where it is broken.
type violation struct {
	ID    string
	Help  string
	Nodes []struct{ HTML string }
}

// TestDeskInABrowser opens each page in a real Chromium: no text acts, nothing is loaded from elsewhere, and axe-core
// finds nothing, in light and dark, on a wide screen and a narrow one. DESK_PICTURES names a folder for pictures.
func TestDeskInABrowser(t *testing.T) {
	axe, err := os.ReadFile("../../build/browser/node_modules/axe-core/axe.min.js")
	check(t, err)
	url, c := started(t, "desk", "--node", hostileNode(t)), browser.Start(t)
	for _, page := range deskPages[:len(deskPages)-1] { // a browser takes .. away by itself
		if what := c.Runs(url + page); what != "" {
			t.Errorf("%s: %s ran", page, what)
		}
		for _, look := range []browser.Look{{Width: 1280, Height: 900}, {Width: 360, Height: 740}} {
			for _, look.Dark = range []bool{false, true} {
				var found struct {
					Ran        string
					Frames     int
					Wide       int
					Violations []violation
				}
				look.Script = string(axe) + `; axe.run().then(r => ({violations: r.violations, frames: frames.length,
					ran: document.documentElement.getAttribute("ran") || "", wide: document.documentElement.scrollWidth}))`
				look.Into = &found
				picture, asked := c.Open(url+page, look)
				at := fmt.Sprintf("%s at %d, dark %v", page, look.Width, look.Dark)
				if found.Ran != "" || found.Frames != 0 || found.Wide > look.Width {
					t.Errorf("%s: ran %q, %d frames, %d wide", at, found.Ran, found.Frames, found.Wide)
				}
				for _, v := range found.Violations {
					t.Errorf("%s: %s: %s: %+v", at, v.ID, v.Help, v.Nodes)
				}
				for _, a := range asked {
					if !strings.HasPrefix(a, url) {
						t.Errorf("%s: it asks for %s", at, a)
					}
				}
				if dir := os.Getenv("DESK_PICTURES"); dir != "" {
					name := fmt.Sprintf("%s-%d-%v.png", strings.NewReplacer("/", "-", "%", "").Replace("desk-"+page), look.Width, look.Dark)
					check(t, os.WriteFile(filepath.Join(dir, name), picture, 0o600))
				}
			}
		}
	}
}
