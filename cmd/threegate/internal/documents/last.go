package documents

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/draft"
	"github.com/threegate/tool-exec/cmd/threegate/internal/frontmatter"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/spool"
)

// maxDiffBytes bounds what is compared.
const maxDiffBytes = 256 << 10

// last is the newest request of a slug whose job can be read, the folder of that job, and its bytes.
func (p *approval) last(slug string) (id, dir string, raw []byte) {
	for _, r := range slices.Backward(p.history.Requests()) {
		if r.AdmittedUTC == nil || draft.SlugOf(r.RequestID) != slug {
			continue
		}
		dir, err := view.JobDir(p.node, r.Job)
		if err == nil {
			raw, err = bundle.ReadDocument(filepath.Join(dir, spool.FileRequest), false, p.policy.MaxRequestBytes)
		}
		if err == nil {
			return r.RequestID, dir, raw
		}
	}
	return "", "", nil
}

// difference shows what is not as it was in the last request of the same slug that the node ran.
func (r *reading) difference(p *approval, texts map[string][]byte) {
	slug := draft.SlugOf(p.request.RequestID)
	if p.node == nil || slug == "" {
		return
	}
	r.head("Difference to the last request of " + slug + " that the node ran")
	if p.history == nil {
		r.say("  ", "not known: the node's record can't be read")
		return
	}
	id, dir, old := p.last(slug)
	if id == "" {
		r.say("  ", "there is none")
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
		file := filepath.Join(dir, spool.DirInputs, filepath.FromSlash(f.Rel))
		before, err := bundle.ReadDocument(file, false, maxDiffBytes)
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
