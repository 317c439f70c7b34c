// Package registry reads the registry of a session: which hosts, commands and git operations
// are allowed, and which rules hold (section 4 of the Tool Runtime specification). It is
// strict: an unknown key, a key given twice or a wrong value is an error.
package registry

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"go.yaml.in/yaml/v4"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

// MaxSize bounds a registry file, in bytes.
const MaxSize = 256 << 10

// Level is how a rule is enforced.
type Level string

// The levels of section 7.
const (
	Blocking   Level = "blocking"
	Warning    Level = "warning"
	Suggestion Level = "suggestion"
)

// levels are all, from the lowest.
var levels = []Level{Suggestion, Warning, Blocking}

// Registry is the whole file.
type Registry struct {
	Version int `yaml:"version"`
	Network struct {
		AllowedDomains []string `yaml:"allowed_domains"`
	} `yaml:"network"`
	// ShellAllow are regular expressions (RE2); shell_exec runs a command that one of them matches.
	ShellAllow []string `yaml:"shell_allow"`
	Git        Git      `yaml:"git"`
	AST        AST      `yaml:"ast"`
	// Validators are the rules that hold. The rules sec.* hold whether they are listed or not.
	Validators []Validator `yaml:"validators"`

	// Secrets is the host's finder of secrets, for secrets.scan and proc_list; no file names it. Without one that rule
	// is an error, and proc_list shows the names of programs only.
	Secrets contract.SecretFinder `yaml:"-"`

	shell []*regexp.Regexp
}

// Git says what git tools may do.
type Git struct {
	AllowPush bool `yaml:"allow_push"`
	// RequireCleanTreeForCommit is true if it is not said.
	RequireCleanTreeForCommit bool `yaml:"require_clean_tree_for_commit"`
	// ProtectedBranches are glob patterns of the branches that code.todo.blockers is for: all, if it is not said.
	ProtectedBranches []string `yaml:"protected_branches"`
}

// TodoRule is the rule of protected branches.
const TodoRule = "code.todo.blockers"

// Protects says whether a branch is protected. An empty name is none that is known, and is.
func (g Git) Protects(branch string) bool {
	return g.ProtectedBranches == nil || branch == "" || slices.ContainsFunc(g.ProtectedBranches, func(p string) bool {
		return doublestar.MatchUnvalidated(p, branch)
	})
}

// check judges the patterns.
func (g Git) check() error {
	if g.ProtectedBranches != nil && len(g.ProtectedBranches) == 0 {
		return fmt.Errorf("registry: git.protected_branches names none: leave %s out of validators instead", TodoRule)
	}
	for _, p := range g.ProtectedBranches {
		if !isGlob(p) {
			return fmt.Errorf("registry: git.protected_branches: %q is not a pattern such as main or release/*", p)
		}
	}
	return nil
}

// isGlob says whether a text is a pattern that is soon compared.
func isGlob(p string) bool {
	return p != "" && strings.Count(p, "*") <= 8 && strings.Count(p, "{") <= 4 && doublestar.ValidatePattern(p)
}

// AST says how code is looked at.
type AST struct {
	// Language is that of ast_* calls which name none.
	Language       string `yaml:"language"`
	FormatOnSave   bool   `yaml:"format_on_save"`
	ValidateOnEdit bool   `yaml:"validate_on_edit"`
	// Imports say which files may import what, for code.mod.import.rules. The specification has no place for them.
	Imports []Imports `yaml:"imports"`
	// Servers are the language servers that ast_edit and ast_external may start, by name. None is there without it.
	Servers map[string]Server `yaml:"servers"`
}

// Server is a language server. Of a known one nothing has to be said.
type Server struct {
	// Command is a program of the image and its words.
	Command   string   `yaml:"command"`
	Languages []string `yaml:"languages"`
}

// Imports binds files: what they import must not match a pattern of Deny, unless it matches one of Allow. Without Deny
// it must match one of Allow.
type Imports struct {
	// Files is a glob pattern of paths.
	Files string `yaml:"files"`
	// Deny and Allow are glob patterns of names as the code has them.
	Deny  []string `yaml:"deny"`
	Allow []string `yaml:"allow"`
}

// Allows says whether a file may import what has these names.
func (a AST) Allows(file string, names ...string) bool {
	matches := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			return slices.ContainsFunc(names, func(n string) bool { return doublestar.MatchUnvalidated(p, n) })
		})
	}
	return !slices.ContainsFunc(a.Imports, func(i Imports) bool {
		return doublestar.MatchUnvalidated(i.Files, file) && !matches(i.Allow) && (len(i.Deny) == 0 || matches(i.Deny))
	})
}

// check judges the patterns.
func (a AST) check() error {
	for _, i := range a.Imports {
		if len(i.Deny)+len(i.Allow) == 0 {
			return fmt.Errorf("registry: ast.imports: %q has neither deny nor allow", i.Files)
		}
		for _, p := range slices.Concat([]string{i.Files}, i.Deny, i.Allow) {
			if !isGlob(p) {
				return fmt.Errorf("registry: ast.imports: %q is no pattern: use * within a name, ** across folders", p)
			}
		}
	}
	return nil
}

// Validator is one rule and its level.
type Validator struct {
	Rule        string `yaml:"rule"`
	Enforcement Level  `yaml:"enforcement"`
	// Run are the command lines of a rule *.must.pass. Without them, they are those of ast.language.
	Run []string `yaml:"run"`
}

// Default is the registry of a session without a file: no network, no command, no push, no commit of a part.
func Default() *Registry {
	return &Registry{Version: 1, Git: Git{RequireCleanTreeForCommit: true}}
}

// regexEscape is a backslash in a double-quoted pattern that YAML does not know. The
// specification's own example writes "^cargo(\s|$)".
var regexEscape = regexp.MustCompile(`\\([sSdDwWB.()\[\]{}+*?|^$-])`)

var quotedItem = regexp.MustCompile(`(?m)^\s*-\s*"[^"\n]*"\s*(#.*)?$`)

// Parse reads a registry.
func Parse(raw []byte) (*Registry, error) {
	if len(raw) > MaxSize {
		return nil, fmt.Errorf("the registry has more than %d bytes", MaxSize)
	}
	raw = quotedItem.ReplaceAllFunc(raw, func(item []byte) []byte {
		return regexEscape.ReplaceAll(item, []byte(`\\$1`))
	})
	r := Default()
	r.Version = 0
	if err := yaml.Load(raw, r, yaml.WithKnownFields(), yaml.WithUniqueKeys()); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	if r.Version != 1 {
		return nil, fmt.Errorf("registry: version must be 1, not %d", r.Version)
	}
	for _, d := range r.Network.AllowedDomains {
		if !domain.MatchString(d) {
			return nil, fmt.Errorf("registry: network.allowed_domains: %q is no domain name", d)
		}
	}
	for _, p := range r.ShellAllow {
		re, err := regexp.Compile(p)
		if err == nil && strings.ContainsFunc(p, func(c rune) bool { return c < ' ' }) {
			err = fmt.Errorf(`it holds a control character: write it in single quotes, where \b is two characters`)
		}
		if err != nil {
			return nil, fmt.Errorf("registry: shell_allow: %q: %w", p, err)
		}
		r.shell = append(r.shell, re)
	}
	return r, errors.Join(r.Git.check(), r.AST.check(), checkValidators(r.Validators), r.checkCommands())
}

// PackFile is the name of a rule pack, beside a registry.
const PackFile = "rules.yaml"

// Raise adds a rule pack: a file with validators alone, each a rule and its level. It can only raise: a rule that the
// registry lists keeps the higher level, and its commands.
func (r *Registry) Raise(raw []byte) error {
	if len(raw) > MaxSize {
		return fmt.Errorf("the rule pack has more than %d bytes", MaxSize)
	}
	var pack struct {
		Validators []Validator `yaml:"validators"`
	}
	if err := yaml.Load(raw, &pack, yaml.WithKnownFields(), yaml.WithUniqueKeys()); err != nil {
		return fmt.Errorf("rule pack: %w", err)
	}
	if err := checkValidators(pack.Validators); err != nil {
		return fmt.Errorf("rule pack: %w", err)
	}
	for _, v := range pack.Validators {
		if len(v.Run) > 0 {
			return fmt.Errorf("rule pack: %s: run belongs to the registry", v.Rule)
		}
		i := slices.IndexFunc(r.Validators, func(is Validator) bool { return is.Rule == v.Rule })
		if i < 0 {
			r.Validators = append(r.Validators, v)
		} else if slices.Index(levels, v.Enforcement) > slices.Index(levels, r.Validators[i].Enforcement) {
			r.Validators[i].Enforcement = v.Enforcement
		}
	}
	return r.checkCommands()
}

// On is the registry as it holds on a branch: one that is not protected may have open tasks.
func (r *Registry) On(branch string) *Registry {
	if r.Git.Protects(branch) {
		return r
	}
	other := *r
	other.Validators = slices.DeleteFunc(slices.Clone(r.Validators), func(v Validator) bool {
		return v.Rule == TodoRule
	})
	return &other
}

var domain = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func checkValidators(all []Validator) error {
	seen := map[string]bool{}
	for _, v := range all {
		switch {
		case !slices.ContainsFunc(Rules, func(r Rule) bool { return r.ID == v.Rule }):
			return fmt.Errorf("registry: validators: there is no rule %q", v.Rule)
		case seen[v.Rule]:
			return fmt.Errorf("registry: validators: %s is listed twice", v.Rule)
		case !slices.Contains(levels, v.Enforcement):
			return fmt.Errorf("registry: validators: %s: enforcement is blocking, warning or suggestion", v.Rule)
		case strings.HasPrefix(v.Rule, "sec.") && v.Enforcement != Blocking:
			return fmt.Errorf("registry: validators: %s is always blocking", v.Rule)
		case len(v.Run) > 0 && !strings.HasSuffix(v.Rule, mustPass):
			return fmt.Errorf("registry: validators: %s runs no command", v.Rule)
		}
		seen[v.Rule] = true
	}
	return nil
}

// Level is how a rule is to be enforced: always for sec.*, else as the validators say. It is empty if they do not.
func (r *Registry) Level(rule string) Level {
	if strings.HasPrefix(rule, "sec.") {
		return Blocking
	}
	for _, v := range r.Validators {
		if v.Rule == rule {
			return v.Enforcement
		}
	}
	return ""
}

// Held are the rules of the catalogue that can says yes to and that are to be enforced.
func (r *Registry) Held(can func(rule string) bool) (ids []string) {
	for _, rule := range Rules {
		if can(rule.ID) && r.Level(rule.ID) != "" {
			ids = append(ids, rule.ID)
		}
	}
	return ids
}

// Commands are the command lines that a validator names for a rule.
func (r *Registry) Commands(rule string) []string {
	for _, v := range r.Validators {
		if v.Rule == rule {
			return v.Run
		}
	}
	return nil
}

// AllowsCommand says whether a pattern of shell_allow matches a command line.
func (r *Registry) AllowsCommand(cmd string) bool {
	return slices.ContainsFunc(r.shell, func(re *regexp.Regexp) bool { return re.MatchString(cmd) })
}

// AllowsHost says whether a host is one of network.allowed_domains. Hosts below one are not.
func (r *Registry) AllowsHost(host string) bool {
	return slices.Contains(r.Network.AllowedDomains, strings.ToLower(host))
}
