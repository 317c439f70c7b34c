// Package artifact reads a file that is to be delivered with a result, and the files that it
// holds if it is an archive: of which types it is, and where its text is to be judged.
//
// A file may be of several types: text that holds a program further on, a page with a script.
// Its name can only add to them: it says as what the file would be opened. A file is read in
// windows, so that its size does not matter; what is unpacked is counted, and little of it is
// kept. Its input is hostile.
package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/document"
	"github.com/threegate/tool-exec/validate/text"
)

// The rules that a file can break whatever its text says.
const (
	RuleType      = "result.artifact.type"
	RuleUnscanned = "result.artifact.unscanned"
)

// Found is a finding about a text and its place there, in bytes.
type Found struct {
	schemas.Finding
	Offset int
}

// Judge says what is found in a text of a file that is of certain types.
type Judge func(text []byte, is func(types ...string) bool) []Found

// Label begins every message about a file.
func Label(path string) string { return "artifact " + document.Quote(path) + ": " }

// Read reads a file of size bytes that may be of the types that are named, and has words judge
// its text. It returns the type that decides (the first that is not named, else that of the file's
// beginning) and all that is found, the first ones of each rule. The error is that of r.
func Read(path string, r io.ReaderAt, size int64, types []string, words Judge) (string, []schemas.Finding, error) {
	a := &reader{types: types, judged: words, left: maxUnpacked, found: document.NewReport(nil)}
	err := a.judgePart(part{path: path, label: Label(path), file: r, size: size,
		open: func() (io.Reader, error) { return io.NewSectionReader(r, 0, size), nil }})
	if err != nil {
		return "", nil, fmt.Errorf("read the artifact: %w", err)
	}
	return a.kind, a.found.Findings(), nil
}

// part is a file, or one of the files in an archive.
type part struct {
	path, label string
	open        func() (io.Reader, error)
	// file is nil for what is in an archive.
	file  io.ReaderAt
	size  int64
	depth int
}

// reader gathers what is found in one file.
type reader struct {
	types   []string
	judged  Judge
	kind    string
	refused bool // of a type that is not named
	found   *document.Report
	left    int64 // bytes that may still be unpacked
}

func unscanned(p part, why string) schemas.Finding {
	return schemas.Finding{Rule: RuleUnscanned, Message: p.label + "it can't be searched: " + why,
		Hint: "deliver less text, or without such encodings"}
}

// judgePart judges one part. It stops at one that may not be delivered for its type.
func (a *reader) judgePart(p part) error {
	head, err := p.head()
	if err != nil {
		return err
	}
	plain, wide := p.plain(head)
	if wide {
		if head, err = plain.head(); err != nil {
			return err
		}
	}
	d := newDetector(p.path, head)
	if a.kind == "" {
		a.kind = d.shown[0].name
	}
	if !a.mayBe(p, d.shown) {
		return nil
	}
	if d.hasMarkup() {
		charset, err := d.markup(plain.open)
		if err == nil && charset != nil {
			plain, wide = p.decoded(charset.NewDecoder()), true
			_, err = d.markup(plain.open)
		}
		if err != nil {
			return err
		}
	}
	if wide { // not every reader would notice
		if err := a.windows(plain, d, a.words); err != nil {
			return err
		}
	}
	err = a.windows(p, d, func(p part, d *detector, w text.Window) {
		d.window(w.Data, w.Last)
		a.words(p, d, w)
	})
	if err != nil || !a.mayBe(p, d.shown) {
		return err
	}
	if d.is(schemas.ArtifactArchive) || d.is(schemas.ArtifactOffice) && bytes.HasPrefix(head, []byte("PK")) {
		a.unpack(p, d.media)
	}
	return nil
}

// maxNested is how many archives may be in one another.
const maxNested = 2

// unpack judges what an archive holds.
func (a *reader) unpack(p part, media string) {
	z := archive{name: p.path, media: media, open: p.open, file: p.file, size: p.size, left: &a.left}
	err := errors.New("archives are nested too deeply")
	if p.depth < maxNested {
		err = z.each(func(f member) error {
			in := part{path: f.name, label: p.label + "in " + document.Quote(f.name) + ": ", open: f.open,
				depth: p.depth + 1}
			if f.sealed {
				a.mayBe(in, []shown{{schemas.ArtifactSealed, media, "it can't be read"}})
				return nil
			}
			return a.judgePart(in)
		})
	}
	if err != nil {
		a.found.Add(unscanned(p, err.Error()))
	}
}

// head is the part's beginning.
func (p part) head() ([]byte, error) {
	r, err := p.open()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, headSize))
}

// plain is the part in UTF-8 if it says by its beginning that it is written in UTF-16.
func (p part) plain(head []byte) (plain part, wide bool) {
	return p.decoded(unicode.BOMOverride(transform.Nop)),
		bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff"))
}

func (p part) decoded(by transform.Transformer) part {
	plain := p
	plain.open = func() (io.Reader, error) {
		r, err := p.open()
		return transform.NewReader(r, by), err
	}
	return plain
}

// mayBe says whether the policy names all types that a part shows, and notes those that
// it does not.
func (a *reader) mayBe(p part, types []shown) bool {
	may := true
	for _, s := range types {
		if slices.Contains(a.types, s.name) {
			continue
		}
		if may = false; !a.refused {
			a.kind, a.refused = s.name, true
		}
		what := fmt.Sprintf("it is of the type %s (%s), which may not be delivered", s.name, s.media)
		if s.why != "" {
			what += ": " + s.why
		}
		a.found.Add(schemas.Finding{Rule: RuleType, Message: p.label + what,
			Hint: "deliver data instead, or name the type in results.artifact_types of the node's configuration"})
	}
	return may
}

// windows has look look at all of a part, window by window.
func (a *reader) windows(p part, d *detector, look func(part, *detector, text.Window)) error {
	r, err := p.open()
	if err != nil {
		return err
	}
	for w, err := range text.Windows(r) {
		if err != nil {
			return err
		}
		if w.Cut {
			a.found.Add(unscanned(p, "it holds more packed and encoded data in one piece than is unpacked"))
		}
		look(p, d, w)
	}
	return nil
}

// words has the text of a window judged.
func (a *reader) words(p part, d *detector, w text.Window) {
	view, whole := text.Readable(w.Data)
	if len(view.Text) == 0 {
		return
	}
	lines := document.NewLines(view.Text)
	for _, f := range a.judged(view.Text, d.is) {
		at := view.Origin(f.Offset)
		switch {
		case at >= w.Next:
			continue
		case !whole:
			f.Message = fmt.Sprintf("%sat byte %d: %s", p.label, w.Offset+int64(at), f.Message)
		default:
			f.Line, f.Column = lines.Pos(f.Offset)
			f.Line += w.Line
			f.File = p.path
			if p.depth > 0 { // its lines are those of no file
				f.File = ""
				f.Message = fmt.Sprintf("line %d: %s", f.Line, f.Message)
				f.Line, f.Column = 0, 0
			}
			f.Message = p.label + f.Message
		}
		a.found.Add(f.Finding)
	}
}
