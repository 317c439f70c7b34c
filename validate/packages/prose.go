package packages

import (
	"regexp"
	"strings"
)

// A manager followed by its verb, as it is written in a sentence or a string.
var commandRe = regexp.MustCompile(`(?i)(?:^|[^\w./-])(` +
	`(?:(?:python[0-9.]*|py)\s+-m\s+)?pip[0-9.]*\s+(?:-{1,2}[\w=-]+\s+)*(?:install|download)\b|` +
	`(?:apt|apt-get|aptitude)\s+(?:-{1,2}[\w=-]+\s+)*(?:install|update|upgrade|build-dep)\b|` +
	`(?:yum|dnf|microdnf|zypper|brew|conda|mamba|micromamba|gem|bundle|cargo|luarocks|snap|flatpak|choco|winget|scoop|opam|cabal|pecl|pear|vcpkg|conan|opkg|pipx|pipenv|poetry|pdm|npm|pnpm|yarn|bun|bower|port|pkg|tlmgr|nuget|helm|nimble)\s+(?:-{1,2}[\w=-]+\s+)*(?:install|localinstall|groupinstall)\b|` +
	`apk\s+(?:-{1,2}[\w=-]+\s+)*add\s+\S|pacman\s+-S\w*\s|dpkg\s+(?:-i|--install)\b|rpm\s+-[iUF]\w*\s|emerge\s+-|` +
	`(?:npm|pnpm)\s+(?:i|ci|add|exec)\b|yarn\s+(?:add|dlx)\b|bun\s+add\b|(?:poetry|pdm|uv|cargo)\s+add\b|uv\s+(?:pip\s+(?:install|sync)|sync|tool\s+install)\b|npx\s+(?:-{1,2}\w+\s+)*[@\w-]|uvx\s+\S|` +
	`go\s+(?:install|get)\s+\S*[./@]|cpanm?\s+(?:-{1,2}\w+\s+)*(?:install\s+)?[A-Z]\w*(?:::\w+)*|perl\s+-MCPAN\b|composer\s+(?:require|install)\b|conda\s+create\b|nix-env\s+-i|mix\s+deps\.get|dotnet\s+(?:tool\s+install|add\s+package|restore)\b|rustup\s+(?:install|toolchain|component)\b|` +
	`install\.packages\s*\(|pak::pkg_install|remotes::install_\w+|devtools::install_\w+|BiocManager::install|pak::pak|renv::(?:restore|install)|Gem\.install|Pkg\.(?:add|develop|instantiate)\s*\(|R\s+CMD\s+INSTALL\b|` +
	`python[0-9.]*\s+(?:\S*/)?setup\.py\s+(?:install|develop)\b|python[0-9.]*\s+-m\s+(?:ensurepip|easy_install)\b|easy_install\s+\w|get-pip\.py\b)`)

// Case matters for words that are English in lower case.
var caseSensitive = regexp.MustCompile(`^(?i:cpanm?)\s+[A-Z]|^R\s+CMD`)

// An instruction in English: a verb in a form that asks, then what is asked for.
var (
	installWord = regexp.MustCompile(`(?i)\b(install|installing|installs|reinstall|pip-install|set up|download and run|add|pull in|fetch)\b`)
	packageWord = regexp.MustCompile(`(?i)\b(packages?|librar(?:y|ies)|modules?|dependenc(?:y|ies)|gems?|crates?|wheels?|rpms?|debs?|requirements(?:\.txt)?|via pip|with pip|using pip|from pypi|from npm|with npm|via npm|with apt|via apt|using apt|with conda|via conda|from conda-forge|from cran|from cpan|with brew|with gem|with cargo)\b`)
	// Names that need no word like "package" beside them.
	wellKnown = regexp.MustCompile(`(?i)\b(?:numpy|pandas|polars|scipy|requests|httpx|aiohttp|matplotlib|seaborn|scikit-learn|sklearn|pytorch|torch|tensorflow|keras|transformers|flask|django|fastapi|beautifulsoup4?|bs4|openpyxl|pillow|opencv|lxml|sqlalchemy|psycopg2?|boto3|pyyaml|pytest|lodash|express|axios|react|typescript|nokogiri|rails|rspec|ggplot2|dplyr|tidyverse|jq|curl|wget|git|ffmpeg|imagemagick|graphviz|nodejs|node\.js|gcc|build-essential|postgresql|sqlite3?|redis|docker)\b`)
	// What must be there first has to be installed by somebody.
	mustBe = regexp.MustCompile(`(?i)\b(?:must|should|needs?|has to|have to|requires?|ensure|make sure|verify)\b[^.;]{0,60}\b(?:be(?:en)?|is|are|gets?)\s+installed\b`)
	// "installed via pip", and orders in other languages.
	foreignOrder = regexp.MustCompile(`(?i)\b(?:installiere[n]?|installier(?:t|en sie)|instal(?:a|e|ar|lez|ler|la|lare|leer|ler)|zainstaluj|установи\w*|instalează|asenna)\b[^.;]{0,60}\b(?:pa(?:ket|quet|quete|cote|cchetto|kke)\w*|pip|npm|conda|apt|bibliothe\w*|librer[ií]a|biblioteca|module?)\b|\b(?:paket\w*|paquet\w*|pacote\w*|pip|npm|apt)\b[^.;]{0,40}\b(?:installieren|zu installieren|installer)\b|(?:安装|インストール|설치|установи)\S{0,20}`)
	viaManager   = regexp.MustCompile(`(?i)\b(?:ensure|make sure|verify|check|have|get)\b[^.;]{0,80}\binstalled\s+(?:via|with|by|using|from|through)\s+(?:pip3?|npm|apt(?:-get)?|conda|yarn|gem|cargo|brew|cpanm?|pypi)\b`)
	byTool       = regexp.MustCompile(`(?i)\b(?:use|using|with|via|through)\s+(?:pip3?|npm|apt(?:-get)?|conda|yarn|gem|cargo|brew|cpanm?)\s+to\s+(?:get|install|add|fetch|download|pull)\b`)
	managerWord  = regexp.MustCompile(`(?i)\b(?:pip3?|pypi|npm|yarn|pnpm|apt(?:-get)?|conda|brew|homebrew|cpan|cran|rubygems|cargo|crates\.io|luarocks|packagist|conda-forge)\b`)
	// Forms that only report: "installed packages", "install dates of the package".
	reporting = regexp.MustCompile(`(?i)\b(?:installed|already|pre-?installed|preinstall|list(?:s|ing|ed)?|counts?|report(?:s|ing)?|summari[sz]es?|pars(?:e|es|ing)|analy[sz](?:e|es|ing)|extracts?|log|logs|column|field|history of|number of|which|statistics|install(?:ation)? (?:dates?|times?|counts?|events?|records?|status|figures|base|logs?))\b`)
	negation  = regexp.MustCompile(`(?i)(?:\b(?:no|not|never|none|nothing|without|cannot|neither|nor|doesn'?t|don'?t|won'?t|isn'?t|aren'?t|needn'?t|can'?t|avoid(?:s|ing)?|instead of|rather than|forbidden|refused|prohibited|unnecessary|free of)\b|n’t\b)`)
	sentence  = regexp.MustCompile(`[.!?;]+(?:\s+|$)|\n\s*\n|\n\s*[-*+]\s`)
)

// Span is a place in a text.
type Span struct {
	Offset, End int
	Text        string
}

// InText finds commands that install packages in a string of code. Negation
// does not matter there.
func InText(text string) []Span {
	if !mayInstall(text) {
		return nil
	}
	var out []Span
	for _, m := range commandRe.FindAllStringSubmatchIndex(text, 20) {
		if found := text[m[2]:m[3]]; !falseFriend(found) {
			out = append(out, Span{m[2], m[3], found})
		}
	}
	return out
}

func falseFriend(found string) bool {
	l := strings.ToLower(found)
	return strings.HasPrefix(l, "cpan") && !caseSensitive.MatchString(found) || strings.HasPrefix(l, "r ") && !strings.HasPrefix(found, "R ")
}

// InProse finds instructions to install packages in text for people. A sentence
// that denies it, or that reports on installed packages as data, is none.
func InProse(text string) []Span {
	var out []Span
	start := 0
	for start < len(text) && len(out) < 20 {
		end, next := len(text), len(text)
		if m := sentence.FindStringIndex(text[start:]); m != nil {
			end, next = start+m[0], start+m[1]
		}
		s := text[start:end]
		if !mayInstall(s) {
			start = max(next, start+1)
			continue
		}
		if found, ok := instruction(s); ok {
			found.Offset += start
			found.End += start
			out = append(out, found)
		}
		start = max(next, start+1)
	}
	return out
}

// installHints are parts of words of which every instruction holds one: looking
// for them first saves the time of the patterns.
var installHints = []string{"install", "instal", "pip", "npm", "apt", "yum", "dnf", "add", "fetch", "pull", "set up", "download", "conda", "mamba", "cpan", "gem", "cargo", "brew", "pacman", "dpkg", "rpm", "emerge", "yarn", "pnpm", "bun", "poetry", "pdm", "uv", "npx", "composer", "go get", "nix",
	"mix", "dotnet", "rustup", "pak::", "renv::", "pkg", "setup.py", "ensurepip", "opkg", "port", "snap", "flatpak", "choco", "winget", "scoop", "opam", "cabal", "pecl", "pear", "vcpkg", "conan", "zypper", "luarocks", "bundle", "bower", "tlmgr", "nuget", "helm", "nimble", "asenna", "установи", "安装", "インストール", "설치"}

func mayInstall(s string) bool {
	l := strings.ToLower(s)
	for _, h := range installHints {
		if strings.Contains(l, h) {
			return true
		}
	}
	return false
}

func instruction(s string) (Span, bool) {
	denied := func(at int) bool { return negation.MatchString(s[:at]) }
	for _, c := range InText(s) {
		if !denied(c.Offset) {
			return c, true
		}
	}
	for _, re := range []*regexp.Regexp{mustBe, byTool, viaManager, foreignOrder} {
		if m := re.FindStringIndex(s); m != nil && !denied(m[1]) && !strings.Contains(strings.ToLower(s), "already") {
			return Span{m[0], m[1], s[m[0]:m[1]]}, true
		}
	}
	for _, m := range installWord.FindAllStringIndex(s, 8) {
		verb := strings.ToLower(s[m[0]:m[1]])
		rest := s[m[1]:]
		near := rest[:min(len(rest), 90)]
		object := packageWord.FindStringIndex(near)
		if object == nil {
			object = wellKnown.FindStringIndex(near)
		}
		tool := managerWord.FindStringIndex(near)
		weak := verb == "add" || verb == "fetch" || verb == "set up" || verb == "pull in"
		if weak && tool == nil || !weak && object == nil && tool == nil {
			continue
		}
		if denied(m[0]) || after(rest) || !weak && object != nil && tool == nil && reporting.MatchString(s) {
			continue
		}
		end := m[1]
		for _, x := range [][]int{object, tool} {
			if x != nil {
				end = max(end, m[1]+x[1])
			}
		}
		return Span{m[0], end, s[m[0]:end]}, true
	}
	return Span{}, false
}

var afterRe = regexp.MustCompile(`(?i)\b(?:is|are|was|were|be|being)\s+(?:not|never|forbidden|refused|prohibited|unnecessary)\b|\bneed(?:s)? no\b|\bis not (?:needed|required|necessary)\b`)

// after says whether the sentence denies behind the verb: "installing packages
// is not needed".
func after(rest string) bool { return afterRe.MatchString(rest) }
