package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/threegate/tool-exec/spool/durable"
)

// A rendering is a further result of an archived job, in a folder of its own: DirReissues/JOB-2, the next one JOB-3.
// While it is on its way to CORE its name begins with a dot.

// RenderingName is the name of the folder of the nth result of a job.
func RenderingName(job string, n int) string { return fmt.Sprintf("%s-%d", job, n) }

// RenderingOf is what a name in DirReissues tells. onItsWay says that CORE may not have it yet.
func RenderingOf(name string) (job string, n int, onItsWay, ok bool) {
	bare, onItsWay := strings.CutPrefix(name, ".")
	job, number, _ := strings.Cut(bare, "-")
	n, err := strconv.Atoi(number)
	return job, n, onItsWay, err == nil && n > 1 && ValidID(job) && RenderingName(job, n) == bare
}

// Renderings are the names of those of a job that the node in dir has, sorted; with "" those of all jobs.
func Renderings(dir, job string) (names []string, err error) {
	es, err := os.ReadDir(filepath.Join(dir, DirReissues))
	if errors.Is(err, fs.ErrNotExist) { // an older node has none
		return nil, nil
	}
	for _, e := range es {
		if of, _, _, ok := RenderingOf(e.Name()); ok && (job == "" || of == job) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Archived returns a job in the archive, for reading only; fs.ErrNotExist if it is not there.
func (s *Spool) Archived(id string) (*Job, error) {
	dirs, err := Archived(s.dir, id)
	if err != nil || len(dirs) == 0 {
		return nil, errors.Join(err, fs.ErrNotExist)
	}
	c, err := ReadClaim(dirs[0])
	if err != nil {
		return nil, err
	}
	j := s.newJob(StateDelivered, c)
	j.dir = dirs[0]
	return j, nil
}

// NewRendering makes the empty folder of a rendering that is on its way, in place of what an earlier try left.
func (s *Spool) NewRendering(name string) (*Job, error) {
	if err := s.DropRendering("." + name); err != nil {
		return nil, err
	}
	j := s.Rendering("." + name)
	if err := s.disk.Mkdir("reissue", j.dir, modeGroupDir); err != nil {
		return nil, err
	}
	return j, durable.Uncertain(s.disk.SyncDir("reissue", s.path(DirReissues)))
}

// Rendering is the folder of that name in DirReissues.
func (s *Spool) Rendering(name string) *Job {
	return &Job{ID: name, s: s, dir: s.path(DirReissues, name)}
}

// DropRendering removes the folder of a rendering, if there is one.
func (s *Spool) DropRendering(name string) error {
	there, err := exists(s.path(DirReissues, name))
	if err != nil || !there {
		return err
	}
	return errors.Join(s.disk.RemoveTree("reissue.drop", s.path(DirReissues, name)),
		s.disk.SyncDir("reissue.drop", s.path(DirReissues)))
}

// Arrived notes durably that CORE has what was rendered: its folder gets the name without the dot.
func (s *Spool) Arrived(j *Job) error {
	to := s.path(DirReissues, strings.TrimPrefix(j.ID, "."))
	return s.disk.Rename("reissue.arrived", j.dir, to)
}
