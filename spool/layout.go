package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/threegate/tool-exec/spool/durable"
)

// Folders of a node, relative to it.
const (
	DirInbox              = "inbox"
	DirSpool              = "spool"
	DirArchive            = "archive"
	DirReissues           = "reissues"
	DirQuarantine         = "quarantine"
	DirQuarantineRequests = "quarantine/requests"
	DirQuarantineResults  = "quarantine/results"
	DirCoreInbound        = "core-inbound"
	DirCoreNotices        = "core-notices"
	DirLedger             = "ledger"
	// DirOutbox holds notices that CORE's folder does not have yet.
	DirOutbox = "spool/notices"
	// DirOrders holds what people order of the node, DirOrdersDone what was carried out or refused.
	DirOrders     = "orders"
	DirOrdersDone = "orders/done"
	// DirSigners keeps every text of allowed signers that the node ever went by, each under its sha256.
	DirSigners = "ledger/signers"
	// DirTrash holds what nobody needs any more until it is removed.
	DirTrash = "spool/trash"
	// DefaultInbox is the one drop zone that Init makes.
	DefaultInbox = "inbox/default"
)

// Modes of what the node makes. An inbox is for a group of operators: each may put files there,
// none may remove another's. What lies in private folders is for a group if they are given to one.
const (
	modePrivateDir  fs.FileMode = 0o700
	modePrivateFile fs.FileMode = 0o600
	modeGroupDir                = 0o750 | fs.ModeSetgid // what is made in it gets its group
	modeGroupFile   fs.FileMode = 0o640
	modePublicDir   fs.FileMode = 0o755
	modeInbox                   = 0o770 | fs.ModeSticky
	modeOutbound    fs.FileMode = 0o750

	modeOutboundFile fs.FileMode = 0o640 // for the group of CORE's folder to read
)

type folder struct {
	path string
	mode fs.FileMode
}

// layout is every folder of a node, parents first.
func layout() []folder {
	fs := []folder{{DirInbox, modePublicDir}, {DefaultInbox, modeInbox}, {DirSpool, modePrivateDir}}
	for _, st := range States {
		fs = append(fs, folder{filepath.Join(DirSpool, string(st)), modePrivateDir})
	}
	return append(fs,
		folder{DirTrash, modePrivateDir},
		folder{DirOutbox, modePrivateDir},
		folder{DirArchive, modePrivateDir},
		folder{DirReissues, modePrivateDir},
		folder{DirQuarantine, modePrivateDir},
		folder{DirQuarantineRequests, modePrivateDir},
		folder{DirQuarantineResults, modePrivateDir},
		folder{DirCoreInbound, modeOutbound},
		folder{DirCoreNotices, modeOutbound},
		folder{DirOrders, modePrivateDir},
		folder{DirOrdersDone, modePrivateDir},
		folder{DirLedger, modePrivateDir},
		folder{DirSigners, modePrivateDir},
	)
}

// Archived lists the folders in which the archive of the node in dir has a job: one, unless somebody
// copied it. They are sorted.
func Archived(dir, job string) ([]string, error) {
	found, err := fs.Glob(os.DirFS(dir), path.Join(DirArchive, "*", "*", job)) // dir is no pattern
	for i, p := range found {
		found[i] = filepath.Join(dir, p)
	}
	return found, err
}

// Init makes the folders of a node in dir, and dir itself if its parent is
// there. Folders that exist keep what they hold and their mode, except that
// private ones are made private. It can be called again.
func Init(dir string) error { return initNode(durable.Disk{}, dir) }

func initNode(d durable.Disk, dir string) error {
	for _, f := range append([]folder{{"", modePublicDir}}, layout()...) {
		p := filepath.Join(dir, f.path)
		err := d.Mkdir("init", p, f.mode)
		if errors.Is(err, fs.ErrExist) {
			err = adopt(p, f.mode)
		}
		if err == nil {
			err = d.SyncDir("init", filepath.Dir(p))
		}
		if err != nil {
			return fmt.Errorf("making the node's folders: %w", err)
		}
	}
	return nil
}

// adopt takes over a folder that is there already.
func adopt(path string, mode fs.FileMode) error {
	fi, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		return fmt.Errorf("%q is in the way: it is no folder", path)
	}
	if mode == modePrivateDir && fi.Mode().Perm() != mode {
		return os.Chmod(path, mode)
	}
	return nil
}

// checkLayout refuses a node that lacks a folder or whose private folders are
// open to others.
func checkLayout(dir string) error {
	for _, f := range layout() {
		switch f.path {
		case DefaultInbox, DirInbox, DirCoreInbound, DirCoreNotices: // they may live elsewhere by configuration
			continue
		case DirTrash, DirOrders, DirOrdersDone, DirSigners, DirReissues: // an older node has none; Open makes them
			continue
		}
		p := filepath.Join(dir, f.path)
		fi, err := os.Lstat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("folder %q is missing: this is no node yet, or it was damaged; make it with init", p)
		case err != nil:
			return err
		case !fi.IsDir():
			return fmt.Errorf("%q is no folder", p)
		case fi.Mode().Perm()&0o027 != 0, fi.Mode().Perm()&0o050 != 0 && fi.Mode()&fs.ModeSetgid == 0:
			return fmt.Errorf("folder %q is open to other users (mode %04o): run chmod 0700 on it", p, fi.Mode().Perm())
		}
	}
	return nil
}
