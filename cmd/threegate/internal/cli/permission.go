package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/gate/access"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/spool/durable"
)

// groupNames are the names of a node's groups by their numbers: a command that gave up its rights can't look them up.
var groupNames = map[int]string{}

func noteGroups(c config.Access) {
	if g, err := access.People(c); err == nil {
		groupNames[g.People], groupNames[g.Approvers], groupNames[g.Auditors] = c.All(), c.Approvers, c.Auditors
	}
}

// whoMay says who may do what was denied to this user, by the folder or file that denied it.
func whoMay(err error) string {
	path := deniedPath(err)
	if path == "" {
		return "root may do that"
	}
	denied, info := "", fs.FileInfo(nil)
	at := "/"
	for _, part := range append(strings.Split(strings.Trim(filepath.Dir(path), "/"), "/"), filepath.Base(path)) {
		at = filepath.Join(at, part)
		fi, err := os.Lstat(at)
		if err != nil {
			break
		}
		denied, info = at, fi
		if fi.IsDir() && unix.Access(at, unix.R_OK|unix.X_OK) != nil {
			break
		}
	}
	if info == nil {
		return "root may do that"
	}
	need := fs.FileMode(0o040)
	if unix.Access(denied, unix.R_OK) == nil {
		need = 0o020 // it was to be written to
	}
	gid := int(info.Sys().(*syscall.Stat_t).Gid)
	if info.Mode().Perm()&need == 0 || gid == 0 {
		return "only root may do that: " + denied + " is open to no group for it"
	}
	return fmt.Sprintf("members of the group %s may, and root (%s is that group's)", groupName(gid), denied)
}

// deniedPath is what an error says that it is about.
func deniedPath(err error) string {
	path := ""
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		path = e.Path
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		path = e.New
	} else if e, ok := errors.AsType[*durable.StepError](err); ok {
		path = e.Step.Path
	}
	if path != "" {
		path, _ = filepath.Abs(path) // of an empty path nothing is known
	}
	return path
}

func groupName(gid int) string {
	if name := groupNames[gid]; name != "" {
		return name
	}
	if g, err := user.LookupGroupId(strconv.Itoa(gid)); err == nil {
		return g.Name
	}
	return strconv.Itoa(gid)
}
