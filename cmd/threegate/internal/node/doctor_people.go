package node

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/access"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/spool"
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
		var steps []string
		for _, p := range who.read {
			steps = append(append(steps, entering(p)...), stepOpen, p)
		}
		for _, p := range who.write {
			steps = append(append(steps, entering(p)...), stepPutIn, p)
		}
		failed := tryAs(ctx, as, l.Dir, steps...)
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
