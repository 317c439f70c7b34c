package main

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate"
)

// defaultNode is where a node lives that is installed from a package.
const defaultNode = "/var/lib/threegate"

// nodeEnv names the node in the environment.
const nodeEnv = "THREEGATE_NODE"

// nodeFlag gives cmd the flag --node.
func (a *app) nodeFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.node, "node", "", "the node's `folder` (default: $"+nodeEnv+", the nearest parent folder with a "+config.FileName+", "+defaultNode+")")
	_ = cmd.MarkFlagDirname("node")
}

// nodeArg is what a command that is suggested needs to find the same node.
func (a *app) nodeArg() string {
	if a.node == "" {
		return ""
	}
	return " --node " + a.node
}

// nodeDir finds the node's folder. What a person named is taken as it is; what
// is only guessed must hold a configuration.
func (a *app) nodeDir() (string, error) {
	if a.node != "" {
		return a.node, nil
	}
	if dir := a.getenv(nodeEnv); dir != "" {
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
	if _, err := os.Stat(filepath.Join(defaultNode, config.FileName)); err == nil {
		return defaultNode, nil
	}
	return "", &fault{exit: exitNotFound, code: schemas.CodeFileIO, message: "no node found",
		hint: "name its folder with --node or $" + nodeEnv + ", or make one: threegate init DIR"}
}

// loadNode reads the configuration of the node that the flags name.
func (a *app) loadNode() (*config.Loaded, error) {
	dir, err := a.nodeDir()
	if err != nil {
		return nil, err
	}
	return loadConfig(dir)
}

func loadConfig(dir string) (*config.Loaded, error) {
	l, err := config.Load(dir)
	if err == nil {
		return l, nil
	}
	f := troublef(err, "", "the node in %s", dir)
	if e, ok := errors.AsType[*config.Error](err); ok {
		f.code, f.hint = schemas.CodeValidation, e.Hint
	}
	if errors.Is(err, os.ErrNotExist) {
		f.hint = "is this a node's folder? threegate init makes one"
	}
	if errors.Is(err, os.ErrPermission) {
		f.hint = "run it with sudo, or as a user who may read the node"
	}
	return nil, f
}

// nodePolicy is the policy of the node that file configures.
func nodePolicy(file string, now time.Time) (validate.Policy, error) {
	if filepath.Base(file) != config.FileName {
		return validate.Policy{}, usagef("name a node's "+config.FileName, "--config %s is no %s", file, config.FileName)
	}
	l, err := loadConfig(filepath.Dir(file))
	if err != nil {
		return validate.Policy{}, err
	}
	return l.Policy(now), nil
}
