//go:build real

package accuracy_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
	"unicode"
)

// textKind is what sort of text a source gives. Each has bars of its own.
type textKind string

// The kinds of text.
const (
	output        textKind = "output"        // what programs print: help, logs, tests, listings
	documentation textKind = "documentation" // what people wrote for readers
	manuals       textKind = "manuals"       // manuals of package managers: they consist of commands
	other         textKind = "other"         // mail, tables, other languages
)

// harvested is one harmless text.
type harvested struct {
	// Source is where it comes from, as its row of the figures is named.
	Source string
	Kind   textKind
	// Name tells the document apart in its source: a path, or a command.
	Name string
	Text []byte
	// ID is the digest of the text without what does not tell it from others.
	ID [sha256.Size]byte
	// Counted says that its source is only counted. The others are for looking at.
	Counted bool
}

// The bounds of a document. What is longer is cut behind a line, what is shorter left out.
const (
	maxText = 64 << 10
	minText = 60
)

// source is a row of the figures.
type source struct {
	name string
	kind textKind
	most int
	// counted sources are only counted: who changes a rule does not look at what is found in them.
	counted bool
	find    func(*finder) []candidate
}

// candidate is a text that a source may give; read makes it.
type candidate struct {
	name string
	read func() []byte
}

// finder is what sources look things up with.
type finder struct {
	ctx       context.Context
	root, tmp string
}

// harvest collects the documents of every source, each text once, sorted by source and
// digest. root is this repository. They are read from the file keep if it is there, and
// else written to it, if it has a name. An error says that
// a file can't be read or written.
func harvest(ctx context.Context, root, keep string) ([]*harvested, error) {
	if keep == "" {
		return collect(ctx, root)
	}
	b, err := os.ReadFile(keep)
	if errors.Is(err, fs.ErrNotExist) {
		docs, err := collect(ctx, root)
		if err != nil {
			return nil, err
		}
		var out bytes.Buffer
		if err := gob.NewEncoder(&out).Encode(docs); err != nil {
			return nil, err
		}
		return docs, os.WriteFile(keep, out.Bytes(), 0o600)
	}
	var docs []*harvested
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(b)).Decode(&docs)
	}
	return docs, err
}

func collect(ctx context.Context, root string) ([]*harvested, error) {
	tmp, err := os.MkdirTemp("", "harvest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o777); err != nil { // for nobody
		return nil, err
	}
	f := &finder{ctx, root, tmp}
	var out []*harvested
	seen := map[[sha256.Size]byte]bool{}
	for _, s := range slices.Concat(sources, countedSources) {
		out = append(out, s.documents(f, seen)...)
	}
	slices.SortStableFunc(out, func(a, b *harvested) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Source, b.Source), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return out, nil
}

// documents reads candidates, in the order of their names' digests, until there are
// enough new texts.
func (s *source) documents(f *finder, seen map[[sha256.Size]byte]bool) (out []*harvested) {
	cs := s.find(f)
	order := map[string]string{}
	for _, c := range cs {
		sum := sha256.Sum256([]byte(c.name))
		order[c.name] = hex.EncodeToString(sum[:])
	}
	slices.SortStableFunc(cs, func(a, b candidate) int { return cmp.Compare(order[a.name], order[b.name]) })
	for len(cs) > 0 && len(out) < s.most {
		batch := cs[:min(len(cs), s.most-len(out)+16)]
		cs = cs[len(batch):]
		for i, b := range readAll(batch) {
			if d := s.document(batch[i].name, b); d != nil && !seen[d.ID] && len(out) < s.most {
				seen[d.ID] = true
				out = append(out, d)
			}
		}
	}
	return out
}

func readAll(cs []candidate) [][]byte {
	out := make([][]byte, len(cs))
	next := make(chan int)
	var done sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		done.Go(func() {
			for i := range next {
				out[i] = cs[i].read()
			}
		})
	}
	for i := range cs {
		next <- i
	}
	close(next)
	done.Wait()
	return out
}

func (s *source) document(name string, b []byte) *harvested {
	if i := bytes.IndexByte(b[min(len(b), maxText):], '\n'); i >= 0 {
		b = b[:maxText+i+1]
	}
	b = bytes.ToValidUTF8(b[:min(len(b), maxText+1<<10)], []byte("?"))
	if len(b) < minText || bytes.IndexByte(b, 0) >= 0 {
		return nil
	}
	d := newDocument(s.name, s.kind, name, b)
	d.Counted = s.counted
	return d
}

// newDocument makes a document of a text that comes from elsewhere.
func newDocument(source string, kind textKind, name string, text []byte) *harvested {
	return &harvested{Source: source, Kind: kind, Name: name, Text: text, ID: digest(text)}
}

// digest is that of the first letters of b: two texts that differ in white space, figures
// or far from their beginning only are one.
func digest(b []byte) [sha256.Size]byte {
	const most = 1500
	letters := make([]rune, 0, most)
	for _, r := range string(b) {
		if unicode.IsLetter(r) {
			if letters = append(letters, unicode.ToLower(r)); len(letters) == most {
				break
			}
		}
	}
	return sha256.Sum256([]byte(string(letters)))
}

// chunks cuts b into candidates of so many lines.
func chunks(name string, b []byte, lines int) (out []candidate) {
	for n := 0; len(b) > 0; n++ {
		end := 0
		for range lines {
			i := bytes.IndexByte(b[end:], '\n')
			if i < 0 {
				end = len(b)
				break
			}
			end += i + 1
		}
		part := b[:end]
		b = b[end:]
		out = append(out, candidate{fmt.Sprintf("%s, part %d", name, n+1), func() []byte { return part }})
	}
	return out
}
