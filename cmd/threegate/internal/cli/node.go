package cli

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate"
)

// defaultNode is where a node lives that is installed from a package.
const DefaultNode = "/var/lib/threegate"

// nodeEnv names the node in the environment.
const nodeEnv = "THREEGATE_NODE"

// NodeFlag gives cmd the flag --node.
func (a *App) NodeFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.Node, "node", "", "the node's `folder` (default: $"+nodeEnv+
		", the nearest parent folder with a "+config.FileName+", "+DefaultNode+")")
	_ = cmd.MarkFlagDirname("node")
}

// NodeArg is what a command that is suggested needs to find the same node.
func (a *App) NodeArg() string {
	if a.Node == "" {
		return ""
	}
	return " --node " + a.Node
}

// nodeDir finds the node's folder. What a person named is taken as it is; what
// is only guessed must hold a configuration.
func (a *App) nodeDir() (string, error) {
	if a.Node != "" {
		return a.Node, nil
	}
	if dir := a.Getenv(nodeEnv); dir != "" {
		return dir, nil
	}
	if dir, err := os.Getwd(); err == nil {
		for {
			if _, err := os.Stat(filepath.Join(dir, config.FileName)); err == nil {
				return dir, nil
			}
			parent := filepath.Dir(dir)
			if parent == dir {
				break
			}
			dir = parent
		}
	}
	if _, err := os.Stat(filepath.Join(DefaultNode, config.FileName)); err == nil {
		return DefaultNode, nil
	}
	return "", NotFoundf("name its folder with --node or $"+nodeEnv+", or make one: threegate init DIR",
		"no node found")
}

// LoadNode reads the configuration of the node that the flags name.
func (a *App) LoadNode() (*config.Node, error) {
	dir, err := a.nodeDir()
	if err != nil {
		return nil, err
	}
	return LoadConfig(dir)
}

// LoadConfig reads the configuration of the node in dir.
func LoadConfig(dir string) (*config.Node, error) {
	l, err := config.Load(dir)
	if err == nil {
		noteGroups(l.Access)
		return l, nil
	}
	f := Troublef(err, "", "the node in %s", dir)
	if e, ok := errors.AsType[*config.Error](err); ok {
		f.Code, f.Hint = schemas.CodeValidation, e.Hint
	}
	if errors.Is(err, os.ErrNotExist) {
		f.Hint = "is this a node's folder? threegate init makes one"
	}
	return nil, f
}

// AnyNodePolicy is the policy of a node with default settings that has every language and network.
func AnyNodePolicy(now time.Time) validate.Policy {
	p := validate.DefaultPolicy(now)
	p.AnyNode = true
	return p
}

// ConfigOf is the node that file configures, and its policy. Without a file they are nil and AnyNodePolicy.
func ConfigOf(file string, now time.Time) (*config.Node, validate.Policy, error) {
	if file == "" {
		return nil, AnyNodePolicy(now), nil
	}
	if filepath.Base(file) != config.FileName {
		return nil, validate.Policy{}, Usagef("name a node's "+config.FileName, "--config %s is not a %s", file,
			config.FileName)
	}
	l, err := LoadConfig(filepath.Dir(file))
	if err != nil {
		return nil, validate.Policy{}, err
	}
	return l, l.Policy(now), nil
}

// RecordHint says what to do about an error if it is that of a damaged record.
func RecordHint(err error, dir string) string {
	if !errors.Is(err, ledger.ErrDamaged) {
		return ""
	}
	return "keep the folder " + filepath.Join(dir, spool.DirLedger) +
		" as it is, and compare it with a backup; threegate audit verify --node " + dir + " says where it is damaged"
}

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

// NodeFolders are all folders of a node, and the file by which the kernel says whether it is served.
func NodeFolders(l *config.Node) []string {
	folders := []string{l.Dir, l.CoreInbound.Path, l.CoreNotices.Path, "/proc/locks"}
	for _, in := range l.Inboxes {
		folders = append(folders, in.Path)
	}
	return folders
}
