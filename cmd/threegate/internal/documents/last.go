package documents

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/threegate/tool-exec/cmd/threegate/internal/frontmatter"
	"github.com/threegate/tool-exec/cmd/threegate/internal/source"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/spool"
)

// Bounds of the look for an earlier request.
const (
	maxLookedAt  = 5000
	maxDiffBytes = 256 << 10
)

var slugOfID = regexp.MustCompile(`^TR-\d{8}-\d{6}Z-(.+?)(-\d+)?$`)

// slugIn is the part of a request's id that names what it is about, or "".
func slugIn(id string) string {
	if m := slugOfID.FindStringSubmatch(id); m != nil {
		return m[1]
	}
	return ""
}

func archiveOf(l *config.Node) string { return filepath.Join(l.Dir, spool.DirArchive) }

// lastJob is the folder of the newest job in an archive whose request has this slug, and its
// request; "" if there is none among those that are looked at.
func lastJob(archive, slug string, limit int64) (dir, id string, raw []byte, err error) {
	looked := 0
	newestFirst := func(dir string) ([]string, error) {
		list, err := os.ReadDir(dir)
		var names []string
		for _, e := range list {
			if e.IsDir() {
				names = append(names, e.Name())
			}
		}
		slices.Reverse(names)
		return names, err
	}
	years, err := newestFirst(archive)
	for _, y := range years {
		months, merr := newestFirst(filepath.Join(archive, y))
		if merr != nil {
			return "", "", nil, merr
		}
		for _, m := range months {
			jobs, jerr := newestFirst(filepath.Join(archive, y, m))
			if jerr != nil {
				return "", "", nil, jerr
			}
			for _, j := range jobs {
				if looked++; looked > maxLookedAt {
					return "", "", nil, nil
				}
				dir := filepath.Join(archive, y, m, j)
				raw, err := source.Read(filepath.Join(dir, spool.FileRequest), false, limit)
				if err != nil {
					continue
				}
				if doc, err := frontmatter.Parse(raw); err == nil && slugIn(doc.Values["request_id"]) == slug {
					return dir, doc.Values["request_id"], raw, nil
				}
			}
		}
	}
	return "", "", nil, err
}

// difference shows what is not as it was in the last request of the same slug that the node ran.
func (r *reading) difference(p *approval, texts map[string][]byte) {
	slug := slugIn(p.request.RequestID)
	if p.node == nil || slug == "" {
		return
	}
	r.head("Difference to the last request of " + slug + " that the node ran")
	dir, id, old, err := lastJob(archiveOf(p.node), slug, p.policy.MaxRequestBytes)
	switch {
	case err != nil:
		r.say("  ", fmt.Sprintf("not known: the node's archive can't be read: %v", err))
		return
	case dir == "":
		r.say("  ", fmt.Sprintf("there is none among its last %d", maxLookedAt))
		return
	}
	r.say("  ", "that was "+id)
	r.diff(id+".md", old, p.request.RequestID+".md", p.doc.Bytes())
	then := map[string]string{}
	if doc, err := frontmatter.Parse(old); err == nil {
		for _, in := range doc.Inputs {
			then[in.Path] = in.SHA256
		}
	}
	for _, f := range p.inputs {
		sum, was := then[f.Path()]
		delete(then, f.Path())
		if !was || sum == f.SHA256 {
			continue // the request's own lines say so
		}
		before, err := source.Read(filepath.Join(dir, spool.DirInputs, filepath.FromSlash(f.Rel)), false, maxDiffBytes)
		if text, ok := texts[f.Rel]; ok && err == nil && isText(before) && max(len(before), len(text)) <= maxDiffBytes {
			r.diff("then"+f.Path(), before, "now"+f.Path(), text)
		} else {
			r.say("  ", f.Path()+" was another file")
		}
	}
}

func (r *reading) diff(oldName string, old []byte, newName string, now []byte) {
	if len(old) > maxDiffBytes || len(now) > maxDiffBytes {
		r.say("  ", newName+" is too long to be compared")
		return
	}
	d := bytes.TrimSuffix(diff.Diff(oldName, old, newName, now), []byte("\n"))
	if len(d) == 0 {
		r.say("  ", newName+" is the same")
		return
	}
	for i, l := range strings.Split(string(d), "\n") {
		if i == 0 {
			continue // the command that git would print
		}
		text, _ := codeLine(l)
		r.lines = append(r.lines, readLine{margin: "  ", text: text})
	}
}
