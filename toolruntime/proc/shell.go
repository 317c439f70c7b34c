// Package proc has the tools of section 5.2: it lists processes, and runs commands without a shell.
//
// It runs in the sandbox only. The allowlist is policy: an allowed program may run any other. What
// holds them all is the sandbox.
package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

const (
	shellRule = "sec.shell.allowlist"
	shellTime = 10 * time.Minute
	maxCmd    = 32 << 10
	maxStdin  = 4 << 20
)

// allowedEnv are the variables that a call may set. None makes a program run another one, but
// for RUSTFLAGS, which the specification names.
var allowedEnv = []string{"CARGO_TERM_COLOR", "CGO_ENABLED", "CI", "GOARCH", "GOOS", "LANG", "LC_ALL", "NODE_ENV",
	"NO_COLOR", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "RUSTFLAGS", "RUST_BACKTRACE", "TZ"}

// sensitive are names of variables that no command inherits.
var sensitive = regexp.MustCompile(`(?i)token|secret|passw|credential|api_?key|private_?key|^aws_|^ssh_|^git_`)

var proxyEnv = regexp.MustCompile(`(?i)^(https?|all|ftp|no)_proxy$`)

type shellArgs struct {
	Cmd string `json:"cmd" jsonschema:"a program of the image and literal words, quoted as for a shell"`
	Cwd string `json:"cwd,omitempty" jsonschema:"a folder of the workspace"`
	contract.Timed
	Env          map[string]string `json:"env,omitempty" jsonschema:"more variables, of a fixed list of names"`
	Stdin        *string           `json:"stdin,omitempty"`
	AllowNetwork bool              `json:"allow_network,omitempty" jsonschema:"tell the command of the proxy"`
	MustSucceed  bool              `json:"must_succeed,omitempty" jsonschema:"another exit code than 0 is an E_SHELL"`
}

// shellResult is the result of shell_exec. A command that was killed by a signal has the code 128 + signal.
type shellResult struct {
	Code   int    `json:"code"`
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
	// Truncated says that a stream was longer than 5 MiB.
	Truncated bool `json:"truncated"`
	ran       bool
}

// WithError keeps the result of a command that ran and failed.
func (r shellResult) WithError() bool { return r.ran }

// Tools are proc_list and shell_exec.
func Tools(w *workspace.Workspace, r *registry.Registry) []contract.Tool {
	return []contract.Tool{
		contract.NewTool("proc_list", "lists processes of the sandbox", listTime, listArgs{Limit: 50}, list,
			contract.Between("limit", 1, 1000), contract.Length("filter", 0, 1000)).Reads(),
		contract.Policed(contract.NewTool("shell_exec", "runs a command without a shell", shellTime,
			shellArgs{Cwd: ".", Timed: contract.Timed{TimeoutMS: shellTime.Milliseconds()}},
			func(ctx context.Context, a shellArgs) (shellResult, error) { return shell(ctx, w, r, a) },
			contract.Between("timeout_ms", 1, float64(time.Hour.Milliseconds())), contract.Length("cmd", 1, maxCmd),
			contract.Length("stdin", 0, maxStdin)), func(a shellArgs) error { return a.allowed(r) }),
	}
}

// Check says what is wrong with a command before it runs.
func (a shellArgs) Check() error {
	if _, err := Split(a.Cmd); err != nil {
		return err
	}
	if _, err := environment(a.Env, false); err != nil {
		return err
	}
	_, err := workspace.Clean(a.Cwd)
	return err
}

// allowed holds a command to the registry.
func (a shellArgs) allowed(r *registry.Registry) error {
	if !r.AllowsCommand(a.Cmd) {
		return contract.Refuse(shellRule, "no pattern of shell_allow matches %.200q", a.Cmd).WithHint(patterns(r))
	}
	if a.AllowNetwork && len(r.Network.AllowedDomains) == 0 {
		return contract.Refuse("sec.network.allowlist", "the registry allows no host")
	}
	return nil
}

func shell(ctx context.Context, w *workspace.Workspace, r *registry.Registry, a shellArgs) (shellResult, error) {
	argv, err := Split(a.Cmd)
	if err != nil {
		return shellResult{}, err
	}
	if err := a.allowed(r); err != nil {
		return shellResult{}, err
	}
	env, err := environment(a.Env, a.AllowNetwork)
	if err != nil {
		return shellResult{}, err
	}
	clean, info, err := w.Lstat(a.Cwd)
	if err != nil {
		return shellResult{}, err
	}
	if !info.IsDir() {
		return shellResult{}, contract.Errorf(contract.FileIO, "%q is no folder", clean)
	}
	out, err := Run(ctx, Command{Argv: argv, Dir: filepath.Join(w.Dir, clean), Env: env, Stdin: a.Stdin})
	text := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
	result := shellResult{out.Code, text(out.Stdout), text(out.Stderr), out.Truncated, out.Ran}
	if err == nil && a.MustSucceed && out.Code != 0 {
		err = contract.Errorf(contract.Shell, "%s ended with code %d", argv[0], out.Code)
	}
	return result, err
}

// patterns says which commands are allowed.
func patterns(r *registry.Registry) string {
	if len(r.ShellAllow) == 0 {
		return "the registry allows no command: its key is shell_allow"
	}
	return contract.Shorten(fmt.Sprintf("these patterns allow commands: %q", r.ShellAllow), 1000)
}

// Environ is what programs of the image inherit: no secret, and not the proxy.
func Environ() []string {
	env, _ := environment(nil, false) // it refuses only what is added
	return env
}

// Rustup is what the programs that rustup puts in the place of a toolchain need to find it from another home, if there is
// one.
func Rustup() []string {
	dir := os.Getenv("RUSTUP_HOME")
	if home, err := os.UserHomeDir(); dir == "" && err == nil {
		dir = filepath.Join(home, ".rustup")
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil
	}
	return []string{"RUSTUP_HOME=" + dir}
}

// environment is what a command inherits, and what the call adds.
func environment(more map[string]string, network bool) (env []string, err error) {
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if !sensitive.MatchString(name) && (network || !proxyEnv.MatchString(name)) {
			env = append(env, kv)
		}
	}
	for name, v := range more {
		if !slices.Contains(allowedEnv, name) || strings.ContainsRune(v, 0) {
			return nil, contract.Refuse(shellRule, "the variable %q may not be set", name).
				WithHint("these may: " + strings.Join(allowedEnv, ", "))
		}
		env = append(env, name+"="+v)
	}
	return env, nil
}

// Split reads a command line as a shell would, and returns its words. It refuses all that a
// shell would do more than that: operators, expansions, patterns, redirections, assignments.
func Split(cmd string) ([]string, error) {
	bad := func(what string) ([]string, error) {
		return nil, contract.Refuse(shellRule, "the command %s", what).
			WithHint("no shell runs it: give one program and literal words; quote what is meant literally")
	}
	if strings.ContainsRune(cmd, 0) {
		return bad("holds a NUL")
	}
	parser := syntax.NewParser(syntax.Variant(syntax.LangPOSIX), syntax.KeepComments(true))
	f, err := parser.Parse(strings.NewReader(cmd), "")
	if err != nil {
		return bad(fmt.Sprintf("can't be parsed: %v", err))
	}
	if len(f.Stmts) != 1 {
		return bad("is not exactly one")
	}
	s := f.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if m := changeDir.FindStringSubmatch(cmd); m != nil {
		return nil, contract.Refuse(shellRule, "the command changes its folder").
			WithHint(fmt.Sprintf("set cwd to %q and cmd to %q", m[1], m[2]))
	}
	if !ok || s.Background || s.Coprocess || s.Negated || len(s.Redirs) > 0 || len(s.Comments) > 0 {
		return nil, contract.Refuse(shellRule, "the command has an operator, a redirection or a comment").
			WithHint("no shell runs it: a call runs one program with literal words. stdin has what it reads, and the " +
				"answer has what it writes; quote what is meant literally")
	}
	if len(call.Assigns) > 0 || len(call.Args) == 0 {
		return bad("has an assignment")
	}
	var argv []string
	for _, w := range call.Args {
		text, ok := literal(w)
		if !ok {
			return bad("has an expansion or an unquoted pattern")
		}
		argv = append(argv, text)
	}
	if strings.Contains(argv[0], "/") || strings.HasPrefix(argv[0], "-") {
		return bad("names its program by a path")
	}
	return argv, nil
}

// changeDir is a command that begins with cd.
var changeDir = regexp.MustCompile(`^\s*cd\s+([\w./-]+)\s*(?:&&|;)\s*(.+)$`)

// escaped is a backslash and what it takes the meaning of, outside of quotes and in double quotes.
var (
	escaped       = regexp.MustCompile(`(?s)\\(.)`)
	escapedInside = regexp.MustCompile("(?s)\\\\([$`\"\\\\\n])")
)

// literal is what a word means, and whether it means no more than that.
func literal(w *syntax.Word) (string, bool) {
	var text strings.Builder
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			bare := escaped.ReplaceAllString(p.Value, "")
			if strings.ContainsAny(bare, "*?[{}\\") || i == 0 && strings.HasPrefix(p.Value, "~") {
				return "", false
			}
			text.WriteString(escaped.ReplaceAllString(p.Value, "$1"))
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			text.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				l, ok := inner.(*syntax.Lit)
				if !ok || p.Dollar {
					return "", false
				}
				text.WriteString(escapedInside.ReplaceAllString(l.Value, "$1"))
			}
		default:
			return "", false
		}
	}
	return text.String(), true
}

// notFound gives the error of a start its code.
func notFound(name string, err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return contract.Errorf(contract.Shell, "the image has no program %q", name)
	}
	return contract.Errorf(contract.Shell, "start %q: %v", name, err)
}
