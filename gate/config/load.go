package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v4"

	"github.com/threegate/tool-exec/executors/image"
)

// maxFileBytes bounds the configuration before it is parsed.
const maxFileBytes = 1 << 20

// Error is what is wrong with a configuration file, with a way to mend it.
type Error struct {
	File string
	Line int // 0 if the whole file is meant
	Key  string
	Msg  string
	Hint string
}

func (e *Error) Error() string {
	at := e.File
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	if e.Key != "" {
		return fmt.Sprintf("%s: %s: %s", at, e.Key, e.Msg)
	}
	return fmt.Sprintf("%s: %s", at, e.Msg)
}

// Node is a configuration that is complete and valid, its paths absolute.
type Node struct {
	Config
	// Dir is the node's folder, File its configuration.
	Dir, File string
	// lines maps a dotted key that the file sets to its line.
	lines map[string]int
	// AllowedSigners is the content of approvals.allowed_signers.
	AllowedSigners []byte
	// Programs are what the image of a language has on its PATH, for languages of which that is known.
	Programs map[string][]string
	// Registries are the registries of profiles, by the profile's name.
	Registries map[string][]byte
}

// Load reads the configuration of the node in dir. Everything wrong with it is
// returned at once, as *Error values joined.
func Load(dir string) (*Node, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(abs, FileName)
	st, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if !st.Mode().IsRegular() || st.Size() > maxFileBytes {
		return nil, &Error{File: file, Msg: "is not a regular file of at most 1 MiB", Hint: sampleHint}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return parse(abs, file, raw)
}

func parse(dir, file string, raw []byte) (*Node, error) {
	l := &Node{Config: Default(), Dir: dir, File: file, lines: map[string]int{}}
	if blank(raw) {
		return nil, &Error{File: file, Msg: "is empty: it configures nothing", Hint: sampleHint}
	}
	var doc yaml.Node
	if err := yaml.Load(raw, &doc); err != nil {
		return nil, yamlError(file, err)
	}
	if len(doc.Content) > 0 {
		collectLines(doc.Content[0], "", l.lines)
	}
	err := errors.Join(l.decode(raw, &doc), l.check())
	l.resolve()
	if err = errors.Join(err, l.readSigners(), l.readRegistries()); err != nil {
		return nil, err
	}
	l.readPrograms()
	return l, nil
}

// readPrograms asks the images. One that is missing or damaged is no fault of the configuration: doctor
// and serve tell of it.
func (l *Node) readPrograms() {
	l.Programs = map[string][]string{}
	for language, c := range l.Backends.ERA.Languages {
		if names, known, err := image.Programs(l.Backends.Images, c.Image); err == nil && known {
			l.Programs[language] = names
		}
	}
	for name, p := range l.Tools.Profiles {
		if names, known := l.Programs[p.Image]; known {
			l.Programs[name] = names
		}
	}
}

// decode fills in what the file sets. With an error, too, it has read what it could,
// so that the values can be checked: whoever mends a file wants to know all of it.
func (l *Node) decode(raw []byte, doc *yaml.Node) error {
	strict := yaml.Load(raw, &l.Config, yaml.WithKnownFields(), yaml.WithUniqueKeys())
	if strict == nil {
		return nil
	}
	// A key that is given twice ends the reading of what it is in.
	l.Config = Default()
	var err error
	if loose := yaml.Load(raw, &l.Config, yaml.WithKnownFields(), yaml.WithUniqueKeys(false)); loose != nil {
		err = yamlError(l.File, loose)
	}
	if err = errors.Join(givenTwice(l.File, "", doc), err); err == nil {
		err = yamlError(l.File, strict)
	}
	return err
}

// readSigners reads approvals.allowed_signers, if it is needed.
func (l *Node) readSigners() (err error) {
	if !l.Approvals.RequireSignature || l.Approvals.AllowedSigners == "" {
		return nil
	}
	if l.AllowedSigners, err = os.ReadFile(l.Approvals.AllowedSigners); err != nil {
		return l.fault("approvals.allowed_signers", "can't be read: "+err.Error(),
			"name an OpenSSH allowed_signers file")
	}
	return nil
}

func collectLines(n *yaml.Node, prefix string, out map[string]int) {
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if prefix != "" {
			key = prefix + "." + key
		}
		out[key] = n.Content[i].Line
		collectLines(n.Content[i+1], key, out)
	}
}

// Origin says where the value of a dotted key came from: "default" or "threegate.yaml:12".
func (l *Node) Origin(key string) string {
	if line, ok := l.lines[key]; ok {
		return fmt.Sprintf("%s:%d", filepath.Base(l.File), line)
	}
	return "default"
}

func (l *Node) fault(key, msg, hint string) error {
	return &Error{File: l.File, Line: l.lines[key], Key: key, Msg: msg,
		Hint: cmp.Or(hint, "docs/configuration.md says what each key means")}
}

// resolve makes paths absolute.
func (l *Node) resolve() {
	abs := func(p *string) {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(l.Dir, *p)
		}
	}
	for i := range l.Inboxes {
		abs(&l.Inboxes[i].Path)
	}
	abs(&l.CoreInbound.Path)
	abs(&l.CoreNotices.Path)
	abs(&l.Approvals.AllowedSigners)
	for i := range l.Hooks {
		abs(&l.Hooks[i].SecretFile)
	}
	for name, p := range l.Tools.Profiles {
		abs(&p.Registry)
		l.Tools.Profiles[name] = p
	}
	abs(&l.Backends.Images)
	abs(&l.Backends.Init)
	abs(&l.Containerd.Root)
	abs(&l.Containerd.State)
}

// runBase holds what does not survive a reboot, of all nodes of a host. It must
// be short: sockets lie below it.
const runBase = "/run/threegate"

// key tells the nodes of one host apart.
func (l *Node) key() string {
	sum := sha256.Sum256([]byte(l.Dir))
	return hex.EncodeToString(sum[:6])
}

// Label marks what belongs to this node in a containerd that it shares with others.
func (l *Node) Label() string { return l.Node.Name + "-" + l.key() }

// RunDir is where the node's sandboxes live.
func (l *Node) RunDir() string { return filepath.Join(runBase, l.key(), "run") }

// ContainerdState is the state folder of the private containerd.
func (l *Node) ContainerdState() string {
	return cmp.Or(l.Containerd.State, filepath.Join(runBase, l.key(), "containerd"))
}
