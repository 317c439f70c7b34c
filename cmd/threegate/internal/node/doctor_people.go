package node

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/access"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/spool"
)

// The steps of a trial of people.
const (
	stepOpen  = "open"
	stepPutIn = "put a file into"
)

// peopleChecks tries, as a member of each group of people, to reach what that group uses.
func peopleChecks(ctx context.Context, cs *checks, l *config.Node) {
	if l.Access.All() == "" {
		return
	}
	groups, err := access.People(l.Access)
	if err != nil {
		cs.add("people", err, "", executors.HintOf(err))
		return
	}
	in := func(elem ...string) string { return filepath.Join(append([]string{l.Dir}, elem...)...) }
	read := []string{in(config.FileName), in(spool.DirLedger), in(spool.DirOrdersDone)}
	var inboxes []string
	for _, i := range l.Inboxes {
		inboxes = append(inboxes, i.Path)
	}
	for _, who := range []struct {
		name, group string
		gid         int
		read, write []string
	}{
		{"approvers", l.Access.Approvers, groups.Approvers, read, append(inboxes, in(spool.DirOrders))},
		{"auditors", l.Access.Auditors, groups.Auditors, append(read, in(spool.DirSpool), in(spool.DirArchive),
			in(spool.DirQuarantine)), []string{in(spool.DirOrders)}},
	} {
		if who.group == "" {
			continue
		}
		if !cs.root {
			cs.add(who.name, fs.ErrPermission, "", "")
			continue
		}
		as := &syscall.Credential{Uid: nobody, Gid: uint32(who.gid), Groups: []uint32{uint32(groups.People)}}
		failed := tryAs(ctx, as, "try-people", append([]string{strconv.Itoa(len(who.read))},
			append(who.read, who.write...)...)...)
		if failed != nil {
			hint := "restart the node: it gives its folders to the groups when it starts"
			if failed.Step == stepEnter && !strings.HasPrefix(failed.Path, l.Dir+"/") {
				hint = "chmod o+x " + failed.Path
			}
			cs.add(who.name, failed, "", hint)
			continue
		}
		cs.add(who.name, nil, "a member of "+strings.Join([]string{who.group, l.Access.All()}, " and ")+
			" reaches what is theirs", "")
	}
}

// newTryPeople is the other process.
func newTryPeople(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "try-people N PATH...",
		Short:  "Try for doctor to read the first N paths and to write to the others, as a member of a group",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[0])
			if err != nil || n > len(args)-1 {
				n = len(args) - 1
			}
			return a.PrintJSON(tryPeople(args[1:n+1], args[n+1:]))
		},
	}
}

func tryPeople(read, write []string) trial {
	for i, p := range append(read, write...) {
		for _, d := range above(p) {
			if err := unix.Access(d, unix.X_OK); err != nil {
				return trial{stepEnter, d, err.Error()}
			}
		}
		if i >= len(read) {
			if err := unix.Access(p, unix.W_OK|unix.X_OK); err != nil {
				return trial{stepPutIn, p, err.Error()}
			}
			continue
		}
		f, err := os.Open(p)
		if err != nil {
			return trial{stepOpen, p, cause(err).Error()}
		}
		f.Close()
	}
	return trial{}
}
