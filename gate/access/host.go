package access

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Member says whether a user of this host is in a group today, whatever groups a process of theirs still has.
func Member(uid, gid int) (bool, error) {
	entry, err := getent("passwd", strconv.Itoa(uid))
	if errors.Is(err, errUnknown) {
		return false, nil
	}
	var groups []byte
	if err == nil {
		groups, err = ask("/usr/bin/id", "-G", "--", entry[0])
	}
	return slices.Contains(strings.Fields(string(groups)), strconv.Itoa(gid)), err
}

// names are those that were looked up in the last minute: whoever floods a node is one question.
var names struct {
	sync.Mutex
	since time.Time
	of    map[int]string
}

// UserName is the name of a user of this host, or its number.
func UserName(uid int) string {
	names.Lock()
	defer names.Unlock()
	if time.Since(names.since) > time.Minute {
		names.since, names.of = time.Now(), map[int]string{}
	}
	name, known := names.of[uid]
	if !known {
		name = lookUpName(strconv.Itoa(uid))
		names.of[uid] = name
	}
	return name
}

func lookUpName(id string) string {
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	if entry, err := getent("passwd", id); err == nil {
		return entry[0]
	}
	return id
}

func userID(name string) (string, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return idOf("passwd", name, err)
	}
	return u.Uid, nil
}

func groupID(name string) (string, error) {
	g, err := user.LookupGroup(name)
	if err != nil {
		return idOf("group", name, err)
	}
	return g.Gid, nil
}

// idOf is the number of a name that /etc does not have; unknown is the error if nobody has it.
func idOf(database, name string, unknown error) (string, error) {
	if _, err := strconv.ParseUint(name, 10, 31); err == nil {
		return name, nil
	}
	entry, err := getent(database, name)
	if errors.Is(err, errUnknown) {
		return "", unknown
	} else if err != nil {
		return "", err
	}
	return entry[2], nil
}

// errUnknown says that this host's databases have no such entry.
var errUnknown = errors.New("this host does not know it")

// getent is an entry of a database of this host. Without cgo, os/user knows what stands in /etc alone; getent asks
// all that nsswitch.conf names, such as LDAP.
func getent(database, key string) ([]string, error) {
	out, err := ask("/usr/bin/getent", database, key)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 2 {
		return nil, errUnknown
	}
	entry := strings.Split(strings.TrimSpace(string(out)), ":")
	if err == nil && len(entry) < 4 {
		err = fmt.Errorf("getent %s %s answers %q", database, key, out)
	}
	return entry, err
}

// ask runs a program that looks something up. A database may be far away.
func ask(argv ...string) ([]byte, error) {
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Second)
	defer stop()
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
	if err != nil {
		return nil, fmt.Errorf("the host's users: %s: %w", strings.Join(argv, " "), err)
	}
	return out, nil
}

const subordinates = "/etc/subuid"

// subids are the ranges of subordinate users, as of a version of their file.
var subids struct {
	sync.Mutex
	as     time.Time
	ranges []subRange
}

// subRange is a row of /etc/subuid.
type subRange struct {
	owner       string
	first, many int
}

// Owner is whose share of the node a user has: that of the person with the range of subordinate users that it is in, or
// its own. It tells of no right: in such a range run containers, whatever is in them. A range of root's has one share.
func Owner(uid int) int {
	subids.Lock()
	defer subids.Unlock()
	fi, err := os.Stat(subordinates)
	if err != nil || uid == 0 {
		return uid
	}
	if !fi.ModTime().Equal(subids.as) {
		subids.as, subids.ranges = fi.ModTime(), readSubordinates()
	}
	for _, r := range subids.ranges {
		if uid < r.first || uid >= r.first+r.many {
			continue
		}
		if owner, err := number(r.owner, userID); err == nil && owner != 0 {
			return owner
		}
		return r.first
	}
	return uid
}

func readSubordinates() (ranges []subRange) {
	text, _ := os.ReadFile(subordinates) // what can't be read names nobody
	for line := range strings.Lines(string(text)) {
		owner, numbers, _ := strings.Cut(strings.TrimSpace(line), ":")
		first, many, _ := strings.Cut(numbers, ":")
		from, err := strconv.Atoi(first)
		n, manyErr := strconv.Atoi(many)
		if err == nil && manyErr == nil {
			ranges = append(ranges, subRange{owner, from, n})
		}
	}
	return ranges
}
