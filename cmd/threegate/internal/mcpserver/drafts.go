package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/spool"
)

// Bounds of the folder of drafts: a person looks at each.
const (
	maxDrafts = 500
	// maxTries bounds the search for an id that is free.
	maxTries = 100
)

// CheckDrafts says why dir can't be the folder of drafts: it is not there, or is one of taken (an
// inbox, a folder of the node, CORE's), lies in one of them or holds one.
func CheckDrafts(dir string, taken []string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return err
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return errors.Join(err, fmt.Errorf("%s is not a folder", dir))
	}
	for _, t := range taken {
		other, err := filepath.EvalSymlinks(t)
		if err == nil {
			other, err = filepath.Abs(other)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, pair := range [][2]string{{real, other}, {other, real}} {
			if within, err := inside(pair[0], pair[1]); within || err != nil {
				return errors.Join(err, fmt.Errorf("%s and %s lie in one another", dir, t))
			}
		}
	}
	return nil
}

// inside says whether dir is the folder above, or lies below it, by whatever path: a folder that
// is mounted in two places is one.
func inside(dir, above string) (bool, error) {
	top, err := os.Stat(above)
	if err != nil {
		return false, err
	}
	for {
		info, err := os.Stat(dir)
		if err != nil {
			return false, err
		}
		if os.SameFile(info, top) {
			return true, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false, nil
		}
		dir = parent
	}
}

// write puts a draft and its inputs into the folder: the inputs first, both durably, nothing
// overwritten.
func (d *desk) write(ctx context.Context, id, text string, inputs []bundle.File, l bundle.Limits) error {
	p, err := bundle.OpenPlace(d.Drafts)
	if err != nil {
		return err
	}
	defer p.Close()
	if len(inputs) > 0 {
		if err := p.CopyFolder(ctx, id+".inputs", inputs, l); err != nil {
			return err
		}
	}
	return p.WriteFile(id+".md", []byte(text), 0o644, false)
}

// freeID is id, or id with a number, such that nothing that CORE can see has it.
func (d *desk) freeID(id string) (string, error) {
	seen, err := d.survey()
	if err != nil {
		return "", err
	}
	if seen.drafts >= maxDrafts {
		return "", fmt.Errorf("the folder holds %d drafts: a person has to look at them first", seen.drafts)
	}
	for n := 1; n <= maxTries; n++ {
		try := id
		if n > 1 {
			try = fmt.Sprintf("%s-%d", id, n)
		}
		if seen.requests[try] == nil && !seen.inputs[try] {
			return try, nil
		}
	}
	return "", errors.New("no id is free: choose another slug")
}

// seen is what CORE can see of a request.
type seen struct {
	declined       bool   // a person refused the draft
	result, notice string // names of the files
}

// declinedSuffix is what threegate review puts behind the name of a request that a person refuses.
const declinedSuffix = ".refused"

type survey struct {
	requests map[string]*seen
	inputs   map[string]bool // folders of inputs of drafts
	drafts   int
	cut      bool // there was more than may be read
}

func (s *survey) of(id string) *seen {
	if s.requests[id] == nil {
		s.requests[id] = &seen{}
	}
	return s.requests[id]
}

// add takes in a result of a request: of several, the last one that was issued is its answer.
func (s *survey) add(id, name string) {
	of := s.of(id)
	if longer := len(name) - len(of.result); longer > 0 || longer == 0 && name > of.result {
		of.result = name
	}
}

// survey looks at the names in the three folders. What has no name of ours is not seen.
func (d *desk) survey() (*survey, error) {
	s := &survey{requests: map[string]*seen{}, inputs: map[string]bool{}}
	err := s.names(d.Drafts, func(name string) {
		if id := spool.RequestStem(name); id != "" {
			s.of(id)
			s.drafts++
		} else if file, ok := strings.CutSuffix(name, declinedSuffix); ok && spool.RequestStem(file) != "" {
			s.of(spool.RequestStem(file)).declined = true
		} else if id, ok := strings.CutSuffix(name, ".inputs"); ok {
			s.inputs[id] = true
		}
	})
	err = errors.Join(err, s.names(d.Inbound, func(name string) {
		if id := requestOf(strings.TrimSuffix(name, ".md")); id != "" && strings.HasSuffix(name, ".md") {
			s.add(d.requestIn(id, name), name)
		}
	}))
	if d.Notices != "" {
		err = errors.Join(err, s.names(d.Notices, func(name string) {
			if id := noticeOf(name); id != "" {
				s.of(id).notice = name
			}
		}))
	}
	return s, err
}

// maxNames bounds how much of a folder is read.
const maxNames = 20000

// names calls each with the names of a folder that do not begin with a dot.
func (s *survey) names(dir string, each func(string)) error {
	f, err := os.Open(dir)
	if err != nil {
		return unreadable(err)
	}
	defer f.Close()
	list, err := f.ReadDir(maxNames)
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), ".") {
			each(e.Name())
		}
	}
	if len(list) == maxNames {
		s.cut = true
	}
	if len(list) > 0 || errors.Is(err, io.EOF) {
		return nil
	}
	return unreadable(err)
}

// unreadable is err without the path, which is the host's.
func unreadable(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return fmt.Errorf("a folder can't be read: %w", err)
}
