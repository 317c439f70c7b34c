package cli

import (
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/confine"
)

// DropPrivileges leaves a command nothing but the files that it names: it is called once what
// the operator wrote (flags, configuration, keys) is read, and before anything that
// somebody else wrote is. serve, run, posture and doctor can't do it: they mount and
// start programs.
func (a *App) DropPrivileges(n confine.Needs) error {
	if err := a.Confine(n); err != nil {
		return Troublef(err, "threegate doctor says what this kernel can do",
			"can't give up what the command does not need")
	}
	return nil
}

// DropToNode is DropPrivileges for a command that reads a node: its folder, its inboxes and CORE's folder.
func (a *App) DropToNode(l *config.Node) error {
	return a.DropPrivileges(confine.Needs{Read: NodeFolders(l)})
}

// ReadNode is LoadNode for a command that reads nothing but the node from then on.
func (a *App) ReadNode() (*config.Node, error) {
	l, err := a.LoadNode()
	if err != nil {
		return nil, err
	}
	return l, a.DropToNode(l)
}

// NodeFolders are all folders of a node, and where the kernel says whether it is served.
func NodeFolders(l *config.Node) []string {
	folders := []string{l.Dir, l.CoreInbound.Path, l.CoreNotices.Path, "/proc/locks"}
	for _, in := range l.Inboxes {
		folders = append(folders, in.Path)
	}
	return folders
}
