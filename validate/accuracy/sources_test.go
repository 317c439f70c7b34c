//go:build real

package accuracy_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Where Debian puts documentation.
const (
	docDir  = "/usr/share/doc"
	manDir  = "/usr/share/man"
	infoDir = "/usr/share/info"
)

// managers are the manuals of what installs packages: they consist of commands.
const managers = `(?i)/(?:apt|aptitude|dpkg|deb-|deb822|debconf|dh_|npm|npx|package|yarn|pip|pipx|gem|bundle|cargo|cpan|corepack|sources\.list|update-alternatives|snap|dnf|yum|rpm|conda)[^/]*$`

var sources = []source{
	{"man", documentation, 900, false, pages(`/man\d/[^/]+\.gz$`, managers, manOf("")...)},
	{"info", documentation, 500, false, func(*finder) (out []candidate) {
		for _, p := range files(`\.gz$`, "", infoDir) {
			out = append(out, infoNodes(p)...)
		}
		return out
	}},
	{"changelog", documentation, 700, false, func(f *finder) []candidate {
		return asTheyAre(append(files(`(?i)/change(?:s|log)[^/]*(?:\.gz)?$`, "", docDir),
			files(`(?i)/(?:changelog|changes|history|releases)\.md$`, "", f.modules()...)...))
	}},
	{"README", documentation, 600, false, func(f *finder) []candidate {
		return asTheyAre(append(files(`(?i)/readme[^/]*$`, `\.Debian`, docDir),
			files(`(?i)/readme[^/]*$`, "", f.modules()...)...))
	}},
	{"other documentation", documentation, 600, false, func(f *finder) []candidate {
		return asTheyAre(append(files(`(?i)\.(?:txt|md|rst|adoc)(?:\.gz)?$|/(?:faq|todo|news|bugs|thanks|authors|install)(?:\.gz)?$`,
			`(?i)/(?:readme|change)|/python3-pip/`, docDir),
			files(`(?i)\.(?:md|txt)$`, `(?i)/(?:readme|change|testdata)`, f.modules()...)...))
	}},
	{"go doc", documentation, 350, false, goDocs},
	{"source comments", documentation, 700, false, func(f *finder) []candidate {
		return throughNamed(f.code(), comments)
	}},
	{"package metadata", documentation, 400, false, func(*finder) []candidate { return paragraphs("/var/lib/dpkg/status") }},
	{"licences", documentation, 150, false, func(*finder) []candidate { return asTheyAre(files(`/copyright$`, "", docDir)) }},

	{"manuals of package managers", manuals, 200, false, func(f *finder) []candidate {
		return append(pages(managers, "/"+`[a-z]{2}(?:_[A-Z]+)?/man\d/`, manDir)(f),
			asTheyAre(files(`/(?:npm|python3-pip|nodejs)/.*(?:npm|pip|package)[^/]*\.(?:md|rst)(?:\.gz)?$`, "", docDir))...)
	}},

	{"help", output, 800, false, helps},
	{"Go tests", output, 400, false, goTests},
	{"Python tests", output, 150, false, pyTests},
	{"builds", output, 500, false, builds},
	{"logs", output, 250, false, logs},
	{"listings", output, 600, false, listings},
	{"source code", output, 500, false, func(f *finder) []candidate { return asTheyAre(f.code()) }},
	{"data and settings", output, 400, false, func(f *finder) []candidate {
		return asTheyAre(append(files(`\.(?:json|ya?ml|toml|conf|ini|xml|golden|out)$`, "", f.modules()...),
			files(`\.(?:conf|cfg|json|list|rules|service|ya?ml|xml|desktop)$`, `(?i)secret|shadow|key|passw`, "/etc", "/usr/share/misc",
				"/usr/lib/systemd", "/usr/share/applications", "/usr/share/mime")...))
	}},

	{"mail-like", other, 250, false, func(f *finder) []candidate {
		mail := func(p string) bool { return bytes.Contains(readAny(p), []byte("\nSubject: ")) }
		paths := files(`/(?:NEWS|README)\.Debian(?:\.gz)?$`, "", docDir)
		for _, p := range files(`\.(?:txt|eml|mbox|msg|patch)$`, "", append(f.modules(), docDir, f.pythonLibrary())...) {
			if mail(p) {
				paths = append(paths, p)
			}
		}
		return asTheyAre(paths)
	}},
	{"tables", other, 250, false, func(f *finder) []candidate {
		return append(tables(f), asTheyAre(files(`\.(?:csv|tsv|tab|dat|tbl)$`, "", append(f.modules(), "/usr/share", f.pythonLibrary())...))...)
	}},
	{"manuals in other languages", other, 400, false, pages(`/man\d/[^/]+\.gz$`, `^/usr/share/man/man\d/|`+managers, manDir)},
	{"messages in other languages", other, 400, false, func(*finder) []candidate {
		return through(files(`/LC_MESSAGES/[^/]+\.mo$`, `/locale/en`, "/usr/share/locale"), catalogue)
	}},
}

// foldersEnv names folders of packages and repositories, as PATH does, beside those of packages that tests install.
const foldersEnv = "THREEGATE_HARMLESS_FOLDERS"

// folders are where the sources that are only counted look.
func (f *finder) folders() []string {
	return append(filepath.SplitList(os.Getenv(foldersEnv)), filepath.Join(f.root, "build/mcp/node_modules"),
		filepath.Join(f.root, "build/ast/node_modules"))
}

// counted makes a source that is only counted of the files below its folders whose path matches want.
func counted(name string, kind textKind, want string) source {
	return source{name, kind, 600, true, func(f *finder) []candidate {
		return asTheyAre(files(want, "", append(f.folders(), f.modules()...)...))
	}}
}

var countedSources = []source{
	{"npm READMEs", documentation, 600, true, func(f *finder) []candidate {
		return asTheyAre(files(`(?i)/node_modules/.*/readme[^/]*$`, "", f.folders()...))
	}},
	{"npm changelogs", documentation, 600, true, func(f *finder) []candidate {
		return asTheyAre(files(`(?i)/node_modules/.*/(?:change(?:s|log)|history|releases)[^/]*$`, `\.[cm]?[jt]s$`, f.folders()...))
	}},
	{"handbooks", documentation, 600, true, func(f *finder) []candidate {
		return asTheyAre(files(`(?i)/[^/]*(?:handbook|policy|reference)[^/]*/.*\.(?:html|md|txt(?:\.gz)?)$`, `/node_modules/`, f.folders()...))
	}},
	counted("forms", documentation, `/ISSUE_TEMPLATE/[^/]+$|(?i)/pull_request_template[^/]*$`),
	counted("CI files", output,
		`/\.github/[^/]+/[^/]+\.ya?ml$|/\.(?:travis|gitlab-ci|appveyor)\.yml$|/\.circleci/config\.yml$|/Jenkinsfile$`),
	counted("lock files", output, `/(?:package-lock\.json|pnpm-lock\.yaml|[\w-]+\.lock|go\.sum)$`),
	{"git logs", output, 600, true, func(f *finder) (out []candidate) {
		for _, dir := range f.folders() {
			for _, head := range files(`/HEAD$`, `/(?:logs|refs)/`, dir) {
				log := f.printed("git", "--git-dir", filepath.Dir(head), "log", "--stat", "-n", "2000")
				out = append(out, chunks(filepath.Dir(head), log, 150)...)
			}
		}
		return out
	}},
}

// manOf are the folders of the sections of a language's manual.
func manOf(language string) (out []string) {
	for _, n := range "12345678" {
		out = append(out, filepath.Join(manDir, language, "man"+string(n)))
	}
	return out
}

// modules are the folders that hold the source of Go's modules and of Go itself.
func (f *finder) modules() []string {
	out := strings.Fields(string(f.printed("go", "env", "GOMODCACHE", "GOROOT")))
	return append(out[:min(len(out), 1)], goSource(out)...)
}

func goSource(dirs []string) []string {
	if len(dirs) < 2 {
		return nil
	}
	return []string{filepath.Join(dirs[1], "src"), filepath.Join(dirs[1], "doc")}
}

// pythonLibrary is where Python's own library lies, or nowhere.
func (f *finder) pythonLibrary() string {
	if _, err := exec.LookPath("python3"); err != nil {
		return ""
	}
	return strings.TrimSpace(string(f.printed("python3", "-c", "import os; print(os.path.dirname(os.__file__))")))
}

// code are source files of several languages.
func (f *finder) code() []string {
	return files(`\.(?:go|py|pl|pm|sh|h|c|rb)$`, `/testdata/fuzz/|/__pycache__/`, append(f.modules(), "/usr/include",
		"/usr/lib/python3", "/usr/share/perl", f.pythonLibrary())...)
}
