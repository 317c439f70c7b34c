// Package packages recognises the installation of software packages: in an
// argument vector, in a string of code, and as an instruction in prose. A run
// must be reproducible from its image and its inputs, and code that nobody
// approved must not arrive on the way.
package packages

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// verbs lists, for each package manager, the subcommands that bring software
// in. "*" means that any invocation does, "" that one without subcommand does.
var verbs = map[string]string{
	"pip": "install download wheel", "pipx": "install run inject upgrade upgrade-all runpip install-all", "easy_install": "*",
	"uv":     "pip/install pip/sync add sync tool/install tool/run self/update run/--with",
	"uvx":    "*",
	"poetry": "install add update self/add self/update", "pdm": "install add update sync", "pipenv": "install sync update upgrade",
	"hatch": "env/create", "pixi": "add install global/install", "rye": "add sync install",
	"conda": "install create update upgrade env/create env/update", "mamba": "install create update upgrade env/create", "micromamba": "install create update upgrade env/create",
	"npm": "install i in ins inst add ci install-test it install-ci-test cit update up upgrade exec x init link isntall create", "npx": "*", "pnpx": "*",
	"yarn": "add install dlx upgrade up global/add create ", "pnpm": "add install i ci install-test it dlx update up upgrade create init exec", "bun": "add install i x update create", "bunx": "*",
	"corepack": "enable install prepare use up", "bower": "install update", "jspm": "install", "deno": "install add",
	"gem": "install i update fetch", "bundle": "install update add ", "bundler": "install update add ",
	"cargo": "install binstall add update", "rustup": "install update toolchain/install component/add target/add default",
	"go":  "install get mod/download mod/tidy mod/vendor work/sync",
	"apt": "install update upgrade full-upgrade dist-upgrade build-dep source download reinstall add-repository", "apt-get": "install update upgrade dist-upgrade build-dep source download reinstall",
	"aptitude": "install update upgrade full-upgrade safe-upgrade dist-upgrade build-dep source download reinstall", "add-apt-repository": "*", "gdebi": "*",
	"dpkg": "-i --install --unpack", "rpm": "-i -U -F --install --upgrade -ivh -Uvh -Fvh --import",
	"yum": "install localinstall update upgrade groupinstall reinstall install-y", "dnf": "install localinstall update upgrade groupinstall reinstall builddep", "microdnf": "install update upgrade", "tdnf": "install update upgrade",
	"zypper": "install in update up dist-upgrade dup addrepo ar", "apk": "add upgrade update fetch", "pacman": "-S -Sy -Syu -Syyu -U --sync --upgrade", "yay": "*", "paru": "*",
	"emerge": "*", "xbps-install": "*", "opkg": "install update upgrade", "ipkg": "install", "pkg": "install add update upgrade", "pkg_add": "*", "pkgin": "install",
	"brew": "install reinstall upgrade update tap bundle cask", "port": "install upgrade", "snap": "install refresh", "flatpak": "install update remote-add",
	"nix": "profile/install shell run develop build", "nix-env": "-i -iA --install -u", "nix-shell": "*", "guix": "install package pull shell",
	"cpan": "*", "cpanm": "*", "cpanp": "*", "cpm": "install", "cpanplus": "*", "luarocks": "install build make download",
	"composer": "require install update create-project global", "pecl": "install upgrade", "pear": "install upgrade", "phive": "install",
	"cabal": "install update get", "stack": "install setup upgrade", "ghcup": "install", "opam": "install init update upgrade", "raco": "pkg/install", "mix": "deps.get archive.install local.hex",
	"rebar3": "get-deps", "nuget": "install restore", "dotnet": "restore tool/install add/package workload/install", "vcpkg": "install", "conan": "install",
	"choco": "install upgrade", "winget": "install upgrade", "scoop": "install update", "asdf": "install plugin/add", "mise": "install use", "nvm": "install", "fnm": "install", "pyenv": "install", "rbenv": "install", "rvm": "install get", "sdk": "install", "volta": "install", "n": "latest lts",
	"tlmgr": "install update", "julia-pkg": "add", "helm": "install upgrade plugin/install repo/add pull", "krew": "install", "pub": "get add global/activate", "spago": "install", "nimble": "install", "shards": "install", "dart": "pub/add pub/get pub/global pub/upgrade", "flutter": "pub/add pub/get pub/upgrade", "swupd": "bundle-add update", "mvn": "install dependency:get dependency:resolve dependency:copy-dependencies deploy", "mvnw": "install", "docker-php-ext-install": "*", "docker-php-ext-enable": "*", "gh": "extension/install extension/upgrade", "az": "extension/add extension/update upgrade", "gcloud": "components/install components/update", "terraform": "init get providers/install", "tofu": "init get", "basher": "install", "basherpm": "install", "fisher": "install update", "zplug": "install", "antigen": "bundle", "code": "--install-extension", "codium": "--install-extension", "jupyter": "labextension/install nbextension/install", "spack": "install", "ghup": "install", "aqua": "install", "eopkg": "install", "slackpkg": "install", "sbopkg": "*", "tazpkg": "install get-install", "urpmi": "*", "guix-install": "*", "meteor": "add npm/install", "ember": "install", "ionic": "cordova/plugin", "cordova": "plugin/add", "expo": "install", "ng": "add", "vue": "add", "bit": "install", "rush": "install update add", "lerna": "bootstrap add", "nx": "add", "dub": "fetch", "quicklisp": "*", "sdkmanager": "*", "playwright": "install install-deps", "ansible-galaxy": "install collection/install role/install", "cpanminus": "*", "swift": "package/resolve package/update", "carthage": "update bootstrap", "clj": "-P", "clojure": "-P", "lein": "deps", "sbt": "update", "gradle": "--refresh-dependencies", "gradlew": "--refresh-dependencies", "bazel": "fetch sync", "buf": "dep/update mod/update", "terragrunt": "init get", "pulumi": "plugin/install install", "alr": "get with", "micropip": "install", "zef": "install", "haxelib": "install git", "elm": "install", "pod": "install update", "mint": "install", "coursier": "install fetch", "cs": "install fetch", "tfenv": "install", "fpm": "install", "carton": "install", "ppm": "install",
}

var table = func() map[string][]string {
	m := map[string][]string{}
	for name, list := range verbs {
		vs := strings.Fields(list)
		if strings.HasSuffix(list, " ") {
			vs = append(vs, "")
		}
		m[name] = vs
	}
	return m
}()

var version = regexp.MustCompile(`^(pip|easy_install|gem|npm|cpan|bundle|bundler|conda|pipx)-?[0-9][0-9.]*$`)

// manager is the canonical name of the program that a word names.
func manager(word string) string {
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(word, `\`, "/")), ".exe")
	name = strings.TrimSuffix(name, ".cmd")
	if end := name[max(len(name)-1, 0):]; end >= "0" && end <= "9" || end == "." {
		if m := version.FindStringSubmatch(name); m != nil {
			return m[1]
		}
	}
	return name
}

// optionsWithValue are options of package managers before the subcommand whose
// value is a word of its own.
var optionsWithValue = []string{"-C", "--cwd", "--prefix", "--dir", "-o", "--option", "-c", "--config", "--python", "-p", "--project", "--root", "--directory", "--cache-dir", "-n", "--name", "--log", "--proxy", "--userconfig", "-F", "--filter", "-t", "--installroot", "--releasever", "-f"}

// InArgv says whether argv, whose first word is the program, installs packages,
// and which words say so.
func InArgv(argv []string) (what string, ok bool) {
	if len(argv) == 0 {
		return "", false
	}
	name := manager(argv[0])
	if vs, known := table[name]; known {
		return installs(name, vs, argv[1:])
	}
	switch {
	case strings.HasPrefix(name, "python") || strings.HasPrefix(name, "pypy") || name == "py":
		return pythonModule(argv)
	case name == "R" && len(argv) > 2 && argv[1] == "CMD" && argv[2] == "INSTALL":
		return "R CMD INSTALL", true
	case name == "perl":
		for _, a := range argv[1:] {
			if strings.HasPrefix(a, "-MCPAN") {
				return "perl -MCPAN", true
			}
		}
	case name == "duckdb":
		for _, a := range argv[1:] {
			if extension.MatchString(a) {
				return "duckdb INSTALL", true
			}
		}
	case name == "setup.py" && len(argv) > 1 && (argv[1] == "install" || argv[1] == "develop"):
		return "setup.py " + argv[1], true
	case name == "busybox" || name == "sudo" || name == "doas":
		return InArgv(argv[1:])
	case len(argv) > 2 && argv[1] == "install" && !copies[name] && !strings.Contains(name, "."):
		return name + " install", true // a manager that is not in the table
	}
	return "", false
}

// extension is how duckdb is told to fetch one.
var extension = regexp.MustCompile(`(?i)(?:^|;)\s*(?:force\s+)?install\s+['"\w]`)

// copies are programs with an argument "install" that install no packages.
var copies = map[string]bool{"make": true, "gmake": true, "ninja": true, "cmake": true, "meson": true, "echo": true, "printf": true, "grep": true, "egrep": true, "rg": true, "man": true, "git": true, "python": true, "python3": true, "node": true, "ruby": true, "perl": true, "php": true, "Rscript": true, "java": true, "cat": true, "awk": true, "sed": true, "ls": true, "cp": true, "jq": true, "test": true, "expr": true, "lua": true, "env": true, "time": true, "tr": true, "apropos": true, "whatis": true, "touch": true, "mkdir": true, "rm": true, "mv": true, "wc": true, "head": true, "tail": true, "sort": true, "diff": true, "file": true, "stat": true, "find": true, "basename": true, "dirname": true, "tee": true, "xargs": true, "timeout": true, "nice": true}

func installs(name string, vs []string, args []string) (string, bool) {
	if slices.Contains(vs, "*") {
		if onlyAsks(args) {
			return "", false
		}
		return name, true
	}
	what, ok := verbOf(name, vs, args, true)
	if !ok { // an option that takes a value with one program is a switch with another
		what, ok = verbOf(name, vs, args, false)
	}
	return what, ok
}

// verbOf looks for a verb among args; valued says that options have values.
func verbOf(name string, vs []string, args []string, valued bool) (string, bool) {
	var words []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case strings.HasPrefix(a, "-"):
			for _, v := range vs {
				if strings.HasPrefix(v, "-") && (a == v || strings.HasPrefix(a, v+"=") || len(v) == 2 && len(a) > 2 && a[1] != '-' && strings.HasPrefix(a, v)) {
					return name + " " + a, true
				}
			}
			if valued && slices.Contains(optionsWithValue, a) {
				i++
			}
		default:
			words = append(words, a)
		}
	}
	if len(words) == 0 {
		if slices.Contains(vs, "") && !onlyAsks(args) {
			return name, true
		}
		return "", false
	}
	for _, v := range vs {
		first, second, pair := strings.Cut(v, "/")
		if v == "" || words[0] != first {
			continue
		}
		if !pair || len(words) > 1 && words[1] == second {
			return name + " " + strings.ReplaceAll(v, "/", " "), true
		}
	}
	return "", false
}

// onlyAsks says whether a program was only asked for its version or help.
func onlyAsks(args []string) bool {
	return len(args) == 1 && slices.Contains([]string{"--version", "-v", "-V", "--help", "-h", "version", "help"}, args[0])
}

func pythonModule(argv []string) (string, bool) {
	for i := 1; i < len(argv); i++ {
		a := argv[i]
		switch {
		case a == "-m" && i+1 < len(argv), strings.HasPrefix(a, "-m") && len(a) > 2:
			module, rest := strings.TrimPrefix(a, "-m"), argv[i+1:]
			if module == "" {
				module, rest = argv[i+1], argv[i+2:]
			}
			if module == "ensurepip" || module == "get_pip" {
				return "python -m " + module, true
			}
			if vs, known := table[strings.TrimSuffix(module, ".__main__")]; known {
				what, ok := installs(strings.TrimSuffix(module, ".__main__"), vs, rest)
				return "python -m " + what, ok
			}
			return "", false
		case a == "-W" || a == "-X":
			i++
		case a == "-c":
			return "", false
		case !strings.HasPrefix(a, "-"):
			base := path.Base(a)
			if base == "setup.py" && slices.ContainsFunc(argv[i+1:], func(w string) bool { return w == "install" || w == "develop" }) {
				return "python setup.py install", true
			}
			return base, base == "get-pip.py" || base == "ez_setup.py"
		}
	}
	return "", false
}

// Known says whether name is a program of the table that installs packages.
func Known(name string) bool {
	_, known := verbs[name]
	return known || name == "python" || name == "setup.py" || version.MatchString(name)
}

// InWords looks for an installation at every word, for what is handed to
// something that runs it: a wrapper, a list in code.
func InWords(words []string) (what string, ok bool) {
	for i := range words {
		if what, ok := InArgv(words[i:]); ok {
			return what, true
		}
	}
	// [sys.executable, "-m", "pip", "install"]: the program is no literal.
	if len(words) > 1 && words[0] == "-m" {
		return pythonModule(append([]string{"python"}, words...))
	}
	return "", false
}
