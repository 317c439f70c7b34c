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

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

const (
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
		contract.NewTool("proc_list", "lists processes of the sandbox", listTime, listArgs{Limit: 50},
			func(ctx context.Context, a listArgs) (listResult, error) { return list(ctx, r, a) },
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
	if _, err := registry.Split(a.Cmd); err != nil {
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
		return contract.Refuse(registry.ShellRule, "no pattern of shell_allow matches %.200q", a.Cmd).
			WithHint(patterns(r))
	}
	if a.AllowNetwork && len(r.Network.AllowedDomains) == 0 {
		return contract.Refuse("sec.network.allowlist", "the registry allows no host")
	}
	return nil
}

func shell(ctx context.Context, w *workspace.Workspace, r *registry.Registry, a shellArgs) (shellResult, error) {
	argv, err := registry.Split(a.Cmd)
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

// Rustup is what the programs that rustup puts in the place of a toolchain need to find it from another home, if there
// is one.
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
			return nil, contract.Refuse(registry.ShellRule, "the variable %q may not be set", name).
				WithHint("these may: " + strings.Join(allowedEnv, ", "))
		}
		env = append(env, name+"="+v)
	}
	return env, nil
}

// notFound gives the error of a start its code. One that came too late has none.
func notFound(name string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if errors.Is(err, exec.ErrNotFound) {
		return contract.Errorf(contract.Shell, "the image has no program %q", name).
			WithHint("do without it; whoever keeps the image can add it")
	}
	return contract.Errorf(contract.Shell, "start %q: %v", name, err)
}
