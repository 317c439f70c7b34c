package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/access"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// nobody stands for a user of whom only the group is known.
const nobody = 65534

// trialTime bounds a trial: CORE's folder may hang.
const trialTime = time.Minute

// coreChecks tries, as CORE's user, what CORE does with what it gets.
func coreChecks(ctx context.Context, cs *checks, l *config.Node) {
	c := l.CoreInbound
	if c.Owner == "" && c.Group == "" {
		return
	}
	const name = "core access"
	to, err := access.Core(c)
	if err != nil {
		cs.add(name, err, "", executors.HintOf(err))
		return
	}
	if !cs.root {
		cs.add(name, fs.ErrPermission, "", "")
		return
	}
	folders := []string{c.Path}
	if l.CoreNotices.Enabled {
		folders = append(folders, l.CoreNotices.Path)
	}
	who, as := coreUser(c, to)
	for _, dir := range folders {
		if _, err := os.Stat(dir); err != nil {
			continue // said already
		}
		if failed := tryFolder(ctx, dir, to, as); failed != nil {
			cs.add(name, fmt.Errorf("as %s: %w", who, failed), "", failed.hint(c, dir, as))
			return
		}
	}
	cs.add(name, nil, who+" can open, read and delete in "+strings.Join(folders, " and "), "")
}

// coreUser is who CORE is, in words and as ids.
func coreUser(c config.CoreInbound, access spool.Access) (string, *syscall.Credential) {
	as := &syscall.Credential{Uid: nobody, Gid: nobody}
	who := "a member of the group " + c.Group
	if access.GID >= 0 {
		as.Gid = uint32(access.GID)
	}
	if access.UID < 0 {
		return who, as
	}
	as.Uid = uint32(access.UID)
	if u, err := user.LookupId(strconv.Itoa(access.UID)); err == nil {
		if gid, err := strconv.ParseUint(u.Gid, 10, 32); err == nil {
			as.Gid = uint32(gid)
		}
		groups, _ := u.GroupIds() // none are known: fewer rights
		for _, g := range groups {
			if gid, err := strconv.ParseUint(g, 10, 32); err == nil {
				as.Groups = append(as.Groups, uint32(gid))
			}
		}
	}
	return "the user " + c.Owner, as
}

// trial is what failed of a trial.
type trial struct {
	Step  string `json:"step"`
	Path  string `json:"path"`
	Cause string `json:"cause"`
}

// The steps of a trial.
const (
	stepEnter  = "enter"
	stepList   = "list"
	stepRead   = "read"
	stepOpen   = "open"
	stepPutIn  = "put a file into"
	stepDelete = "delete"
	stepInside = "delete what is in"
	stepRun    = "start a trial for"
)

// steps are what the other process does.
var steps = map[string]func(path string) error{
	stepEnter:  func(path string) error { return unix.Access(path, unix.X_OK) },
	stepList:   func(path string) error { _, err := os.ReadDir(path); return err },
	stepRead:   func(path string) error { _, err := os.ReadFile(path); return err },
	stepOpen:   func(path string) error { f, err := os.Open(path); return errors.Join(err, f.Close()) },
	stepPutIn:  func(path string) error { return unix.Access(path, unix.W_OK|unix.X_OK) },
	stepDelete: os.Remove,
	stepInside: func(path string) error {
		all, err := os.ReadDir(path)
		for _, e := range all {
			err = errors.Join(err, os.Remove(filepath.Join(path, e.Name())))
		}
		return err
	},
}

func (t *trial) Error() string { return fmt.Sprintf("can't %s %s: %s", t.Step, t.Path, t.Cause) }

// mend is the command, or the words, that mends it.
func (t *trial) hint(c config.CoreInbound, dir string, as *syscall.Credential) string {
	group := cmp.Or(c.Group, strconv.Itoa(int(as.Gid)))
	switch {
	case t.Step == stepEnter && t.Path != dir:
		return "chmod o+x " + t.Path
	case t.Step == stepEnter, t.Step == stepList, t.Step == stepDelete:
		if c.Owner == "" { // in a sticky folder only the owner of a file can delete it
			return fmt.Sprintf("chgrp %s %s && chmod 0770 %s", group, dir, dir)
		}
		return fmt.Sprintf("chgrp %s %s && chmod 1770 %s", group, dir, dir)
	case t.Step == stepRead:
		return `set core_inbound.mode: "0640"`
	case t.Step == stepInside:
		return `set core_inbound.owner, or core_inbound.mode: "0660"`
	}
	return "see the message"
}

// tryFolder has another process do in dir what CORE does, as CORE. It returns what failed.
func tryFolder(ctx context.Context, dir string, access spool.Access, as *syscall.Credential) *trial {
	p, err := spool.NewPublisher(dir)
	if err != nil {
		return &trial{stepRun, dir, err.Error()}
	}
	p.Access = access
	var failed *trial
	err = p.Probe(func(file, folder, inner string) {
		failed = tryAs(ctx, as, dir, append(entering(dir), stepEnter, dir, stepList, dir, stepRead, file,
			stepList, folder, stepRead, inner, stepInside, folder, stepDelete, folder, stepDelete, file)...)
	})
	if failed == nil && err != nil {
		failed = &trial{stepRun, dir, err.Error()}
	}
	return failed
}

// tryAs has another process take steps, each with its path, as somebody else. It returns what failed.
func tryAs(ctx context.Context, as *syscall.Credential, about string, steps ...string) *trial {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", append([]string{"try"}, steps...)...)
	cmd.Args[0], cmd.Dir, cmd.Env = os.Args[0], "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	var failed trial
	if err == nil {
		err = schemas.DecodeStrict(out, &failed)
	}
	switch {
	case err != nil:
		return &trial{stepRun, about, err.Error()}
	case failed.Step != "":
		return &failed
	}
	return nil
}

// newTry is the other process: it ends at the first step that fails.
func newTry(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "try STEP PATH...",
		Short:  "Try for doctor what others do on the node, as they",
		Hidden: true,
		Args:   cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			for s := range slices.Chunk(args, 2) {
				do, known := steps[s[0]]
				if !known || len(s) != 2 {
					return cli.Usagef("", "there is no step %q", s)
				}
				if err := do(s[1]); err != nil {
					return a.PrintJSON(trial{s[0], s[1], cause(err).Error()})
				}
			}
			return a.PrintJSON(trial{})
		},
	}
}

// entering are the steps down to a path, from the root on.
func entering(path string) []string {
	if parent := filepath.Dir(path); parent != path {
		return append(entering(parent), stepEnter, parent)
	}
	return nil
}

// cause is the system's word in an error that names the path too.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
