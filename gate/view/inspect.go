// Package view tells what can be seen of a node from outside: how it is, and what came of the
// requests that it admitted. It only reads, whether or not the node is served.
package view

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/hold"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/trouble"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

// NodeStatus is what can be seen of a node from outside, whether it is served
// or not.
type NodeStatus struct {
	Dir     string `json:"dir"`
	Name    string `json:"name"`
	Serving bool   `json:"serving"`
	// Inboxes says how many requests wait, unclaimed.
	Inboxes []InboxStatus `json:"inboxes"`
	// Holds are what an operator holds: see threegate hold.
	Holds []hold.Hold `json:"holds"`
	// Jobs counts the jobs in each state folder; there is none for people who may not look there.
	Jobs map[spool.State]int `json:"jobs"`
	// Totals come from the ledger, since the node was made or the time that was asked for; its last
	// event and their number are those of all of it.
	Totals ledger.Totals `json:"totals"`
	// Disk says why nothing new is taken in, if the disk is too full for it. A
	// gate could not write that down.
	Disk string `json:"disk,omitempty"`
	// Live is what the serving gate says; nil when there is none.
	Live *trouble.Status `json:"live,omitempty"`
}

// InboxStatus is one inbox.
type InboxStatus struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Waiting int    `json:"waiting"`
	Error   string `json:"error,omitempty"`
}

// Inspect reads a node without touching it. Its totals are of what was decided since then.
func Inspect(cfg *config.Node, since time.Time) (*NodeStatus, error) {
	s := &NodeStatus{Dir: cfg.Dir, Name: cfg.Node.Name, Jobs: map[spool.State]int{}, Inboxes: []InboxStatus{}}
	for _, in := range cfg.Inboxes {
		n, err := spool.Waiting(in.Path)
		i := InboxStatus{Name: in.Name, Path: in.Path, Waiting: n}
		if err != nil {
			i.Error = err.Error()
		}
		s.Inboxes = append(s.Inboxes, i)
	}
	var err error
	if s.Holds, err = hold.List(cfg); err != nil {
		return nil, err
	}
	for _, st := range spool.States {
		jobs, err := os.ReadDir(filepath.Join(cfg.Dir, spool.DirSpool, string(st)))
		if errors.Is(err, fs.ErrPermission) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the spool: %w", err)
		}
		s.Jobs[st] = len(jobs) // half-made ones included
	}
	var last time.Time
	seq, _, err := ledger.Read(filepath.Join(cfg.Dir, spool.DirLedger), func(e ledger.Event) error {
		if !e.Time.Before(since) {
			s.Totals.Note(e)
		}
		last = e.Time
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.Totals.Events, s.Totals.LastEvent = seq, last
	if s.Serving, err = spool.Locked(cfg.Dir); err != nil {
		return nil, err
	}
	if err := spool.Room(cfg.Dir, spool.DefaultMinFreeBytes); err != nil {
		s.Disk = err.Error()
	}
	if s.Serving {
		s.Live, _ = Live(cfg) // a hint: without it the rest is true all the same
	}
	return s, nil
}

// maxLive bounds what a gate says of itself.
const maxLive = 16 << 20

// Live is what the gate that serves the node, or did last, said of itself; nil if none ever did.
func Live(cfg *config.Node) (*trouble.Status, error) {
	b, err := durable.ReadRegular(filepath.Join(cfg.Dir, trouble.File), maxLive)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var live trouble.Status
	if err == nil {
		err = schemas.DecodeOpen(b, &live)
	}
	if err != nil {
		return nil, err
	}
	return &live, nil
}
