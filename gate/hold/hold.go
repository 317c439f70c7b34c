// Package hold keeps what an operator holds: an inbox, or the whole node. What is held takes in no
// request; those wait in their inbox, or claimed and without a verdict. What was admitted goes on.
//
// A hold is a file in the node's folder: it is there when it was made, also after a crash, and until it
// is removed. One that can't be read holds all the same.
package hold

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool/durable"
)

// Hold is one hold.
type Hold struct {
	Version int `json:"hold_version"`
	// Inbox is the name of the inbox; empty means the whole node.
	Inbox string `json:"inbox,omitempty"`
	// By is who holds it, Reason why: one line each.
	By       string    `json:"by"`
	Reason   string    `json:"reason"`
	SinceUTC time.Time `json:"since_utc"`
	// Damage says that its file can't be read.
	Damage string `json:"damage,omitempty"`
}

const (
	version = 1
	maxFile = 8 << 10
	mode    = 0o640 // the node's group may know why its requests wait
)

// file is the name of a hold's file.
func file(inbox string) string {
	if inbox == "" {
		return "hold.json"
	}
	return "hold." + inbox + ".json"
}

// Set makes a hold durably. That it is held already is an error that matches fs.ErrExist.
func Set(cfg *config.Node, h Hold) error {
	h.Version = version
	if why := orders.WhoAndWhy(h.By, h.Reason); why != "" {
		return fmt.Errorf("the hold: %s", why)
	}
	b, err := json.MarshalIndent(h, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(cfg.Dir, file(h.Inbox), append(b, '\n'), mode)
}

// Release ends a hold durably. That there is none is an error that matches fs.ErrNotExist.
func Release(cfg *config.Node, inbox string) error { return durable.RemoveFile(cfg.Dir, file(inbox)) }

// List returns the holds of a node, that of the whole node first.
func List(cfg *config.Node) ([]Hold, error) {
	list := []Hold{}
	names := []string{""}
	for _, in := range cfg.Inboxes {
		names = append(names, in.Name)
	}
	for _, name := range names {
		raw, err := durable.ReadRegular(filepath.Join(cfg.Dir, file(name)), maxFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("read a hold: %w", err)
		}
		h := Hold{}
		if err == nil {
			err = schemas.DecodeStrict(raw, &h)
		}
		if err == nil && (h.Version != version || h.Inbox != name) {
			err = errors.New("it is of another version or inbox")
		}
		if err != nil {
			h = Hold{Inbox: name, Damage: fmt.Sprintf("%s can't be read, and holds all the same: %v",
				file(name), err)}
		}
		list = append(list, h)
	}
	slices.SortStableFunc(list, func(a, b Hold) int { return cmp.Compare(a.Inbox, b.Inbox) })
	return list, nil
}

// Paused says whether holds keep an inbox from being taken in.
func Paused(holds []Hold, inbox string) bool {
	return slices.ContainsFunc(holds, func(h Hold) bool { return h.Inbox == "" || h.Inbox == inbox })
}

// What names what is held.
func (h *Hold) What() string {
	if h.Inbox == "" {
		return "the node"
	}
	return "inbox " + h.Inbox
}

// String says what is held, by whom and why.
func (h *Hold) String() string {
	if h.Damage != "" {
		return h.What() + ": " + h.Damage
	}
	return fmt.Sprintf("%s by %s since %s: %s", h.What(), h.By, h.SinceUTC.Format(time.RFC3339), h.Reason)
}
