package code

import (
	"regexp"
	"strings"

	"github.com/threegate/tool-exec/validate/document"
	"github.com/threegate/tool-exec/validate/packages"
)

// perlInstaller are modules of Perl that install others, also those that are missing.
var perlInstaller = regexp.MustCompile(`^CPAN$|^(?:CPANPLUS|App::(?:cpanminus|cpm)|Module::(?:AutoInstall|Install)|inc::Module::Install|lib::xi|CPAN::(?:Shell|Mini)|Carton)(?:::|$)`)

var rInstallers = words(`BiocManager pak renv remotes devtools pacman utils pkgman`)

// installModules are modules whose only use is to install packages.
var installModules = map[Language]map[string]bool{
	Python:     words(`pip ensurepip easy_install conda pipx piptools pipenv micropip piplite installer libmambapy poetry pdm juliapkg apt apt_pkg dnf pyalpm`),
	JavaScript: words(`npm live-plugin-manager npm-programmatic pacote npmi global-npm install-packages npm-install-package pnpm yarn corepack bower jspm @npmcli/arborist @pnpm/core @yarnpkg/core @yarnpkg/cli`),
	Ruby:       words(`rubygems/dependency_installer rubygems/gem_runner rubygems/command_manager bundler/cli bundler/installer bundler/inline`),
}

// packageAddress is where a package is fetched from.
var packageAddress = regexp.MustCompile(`^https?://\S+(?:\.(?:whl|egg|gem|deb|rpm|crate|nupkg)|/-/[\w.-]+\.tgz)(?:[?#]\S*)?$`)

// installerFiles are programs that install packages.
var installerFiles = words(`composer-setup.php composer.phar get-pip.py ez_setup.py`)

// isPackage says whether a literal is the address of a package, or names a file that
// installs some.
func isPackage(text string) bool {
	if strings.HasPrefix(text, "http") && packageAddress.MatchString(text) {
		return true
	}
	file := text[strings.LastIndexByte(text, '/')+1:]
	return installerFiles[file] || file == "Command.php" && strings.HasSuffix(text, "PEAR/Command.php") || strings.HasPrefix(text, "phar://") && strings.Contains(text, "composer.phar")
}

// fromNetwork are modules of JavaScript that are fetched before they are loaded.
var fromNetwork = regexp.MustCompile(`^(?:npm|jsr|https?):`)

// isInstaller says whether a module's only use is to install packages, or loading it
// installs one.
func isInstaller(lang Language, module string) bool {
	switch lang {
	case Python:
		module, _, _ = strings.Cut(module, ".")
	case JavaScript:
		if fromNetwork.MatchString(module) {
			return true
		}
		module = strings.TrimPrefix(module, "node:")
	case Ruby:
		if strings.HasPrefix(module, "rubygems/commands/install") {
			return true
		}
	case Lua:
		return strings.HasPrefix(module, "luarocks.")
	}
	return installModules[lang][module]
}

// installs looks for installations in one string; spoken says that the string is only
// shown or looked for.
func (c *checker) installs(src string, t Token, base int, spoken bool) {
	for _, s := range packages.InText(t.Text) {
		at, before := base+placeIn(src, t, s.Offset), t.Text[:s.Offset]
		switch {
		case aboutIt.MatchString(t.Text[s.End:]): // "pip install is a phrase"
		case !spoken && beginsCommand(before):
			c.install(at, s.Text)
		case len(c.mentioned) < MaxNotes:
			c.mentioned = append(c.mentioned, installNote(at, s.Text))
		}
	}
}

func (c *checker) install(offset int, what string) {
	n := installNote(offset, what)
	c.add(n.Rule, n.Severity, n.Offset, n.Message, n.Hint)
}

func installNote(offset int, what string) document.Note {
	return document.Note{Rule: "sec.packages", Offset: offset, Message: "the code installs packages: " + document.Quote(what), Hint: "remove it; ask for an image that holds the package already"}
}

// nameInstalls adds a finding about a name by which packages are installed, and says
// whether it is one.
func (c *checker) nameInstalls(ts []Token, i, at int, prev, prev2, next string) bool {
	name := ts[i].Text
	switch {
	case c.lang == Python && (prev == "import" || prev == "from" || prev == ",") && isInstaller(Python, name) && c.importsModule(ts, i):
		c.install(at, "import "+name)
	case c.lang == Python && name == "install" && prev == "." && (prev2 == "micropip" || prev2 == "piplite"):
		c.install(at, prev2+".install")
	case c.lang == Python && (name == "mark_install" || name == "mark_upgrade") && prev == ".": // of python-apt
		c.install(at, prev2+"."+name)
	case c.lang == Python && (name == "install_packages" && prev == "." || name == "script_args" && next == "=" && enclosing(ts, i) == "setup" || name == "load" && prev2 == "hub" && tokenText(ts, i-4) == "torch"): // of R, of setuptools
		c.install(at, name)
	case c.lang == Python && prev == "." && (name == "download" && (prev2 == "cli" && tokenText(ts, i-4) == "spacy" || prev2 == "spacy" || prev2 == "nltk") || name == "loadPackage"): // models are packages
		c.install(at, prev2+"."+name)
	case c.lang == Perl && (prev == "use" || prev == "require") && perlInstaller.MatchString(qualified(ts, i)), c.lang == Perl && name == "CPAN" && (next == "->" || next == "-"):
		c.install(at, prev+" "+name)
	case c.lang == R && (name == "install" || name == "update" || name == "download") && next == "." && tokenText(ts, i+2) == "packages":
		c.install(at, name+".packages")
	case c.lang == R && next == "(" && (strings.HasPrefix(name, "install_") || strings.HasSuffix(name, "_install") || strings.HasPrefix(name, "p_load") || name == "biocLite" || prev2 == "librarian" && name == "shelf"):
		c.install(at, name)
	case c.lang == Python && (name == "getusersitepackages" || name == "getsitepackages") && enclosing(ts, i) == "extractall":
		c.install(at, "extractall("+name+")")
	case c.lang == Python && (name == "easy_install" || name == "with_pip") && (prev == "import" || next == "import" || next == "." || next == "="):
		c.install(at, name)
	case c.lang == Ruby && (name == "DependencyInstaller" || name == "InstallCommand" || name == "RequestSet") && prev == "::":
		c.install(at, prev2+prev+name)
	case c.lang == PHP && (name == "Console" || name == "Installer" || name == "Factory" || name == "Command") && prev == `\` && prev2 == "Composer" && !(tokenText(ts, i-3) == `\` && i > 3 && ts[i-4].Kind == Name):
		c.install(at, `Composer\`+name)
	case c.lang == R && prev == "::" && (strings.HasPrefix(name, "install") || name == "pak" || name == "pkg_install" || name == "restore" || name == "p_load" || name == "p_install") && rInstallers[prev2]:
		c.install(at, prev2+"::"+name)
	case c.lang == Ruby && (name == "install" && prev == "." && prev2 == "Gem" || (name == "CLI" || name == "Installer") && prev == "::" && prev2 == "Bundler" || name == "extract_files" && prev == "."):
		c.install(at, prev2+prev+name)
	case name == "add" && prev == "." && prev2 == "Pkg": // Julia
		c.install(at, "Pkg.add")
	default:
		return false
	}
	return true
}
