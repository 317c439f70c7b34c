// Package access finds who may do what with the files of a node: the users and groups that the
// configuration names, as the numbers of this host.
package access

import (
	"fmt"
	"strconv"

	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/spool"
)

// Core is to whom what CORE gets belongs. A name that this host does not know is an error that
// says how to mend it.
func Core(c config.CoreInbound) (spool.Access, error) {
	a := spool.DefaultAccess()
	var err error
	if a.Mode, err = c.FileMode(); err != nil {
		return a, err
	}
	if a.UID, err = number(c.Owner, userID); err != nil {
		return a, executors.WithHint(fmt.Errorf("core_inbound.owner: %w", err), "adduser --system "+c.Owner)
	}
	a.GID, err = group("core_inbound.group", c.Group)
	return a, err
}

// People are the groups of people who use the node without root. Errors are those of Core.
func People(c config.Access) (Groups, error) {
	var g Groups
	for _, of := range []struct {
		key, name string
		to        *int
	}{{"access.people", c.All(), &g.People}, {"access.approvers", c.Approvers, &g.Approvers},
		{"access.auditors", c.Auditors, &g.Auditors}} {
		gid, err := group(of.key, of.name)
		if err != nil {
			return g, err
		}
		*of.to = max(gid, 0)
	}
	return g, nil
}

func group(key, name string) (int, error) {
	gid, err := number(name, groupID)
	if err != nil {
		return -1, executors.WithHint(fmt.Errorf("%s: %w", key, err), "addgroup --system "+name)
	}
	return gid, nil
}

// number is that of a user or group that is given by name or number, or -1 if none is.
func number(name string, find func(string) (string, error)) (int, error) {
	if name == "" {
		return -1, nil
	}
	id, err := find(name)
	if err != nil {
		return -1, err
	}
	return strconv.Atoi(id)
}
