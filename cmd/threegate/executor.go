package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors/container"
	"github.com/threegate/tool-exec/executors/containerd"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/schemas"
)

// runRoot is where nodes keep what a reboot may take away. Sockets lie below it,
// so it is short.
const runRoot = "/run/threegate"

// initName is the program that is process 1 in every sandbox.
const initName = "threegate-init"

// initPlaces are looked at for it, relative to the folder of this program.
var initPlaces = []string{".", "../lib/threegate", "../libexec/threegate"}

// findInit finds the threegate-init that belongs to this build.
func findInit() (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", troublef(err, "", "can't find the folder of this program")
	}
	for _, place := range initPlaces {
		p := filepath.Join(filepath.Dir(self), place, initName)
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
			return p, nil
		}
	}
	return "", &fault{exit: exitNotFound, code: schemas.CodeFileIO, message: initName + " is not installed beside " + self,
		hint: "make build makes both; install them into one folder"}
}

// nodeKey tells nodes of one host apart: by their folder, not by their name.
func nodeKey(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:6])
}

// executorConfig is what a node's configuration means for the executor. key marks
// containers and folders of whoever runs them.
func executorConfig(l *config.Loaded, key string) (container.Config, error) {
	initPath, err := findInit()
	if err != nil {
		return container.Config{}, err
	}
	images := map[string]string{}
	for name, lang := range l.Backends.ERA.Languages {
		images[name] = lang.Image
	}
	state := l.Containerd.State
	if state == "" {
		state = filepath.Join(runRoot, nodeKey(l.Dir), "containerd")
	}
	c := l.Containerd
	return container.Config{
		Node:      key,
		RunDir:    filepath.Join(runRoot, key, "run"),
		InitPath:  initPath,
		ImagesDir: l.Backends.Images,
		Images:    images,
		Monty:     l.Backends.Monty.Image,
		Containerd: containerd.Config{
			Address:   c.Address,
			Namespace: c.Namespace,
			Private:   containerd.Private{Root: c.Root, State: state},
		},
		Runtime:       c.Runtime,
		RuntimeBinary: c.RuntimeBinary,
		OwnFilter:     filtersItself(c.Runtime + " " + filepath.Base(c.RuntimeBinary)),
	}, nil
}

// filtersItself reports whether a runtime has a kernel of its own between the
// program and the host's.
func filtersItself(runtime string) bool {
	for _, name := range []string{"runsc", "kata", "krun"} {
		if strings.Contains(strings.ToLower(runtime), name) {
			return true
		}
	}
	return false
}

// openExecutor makes the means to run requests ready.
func openExecutor(ctx context.Context, cfg container.Config) (*container.Executor, error) {
	if os.Geteuid() != 0 {
		return nil, &fault{exit: exitTrouble, code: schemas.CodePolicy, message: "making containers needs root", hint: "run it as root, for example with sudo"}
	}
	e, err := container.Open(ctx, cfg)
	if err != nil {
		return nil, troublef(err, "threegate doctor says what this host lacks", "can't run containers")
	}
	return e, nil
}

// removeRunDir takes away the mounts and folders of an executor that is closed
// and not to be opened again.
func removeRunDir(cfg container.Config) error {
	roots, err := filepath.Glob(filepath.Join(cfg.RunDir, "roots", "*"))
	if err != nil {
		return err
	}
	for _, mount := range append(roots, cfg.RunDir) {
		err := unix.Unmount(mount, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			return &os.PathError{Op: "unmount", Path: mount, Err: err}
		}
	}
	// Plain removes: a folder that is not empty is none of ours to clear.
	return errors.Join(ignoreMissing(os.Remove(cfg.RunDir)), ignoreMissing(os.Remove(filepath.Dir(cfg.RunDir))))
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
