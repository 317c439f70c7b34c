package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/cmd/threegate/internal/backend"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/executors"
	"github.com/threegate/tool-exec/executors/cgroup"
	"github.com/threegate/tool-exec/executors/container"
	"github.com/threegate/tool-exec/executors/image"
	"github.com/threegate/tool-exec/executors/sandbox"
	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/access"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/gate/hold"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

// Outcomes of a check.
const (
	checkOK   = "ok"
	checkWarn = "warning"
	checkFail = "fails"
	// checkUnseen is a check that needs root.
	checkUnseen = "unseen"
)

// check is one check of doctor.
type check struct {
	Name   string `json:"check"`
	State  string `json:"state"`
	Detail string `json:"detail"`
	// Hint is the command, or the words, that mends it.
	Hint string `json:"mend,omitempty"`
}

// checks are those made so far. root says whether the caller may check everything.
type checks struct {
	list []check
	root bool
	dir  string
}

func (cs *checks) add(name string, err error, detail, hint string) {
	c := check{Name: name, State: checkOK, Detail: detail}
	switch {
	case err == nil:
	case !cs.root && errors.Is(err, fs.ErrPermission):
		c.State, c.Detail, c.Hint = checkUnseen, "can't be checked without root: "+err.Error(), "sudo threegate doctor"
		if cs.dir != "" {
			c.Hint += " --node " + cs.dir
		}
	default:
		c.State, c.Detail, c.Hint = checkFail, err.Error(), hint
	}
	cs.list = append(cs.list, c)
}

func (cs *checks) warn(name, detail, hint string) {
	cs.list = append(cs.list, check{Name: name, State: checkWarn, Detail: detail, Hint: hint})
}

func newDoctor(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check this host and the node, and say how to mend what is missing",
		Long: `doctor checks everything that the node needs to run a request: rights, isolation,
programs, configuration, folders, images. To try CORE's access it makes a hidden file and
folder in CORE's folders and deletes them as CORE's user (core_inbound.owner). If nothing is
missing, it makes a sandbox, has a program in it try to get out, and removes it (see
threegate posture). Else it changes nothing. It ends with exit code 1 if something
necessary is missing.`,
		Example: `  sudo threegate doctor --node /var/lib/threegate
  threegate doctor --json | jq '.[] | select(.state != "ok")'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context()) },
	}
	a.NodeFlag(cmd)
	return cmd
}

func (a *app) doctor(ctx context.Context) error {
	cs := &checks{root: os.Geteuid() == 0, dir: a.Node}
	cs.add("rights", notRoot(), "root", "run threegate doctor and threegate serve with sudo")
	host, err := sandbox.Probe()
	detail := "cgroup v1"
	if host.Unified {
		detail = "cgroup v2"
	}
	cs.add("isolation", err, detail, "see the message")
	landlockCheck(cs, confine.ABI())
	l, err := a.LoadNode()
	if err != nil {
		hint := "threegate init DIR"
		if f, ok := errors.AsType[*cli.Fault](err); ok && f.Hint != "" {
			hint = f.Hint
		}
		cs.add("configuration", err, "", hint)
	} else {
		cs.add("configuration", nil, l.File, "")
		cs.dir = l.Dir
		hostChecks(cs, l, host.Unified)
		nodeChecks(ctx, cs, l)
		a.sandboxCheck(ctx, cs, l)
	}
	if a.JSON {
		if err := a.PrintJSON(cs.list); err != nil {
			return err
		}
	} else if err := a.printChecks(cs.list); err != nil {
		return err
	}
	if slices.ContainsFunc(cs.list, func(c check) bool { return c.State == checkFail }) {
		return cli.Verdict(cli.ExitReject)
	}
	return nil
}

func notRoot() error {
	if os.Geteuid() != 0 {
		return errors.New("containers are made by root only")
	}
	return nil
}

// landlockCheck says what rights commands that read untrusted documents give up on this kernel.
func landlockCheck(cs *checks, abi int) {
	switch {
	case abi == 0:
		cs.warn("landlock", "this kernel has none: commands that read requests can reach all files of their caller, "+
			"and no filter can be a command",
			"start the kernel with landlock in its list of security modules (lsm=landlock,...)")
	default:
		detail := fmt.Sprintf("ABI %d: commands that read requests and results reach only the files that they are "+
			"given", abi)
		if abi < fullABI {
			detail += ", but may signal other processes"
		}
		cs.add("landlock", nil, detail, "")
	}
}

// fullABI is the first version of Landlock that can do all that confine asks for.
const fullABI = 6

// inboxChecks tries the inboxes, and says who else could get at what lies there.
func inboxChecks(cs *checks, l *config.Node) {
	for _, in := range l.Inboxes {
		err := folderCheck(in.Path, unix.R_OK|unix.W_OK|unix.X_OK)
		cs.add("inbox "+in.Name, err, in.Path, "mkdir -m 1770 "+in.Path)
		if err := access.Fixed(in.Path); err != nil && l.Access.Approvers != "" {
			cs.add("inbox "+in.Name, err, "", executors.HintOf(err))
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			cs.warn("inbox "+in.Name, err.Error(), executors.HintOf(err))
		}
		if who := tamperers(in.Path); who != "" {
			cs.warn("inbox "+in.Name, who+" may remove or replace what others put into "+in.Path+
				": it is theirs to write and not sticky", "chmod +t "+in.Path)
		}
	}
}

// nodeChecks checks what the configuration names.
func nodeChecks(ctx context.Context, cs *checks, l *config.Node) {
	programs := backend.Programs(l)
	for _, p := range programs {
		cs.add(p.Name, p.Err, p.Path, backend.InitHint)
	}
	if l.Containerd.Address != "" {
		_, err := os.Stat(l.Containerd.Address)
		cs.add("containerd", err, "the host's, at "+l.Containerd.Address,
			"systemctl start containerd, or correct containerd.address")
	} else {
		path, err := executors.FindProgram("containerd")
		cs.add("containerd", err, path+", private to the node", "apt-get install --no-install-recommends containerd")
	}
	runtime := l.Containerd.RuntimeBinary
	if runtime == "" && l.Containerd.Runtime == config.Default().Containerd.Runtime {
		runtime = "runc"
	}
	if handler := l.Containerd.Runtime; handler != config.Default().Containerd.Runtime {
		handlerCheck(cs, l.Containerd.Address, handler)
	}
	ownKernel := container.HasOwnKernel(l.Containerd.Runtime)
	if runtime != "" {
		ownKernel = runtimeCheck(ctx, cs, runtime) || ownKernel
	}
	if init := programs[0].Path; !ownKernel && init != "" && notRoot() == nil {
		switch err := sandbox.TryUserNamespace(ctx, init); {
		case err == nil:
			cs.add("user namespaces", nil, "every sandbox has one, with ids of its own", "")
		case l.Containerd.UserNamespace == config.UserNamespaceOptional:
			cs.warn("user namespaces", err.Error()+
				"; process 1 of a sandbox is the host's root, with four capabilities",
				"mend that, then set containerd.user_namespace: required")
		default:
			cs.add("user namespaces", err, "", "mend that, or do without: containerd.user_namespace: optional")
		}
	}
	served, err := spool.Locked(l.Dir)
	cs.add("node", err, map[bool]string{true: "served now", false: "not served now"}[served], "threegate init "+l.Dir)
	holds, err := hold.List(l)
	if err != nil {
		cs.add("holds", err, "", "run it as a user who may read the node")
	}
	for _, h := range holds {
		cs.warn("hold", "nothing is taken in: "+h.String(), "threegate resume "+h.Inbox+" --node "+l.Dir)
	}
	inboxChecks(cs, l)
	err = folderCheck(l.CoreInbound.Path, unix.W_OK|unix.X_OK)
	cs.add("core inbound", err, l.CoreInbound.Path, backend.CoreHint(l))
	if l.CoreNotices.Enabled {
		err = folderCheck(l.CoreNotices.Path, unix.W_OK|unix.X_OK)
		cs.add("core notices", err, l.CoreNotices.Path, backend.NoticesHint(l))
	}
	coreChecks(ctx, cs, l)
	peopleChecks(ctx, cs, l)
	for _, name := range slices.Sorted(maps.Keys(l.Backends.ERA.Languages)) {
		digest := l.Backends.ERA.Languages[name].Image
		cs.add("language "+name, image.Verify(l.Backends.Images, digest), digest+programsOf(l.Programs[name]),
			backend.ImageHint(l, name))
		execCheck(cs, name, l.Backends.ERA.Languages[name])
	}
	if len(l.Backends.ERA.Languages) == 0 {
		cs.warn("languages", "no ERA language has an image: every ERA request is refused",
			"deploy/images/build "+l.Backends.Images+", then list them under backends.era.languages")
	}
	profileChecks(cs, l)
	if m := l.Backends.Monty.Image; m != "" {
		cs.add("monty", image.Verify(l.Backends.Images, m), m, backend.ImageHint(l, "monty"))
	} else {
		cs.warn("monty", "there is no image: every Monty request is refused",
			"deploy/images/build "+l.Backends.Images+" monty, then set backends.monty.image")
	}
	for _, e := range l.Results.External {
		took, err := gate.TryFilter(ctx, e)
		cs.add("filter "+e.Name, err, fmt.Sprintf("it answers, in %s", took.Round(time.Millisecond)),
			cmp.Or(executors.HintOf(err),
				"start it, or correct results.external; while it does not answer, results wait and are then refused"))
	}
	cs.add("disk", spool.Room(l.Dir, spool.DefaultMinFreeBytes), "room for requests", "make room below "+l.Dir)
	if len(l.Approvals.Approvers) == 0 && !l.Approvals.RequireSignature {
		cs.warn("approvals", "anybody who can write to an inbox can approve",
			"list approvals.approvers, or set approvals.require_signature")
	}
}

// programsOf says what can be the first word of a command.
func programsOf(programs []string) string {
	if len(programs) == 0 {
		return ""
	}
	return "\nprograms: " + strings.Join(programs, ", ")
}

// profileChecks says of each profile what its runs are held to.
func profileChecks(cs *checks, l *config.Node) {
	all := backend.Profiles(l)
	for i, name := range slices.Sorted(maps.Keys(l.Tools.Profiles)) {
		p := l.Tools.Profiles[name]
		rules, err := registry.Parse(l.Registries[name])
		if x := all[i]; x.Missing {
			cs.add("image of "+name, fmt.Errorf("the profile's image %s, %s, is not in %s", p.Image, x.Digest,
				l.Backends.Images), "", backend.ImageHint(l, p.Image))
		} else if err == nil && x.HasTools != nil && !*x.HasTools {
			err = fmt.Errorf("the image %s has no program %s", p.Image, backend.ToolsProgram)
		}
		detail := fmt.Sprintf("image %s, registry %s, sha256 %s", p.Image, p.Registry,
			config.RegistryDigest(l.Registries[name]))
		if err == nil {
			for _, v := range rules.Validators {
				detail += fmt.Sprintf("\n%s: %s", v.Rule, v.Enforcement)
			}
		}
		cs.add("profile "+name, err, detail, "correct tools.profiles."+name)
	}
}

// execCheck warns of a language whose sandboxes are weaker than those of others.
func execCheck(cs *checks, name string, l config.Language) {
	if l.ExecTmp {
		key := "backends.era.languages." + name + ".exec_tmp"
		cs.warn("exec_tmp "+name, "requests in "+name+" can execute what they write to /tmp",
			"remove "+key+", unless the language must execute what it builds")
	}
}

// handlerCheck looks for the program behind a runtime handler. The host's containerd may
// have it elsewhere.
func handlerCheck(cs *checks, address, handler string) {
	err := container.CheckHandler(handler, "")
	if err != nil && address != "" {
		cs.warn("runtime handler", err.Error()+", or only where the host's containerd looks for it",
			executors.HintOf(err))
		return
	}
	cs.add("runtime handler", err, handler, executors.HintOf(err))
}

// runtimeCheck reports whether the sandboxes of a runtime have a kernel of their own.
func runtimeCheck(ctx context.Context, cs *checks, runtime string) bool {
	path, err := executors.FindProgram(runtime)
	if err != nil {
		cs.add("runtime", err, "", "apt-get install --no-install-recommends "+filepath.Base(runtime))
		return false
	}
	const hint = "leave containerd.runtime_binary out of threegate.yaml: the node then uses runc"
	version, err := container.RuntimeVersion(ctx, path)
	if err != nil {
		cs.add("runtime", err, "", "mend that program, or "+hint)
		return false
	}
	version = ", " + version
	cs.add("runtime", runtimeRefused(cgroup.Root, path, version), path+version,
		"boot with systemd.unified_cgroup_hierarchy=1, or "+hint)
	return container.HasOwnKernel(version)
}

// sandboxCheck makes a sandbox and has a program in it try to get out, if all that it needs is there.
func (a *app) sandboxCheck(ctx context.Context, cs *checks, l *config.Node) {
	if !cs.root || slices.ContainsFunc(cs.list, func(c check) bool { return c.State == checkFail }) ||
		len(l.Backends.ERA.Languages) == 0 && l.Backends.Monty.Image == "" {
		return
	}
	reports, err := a.postureOnce(ctx, l)
	hint := "threegate posture --node " + l.Dir + " shows what a sandbox could do"
	if f, ok := errors.AsType[*cli.Fault](err); ok {
		hint = f.Hint
	}
	detail := ""
	if err == nil {
		err = errors.Join(verdictsOf(reports)...)
		detail = fmt.Sprintf("made by %s; %d ways out are closed", reports[0].Runtime, reports[0].Tried)
	}
	cs.add("sandbox", err, detail, hint)
}

func folderCheck(dir string, mode uint32) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", dir)
	}
	if err := unix.Access(dir, mode); err != nil {
		return &os.PathError{Op: "use", Path: dir, Err: err}
	}
	return nil
}

// tamperers says who but the owner may take away or replace files of others in a
// folder: whoever may write to it, unless it is sticky.
func tamperers(dir string) string {
	info, err := os.Stat(dir)
	switch {
	case err != nil || info.Mode()&os.ModeSticky != 0:
		return ""
	case info.Mode().Perm()&0o002 != 0:
		return "anybody"
	case info.Mode().Perm()&0o020 != 0:
		return "all of its group"
	}
	return ""
}

func (a *app) printChecks(checks []check) error {
	s := a.UI.OutStyle
	paint := map[string]func(string) string{checkOK: s.Green, checkWarn: s.Yellow, checkFail: s.Red,
		checkUnseen: s.Yellow}
	width, count := 0, map[string]int{}
	for _, c := range checks {
		width = max(width, term.Width(c.Name))
		count[c.State]++
	}
	indent := strings.Repeat(" ", len(checkWarn)+2+width+2)
	var b strings.Builder
	for _, c := range checks {
		state := paint[c.State](fmt.Sprintf("%-*s", len(checkWarn), c.State))
		// A configuration may have more than one mistake, one a line.
		var detail []string
		for line := range strings.SplitSeq(term.Block(c.Detail), "\n") {
			detail = append(detail, term.Hang(line, len(indent), len(indent), a.UI.Wide()))
		}
		fmt.Fprintf(&b, "%s  %-*s  %s\n", state, width, term.Visible(c.Name), strings.Join(detail, "\n"+indent))
		if c.Hint != "" {
			hint := term.Hang(term.Visible(c.Hint), len(indent)+6, len(indent)+6, a.UI.Wide())
			fmt.Fprintf(&b, "%s%s %s\n", indent, s.Cyan("mend:"), hint)
		}
	}
	if n := count[checkUnseen]; n > 0 {
		fmt.Fprintf(&b, "\n%s\n", s.Yellow(term.Plural(n, "thing", "things")+
			" could not be checked: run it with sudo."))
	}
	last := s.Green("The node can run requests.")
	if n := count[checkFail]; n > 0 {
		last = s.Red(term.Plural(n, "thing is missing.", "things are missing."))
	}
	_, err := fmt.Fprintf(a.UI.Out, "%s\n%s\n", b.String(), last)
	return err
}
