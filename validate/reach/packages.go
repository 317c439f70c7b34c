package reach

import (
	_ "embed"
	"path"
	"regexp"
	"slices"
	"strings"
)

//go:embed managers.txt
var managersText string

// managers are the package managers of managers.txt with their subcommands.
var managers = func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(managersText) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] != "#" {
			out[fields[0]] = fields[1:]
		}
	}
	return out
}()

// What stands for any subcommand, and for none.
const (
	anyVerb = "*"
	noVerb  = "-"
)

var version = regexp.MustCompile(`^(pip|easy_install|gem|npm|cpan|bundle|bundler|conda|pipx)-?[0-9][0-9.]*$`)

// manager is the canonical name of the program that a word names.
func manager(word string) string {
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(word, `\`, "/")), ".exe")
	if m := version.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return name
}

// optionsWithValue are options of package managers before the subcommand whose
// value is a word of its own.
var optionsWithValue = strings.Fields(`-C --cwd --prefix --dir -o --option -c --config --python -p --project --root
	--directory --cache-dir -n --name --log --proxy --userconfig -F --filter -t --installroot --releasever -f`)

// Installs says whether argv, whose first word is the program, installs packages,
// and which words say so.
func Installs(argv []string) (what string, ok bool) {
	if len(argv) == 0 {
		return "", false
	}
	name, args := manager(argv[0]), argv[1:]
	if verbs, known := managers[name]; known {
		return verbInstalls(name, verbs, args)
	}
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	switch {
	case name == "R" && first == "CMD" && len(args) > 1 && args[1] == "INSTALL":
		return "R CMD INSTALL", true
	case name == "setup.py" && (first == "install" || first == "develop"):
		return "python setup.py " + first, true
	case name == "get-pip.py" || name == "ez_setup.py":
		return name, true
	case name == "busybox" || name == "sudo" || name == "doas":
		return Installs(args)
	}
	return "", false
}

// otherBeginning matches the first words of commands that install, but for managers.
var otherBeginning = regexp.MustCompile(`^(?:py|perl$|R$|Pkg\.|get-pip|setup\.py)|install|::`)

// BeginsInstall says whether a text begins like a command that may install something.
func BeginsInstall(text string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "sudo "), " ")
	name := manager(first)
	return managers[name] != nil || otherBeginning.MatchString(name)
}

func verbInstalls(name string, verbs, args []string) (string, bool) {
	if onlyAsks(args) {
		return "", false
	}
	if slices.Contains(verbs, anyVerb) {
		return name, true
	}
	what, ok := verbOf(name, verbs, args, true)
	if !ok { // an option that takes a value with one program is a switch with another
		what, ok = verbOf(name, verbs, args, false)
	}
	return what, ok
}

// verbOf looks for a verb among args; valued says that options have values.
func verbOf(name string, verbs, args []string, valued bool) (string, bool) {
	var words []string
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case !strings.HasPrefix(a, "-"):
			words = append(words, a)
		case slices.ContainsFunc(verbs, func(v string) bool { return isOption(a, v) }):
			return name + " " + a, true
		case valued && slices.Contains(optionsWithValue, a):
			i++
		}
	}
	if len(words) == 0 {
		return name, slices.Contains(verbs, noVerb)
	}
	for _, v := range verbs {
		first, second, pair := strings.Cut(v, "/")
		if words[0] == first && (!pair || len(words) > 1 && words[1] == second) {
			return name + " " + strings.ReplaceAll(v, "/", " "), true
		}
	}
	return "", false
}

// isOption says whether arg is the option, with its value or more letters behind.
func isOption(arg, option string) bool {
	if len(option) < 2 || option[0] != '-' {
		return false
	}
	return arg == option || strings.HasPrefix(arg, option+"=") ||
		len(option) == 2 && strings.HasPrefix(arg, option)
}

// onlyAsks says whether a program was only asked for its version or help.
func onlyAsks(args []string) bool {
	asks := []string{"--version", "-v", "-V", "--help", "-h", "version", "help"}
	return len(args) == 1 && slices.Contains(asks, args[0])
}

// InstallsModule says whether a module of Python installs packages when it is run with
// arguments, which stand behind its name: "python -m pip install".
func InstallsModule(argv []string) (what string, ok bool) {
	name, _, _ := strings.Cut(argv[0], ".") // pip.__main__
	verbs, known := managers["-m:"+name]
	if !known {
		verbs, known = managers[name]
	}
	if !known {
		return "", false
	}
	what, ok = verbInstalls(name, verbs, argv[1:])
	return "python -m " + what, ok
}
