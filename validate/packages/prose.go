package packages

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// commands are the ways in which a manager and its verb are written in a sentence
// or a string, by the word that they begin with: a pattern is only tried where its
// word stands, so that other text costs no more than the reading of its words.
var commands = func() map[string]*regexp.Regexp {
	const options = `(?:-{1,2}[\w=./:-]+\s+)*`
	m := map[string]string{}
	add := func(names, pattern string) {
		for _, n := range strings.Fields(names) {
			if m[n] != "" {
				pattern = m[n] + "|" + pattern
			}
			m[n] = pattern
		}
	}
	for _, n := range strings.Fields("yum dnf microdnf zypper brew conda mamba micromamba gem bundle cargo luarocks snap flatpak choco winget scoop opam cabal pecl pear vcpkg conan opkg " +
		"pipx pipenv poetry pdm npm pnpm yarn bun bower port pkg tlmgr nuget helm nimble ghcup spack pixi rye pyenv asdf") {
		add(n, n+`[0-9.]*\s+`+options+`(?:install|localinstall|groupinstall)\b`)
	}
	add("pip", `pip[0-9.]*\s+`+options+`(?:install|download)\b`)
	add("python py pypy", `(?:python|py|pypy)[0-9.]*\s+`+options+`(?:-m\s*(?:pip[0-9.]*\s+`+options+`(?:install|download)\b|(?:ensurepip|easy_install)\b)|(?:\S*/)?setup\.py\s+(?:install|develop)\b)`)
	add("apt aptitude", `(?:apt|apt-get|aptitude)\s+`+options+`(?:install|update|upgrade|build-dep)\b`)
	add("apk", `apk\s+`+options+`add\s+\S`)
	add("pacman", `pacman\s+-S\w*\s`)
	add("yay paru", `(?:yay|paru)\s+-S\w*\s`)
	add("dpkg", `dpkg\s+(?:-i|--install)\b`)
	add("rpm", `rpm\s+-[iUF]\w*\s`)
	add("emerge", `emerge\s+-`)
	add("npm pnpm", `p?npm\s+`+options+`(?:i|ci|add|exec)\b`)
	add("yarn", `yarn\s+(?:add|dlx)\b`)
	add("bun", `bun\s+add\b`)
	add("poetry pdm uv cargo pixi", `(?:poetry|pdm|uv|cargo|pixi)\s+`+options+`add\b`)
	add("uv", `uv\s+(?:pip\s+(?:install|sync)|sync|tool\s+install)\b`)
	add("npx", `npx\s+(?:-{1,2}\w+\s+)*[@\w-]`)
	add("uvx", `uvx\s+\S`)
	add("bunx", `bunx\s+\S`)
	add("go", `go\s+(?:install|get)\s+(?:-u\s+)?\S*[./@]|go\s+get\s[^.;]{0,30}\bmodules?\b`)
	add("helm", `helm\s+plugin\s+install\b`)
	add("cpan cpanm", `cpanm?\s+(?:-{1,2}\w+\s+)*(?:install\s+)?[A-Z]\w*(?:::\w+)*`)
	add("perl", `perl\s+-MCPAN\b`)
	add("composer", `composer\s+(?:require|install)\b`)
	add("conda mamba micromamba", `(?:conda|mamba|micromamba)\s+(?:env\s+)?(?:create|update)\b`)
	add("nix", `nix-env\s+-i|nix\s+profile\s+install`)
	add("mix", `mix\s+(?:deps\.get|archive\.install|local\.hex)`)
	add("dotnet", `dotnet\s+(?:tool\s+install|add\s+(?:\S+\s+)?package|restore)\b`)
	add("rustup", `rustup\s+(?:install|toolchain|component|target)\b`)
	add("raco", `raco\s+pkg\s+install\b`)
	add("stack", `stack\s+install\b`)
	add("install", `install\.packages\s*\(|install_(?:github|cran|version)\s*\(`)
	add("pak", `pak::(?:pkg_install|pak)`)
	add("remotes devtools", `(?:remotes|devtools)::install_\w+`)
	add("biocmanager", `BiocManager::install`)
	add("renv", `renv::(?:restore|install)`)
	add("gem", `Gem\.install`)
	add("pkg", `Pkg\.(?:add|develop|instantiate)\s*\(`)
	add("r", `R\s+CMD\s+INSTALL\b`)
	add("easy", `easy_install\s+\w`)
	add("get", `get-pip\.py\b`)
	add("code", `code\s+--install-extension`)
	out := map[string]*regexp.Regexp{}
	for n, p := range m {
		out[n] = regexp.MustCompile(`^(?i:` + p + `)`)
	}
	return out
}()

// commandWindow is how far behind its first word a command is followed.
const commandWindow = 256

// Case matters for words that are English in lower case.
var caseSensitive = regexp.MustCompile(`^(?i:cpanm?)\s+[A-Z]|^R\s+CMD`)

// foreignPackage matches what is installed: packages and libraries in other
// languages, managers, and libraries that everybody knows.
var foreignPackage = regexp.MustCompile(`(?i)(?:\b(?:pa(?:k|c|ck|kk|qu)(?:et|ej|iet|ot|ett|ete|etti|chett)\w*|pip3?|npm|apt|conda|bibliote?[ck]\w*|biblioth[eè]\w*|librer[ií]a\w*|libreri[ae]|knihovn\w*|kirjasto\w*|kitapl\w*|module?\w*|modul\w*|numpy|pandas|scipy|requests|matplotlib)|balíč\w*|csomag\w*|könyvtár\w*|gói\s|thư viện|пакет|модул|библиотек|бібліотек|πακ[έε]τ|βιβλιοθ[ήη]κ|حزم|بسته|کتابخانه|חביל|ספרי|पैकेज|लाइब्रेरी)`)

// An instruction in English: a verb in a form that asks, then what is asked for.
var (
	installWord = regexp.MustCompile(`(?i)\b(install|installing|installs|reinstall|pip-install|set up|download and run|add|pull in|fetch|bring in)\b`)
	packageWord = regexp.MustCompile(`(?i)\b(packages?|librar(?:y|ies)|modules?|dependenc(?:y|ies)|gems?|crates?|wheels?|rpms?|debs?|requirements(?:\.txt)?|via pip|with pip|using pip|from pypi|from npm|with npm|via npm|with apt|via apt|using apt|with conda|via conda|from conda-forge|from cran|from cpan|with brew|with gem|with cargo)\b`)
	// Names that need no word like "package" beside them.
	wellKnown = regexp.MustCompile(`(?i)\b(?:numpy|pandas|polars|scipy|requests|httpx|aiohttp|matplotlib|seaborn|scikit-learn|sklearn|pytorch|torch|tensorflow|keras|transformers|flask|django|fastapi|beautifulsoup4?|bs4|openpyxl|pillow|opencv|lxml|sqlalchemy|psycopg2?|boto3|pyyaml|pytest|lodash|express|axios|react|typescript|nokogiri|rails|rspec|ggplot2|dplyr|tidyverse|jq|curl|wget|git|ffmpeg|imagemagick|graphviz|nodejs|node\.js|gcc|build-essential|postgresql|sqlite3?|redis|docker)\b`)
	// What must be there first has to be installed by somebody.
	mustBe = regexp.MustCompile(`(?i)\b(?:must|should|shall|(?:is|are) to|needs?|has to|have to|requires?|ensure|make sure|verify)\b(?:[^.;]|\.\w){0,80}\b(?:be(?:en)?|is|are|gets?)\s+(?:pip-|npm-)?installed\b`)
	// "installed via pip", and orders in other languages.
	foreignVerb = regexp.MustCompile(`(?i)(?:\b(?:zu )?(?:installiere[n]?|installier(?:t\s+(?:bitte|erst|zuerst|zunächst|vorher|das|die|den)|en sie)|installer\s+(?:le|la|les|un|une|des|du|pakken|biblioteket)|instal(?:a|e|ar|ad|lez|la|lare|leer|leren|lera|eer|aci|aţi|ați|iraj(?:te)?|irati|uj(?:te)?)|(?:za|na)?inst[aá]luj(?:cie|te)?|(?:za|do)instalować|doinstaluj(?:cie)?|nainštaluj(?:te)?|nainstalovat|asenna|asentaa|telepíts(?:e|d|ük)|telepíteni|pasang(?:lah|kan)?|cài đặt|kur(?:un|unuz|ulmalı)|yükle(?:yin)?)|установ(?:и|ите|ить)|поставьте|встанов(?:и|іть|ити)|инсталирай(?:те)?|инсталирај(?:те)?|εγκατ[αά]στ[ηή]σ(?:ε|τε)|ثبّ?ت|قم بتثبيت|نصب کن(?:ید)?|התק(?:ן|ינו)|इंस्टॉल कर(?:ें|ो|ना))(?:[\s.,;:!]|$)`)
	// In these scripts the word alone is an order.
	foreignSign = regexp.MustCompile(`(?:安[装裝]|インストール|설치|ติดตั้ง)\S{0,20}`)
	// Those scripts' ways to say that something was installed, or to speak of it.
	foreignReport = regexp.MustCompile(`不(?:需要|需|用|必|要|会|會|得)|[无無]需|没有|沒有|(?:必要|不要)(?:は|が|で)?|しない|しません|필요(?:는|가)? ?없|않|불필요|ไม่(?:ต้อง|จำเป็น)|không (?:cần|phải)|(?:已|预|預|了)安[装裝]|安[装裝](?:了|的|数|數|日|时|時|量|记录|記錄|完)|インストール(?:済|され|しました|した|数|日|履歴|件)|설치(?:된|되|됨|했|일|수|율|기록)|ติดตั้งแล้ว`)
	// No, not and without, before the order.
	foreignDenial = regexp.MustCompile(`(?i:\b(?:nie|nichts?|kein\w*|sans|pas|non|senza|sin|sem|não|no|geen|niet|inte|ingen|ikke|ei|ilman|nem|nincs|fără|nu|bez|tanpa|tidak|gerek\w*|olmadan)\s)|(?:^|\s)(?:не|без|нет|нема|χωρίς|δεν|بدون|لا|ليس|ללא|אין|बिना|नहीं)\s`)
	viaManager    = regexp.MustCompile(`(?i)\b(?:ensure|make sure|verify|check|have|get)\b(?:[^.;]|\.\w){0,80}\binstalled\s+(?:via|with|by|using|from|through)\s+(?:pip3?|npm|apt(?:-get)?|conda|yarn|gem|cargo|brew|cpanm?|pypi)\b`)
	byTool        = regexp.MustCompile(`(?i)\b(?:use|uses|using|with|via|through|calls?|runs?|invokes?)\s+(?:pip3?|npm|apt(?:-get)?|conda|yarn|gem|cargo|brew|cpanm?)\s+to\s+(?:get|install|add|fetch|download|pull|create|set up)\b|\b(?:please|so|then|and|to)\s+(?:pip3?|npm|apt(?:-get)?|cpanm|conda|yarn|gem|cargo|brew)\s+(?:it|them|that)\b`)
	// What brings software without a word of installing, and installing that needs
	// no name of a package.
	bringing = regexp.MustCompile(`(?i)\b(?:download|fetch|pull|grab|get|set|update|upgrade)(?:e?s)?(?:\s+up)?(?:\s+in)?\s+(?:(?:the|its|all)\s+)?(?:missing|required|needed|necessary|system|latest|own)\s+(?:packages|dependencies|libraries|modules|gems|crates)\b|\b(?:grab|get|fetch|pull|take)\s+(?:\S+\s+){1,2}(?:from|off|through|via)\s+(?:npm|pypi|pip3?|conda(?:-forge)?|cran|cpan|rubygems|crates\.io|apt)\b|\bupgrade\s+(?:pip|npm|conda)\b`)
	// The verb in a form that asks or tells, whatever is installed.
	installVerb = regexp.MustCompile(`(?i)(?:^\W*|[,:]\s*|\b(?:please|then|first|also|next|and|so|to|should|must|will|shall|can|could|may|might|would|let'?s|you|we|i|it|he|she|they|someone|somebody|anyone|admins?|(?:the )?(?:runner|operator|script|program|tool|step|job|container|worker|sandbox))\s+)(?:re)?installs?\s+(?:(?:the|a|an|its|my|our|this|that|any|all|some|version|latest|newest|both)\s+)*([\w@.+-]+)`)
	// What an installation is asked about, and not for.
	installNoun = regexp.MustCompile(`(?i)^(?:dates?|times?|counts?|events?|records?|rates?|status|history|figures|numbers?|logs?|base|size|instructions|guides?|sections?|steps?|lines?|commands?|costs?|fees?|metrics|data|rows?|columns?|per|by|in|on|at|of|or|and|was|were|is)$`)
	// A sentence about text or people that say so.
	describes = regexp.MustCompile(`(?i)\b(?:did|have you|do you|users?|people|customers?|visitors?|tells?|says?|said|asks?|asked|mentions?|describes?|explains?|lines|sentences?|phrases?|commands?|documentation|manual|readme|guide|tutorial|questionnaire|survey|text|technicians?|fitters?|builders?|workers who|companies|households|windows|solar|panels?|boilers?|meters?|sensors?|pumps?|cables?|kitchens?|doors?|lights?|cameras?)\b`)
	pathLike  = regexp.MustCompile(`\S*/\S*`)
	// What begins a clause of its own, which a denial before it does not reach.
	// Commands as a thing of which there is a record.
	recorded   = regexp.MustCompile(`^ (?:runs|logs|lines|commands|calls|events|failures|errors|outputs?|times|records|invocations|transcripts?)\b`)
	conclusion = regexp.MustCompile(`(?i)[;,]\s*(?:hence|so|therefore|thus|but|please|then|and then|which is why)\b`)
	howTo      = regexp.MustCompile(`(?i)\b(?:how|who|which|whether|when|where|why)\b[^.;,]{0,30}$`)
	// From where packages come.
	fromIndex      = regexp.MustCompile(`(?i)\b(?:grab|get|fetch|pull|take|download|load|bring|obtain|use)s?\b[^.;]{1,60}\b(?:from|off|out of|via|through)\s+(?:the\s+)?(?:pypi|npm|cran|cpan|bioconductor|conda-forge|anaconda|rubygems|crates\.io|maven(?: central)?|packagist|luarocks|nuget|hackage|homebrew|(?:python )?package (?:index|manager|repository)|(?:\w+'s |package |apt |debian |ubuntu |distribution'?s? )?repositor(?:y|ies))(?:[\s.,;:]|$)`)
	intoPlace      = regexp.MustCompile(`(?i)\b(?:put|unpack|copy|copies|place|drop|extract|unzip|move)s?\b[^.;]{1,60}\binto\s+(?:the\s+|its\s+)?(?:site-packages|dist-packages|node_modules|python ?path|gem folder|package folder)\b`)
	throughManager = regexp.MustCompile(`(?i)\b(?:bootstraps?|provisions?|brings?|pulls?|loads?|resolves?|satisf(?:y|ies)|sets? up|gets?)\b[^.;]{0,40}\b(?:dependenc\w+|packages|modules|libraries|requirements)\b[^.;]{0,20}\b(?:through|via|with|from|using|by)\s+(?:pip3?|npm|apt(?:-get)?|conda|yarn|gem|cargo|brew|cpanm?|pypi)\b`)
	allowing       = regexp.MustCompile(`(?i)(?:^\W*|[,:]\s*|\b(?:please|to|must|should|we)\s+)(?:allow|permit|enable|authori[sz]e|approve|need|require|want)s?\b[^.;]{0,40}\b(?:packages?|software|modules?|librar(?:y|ies)|dependenc(?:y|ies)|pip)\s+(?:installations?|installs?)\b`)
	mustBeForeign  = regexp.MustCompile(`(?i)\bva(?:nno)?\s+installat[aieo]\b|\b(?:muss|müssen|soll(?:en|te|ten)?)\b[^.;]{0,80}\binstalliert\s+(?:werden|sein)\b|\b(?:doit|doivent)\b[^.;]{0,40}être\s+installée?s?|\b(?:debe|deben|deve|devono|devem)\b[^.;]{0,40}\binstal+at?[aoied]+s?\b`)
	upgrading      = regexp.MustCompile(`(?i)(?:^\W*|[,:]\s*|\b(?:please|then|first|and|to|should|must|needs? to|has to|will)\s+)(?:upgrade|downgrade|bump)\s+(?:the\s+)?[\w.+-]+(?:\s+(?:package|library|module))?\s+(?:to|from)\s+(?:version\s+)?v?[0-9]`)
	// What is downloaded and then installed, whatever it is.
	installIt   = regexp.MustCompile(`(?i)\b(?:download|get|fetch|obtain|take|grab)\b[^.;]{1,80}\band\s+(?:then\s+)?install\s+(?:it|them|that|this)\b`)
	arriving    = regexp.MustCompile(`(?i)\b(?:dependenc(?:y|ies)|packages?|librar(?:y|ies)|modules?|requirements)\s+(?:are|is|get|will be)\s+(?:then\s+|first\s+)?installed\s+(?:at|on|from|by|when|during|before|first|with)\b|\binstalls?\s+(?:the\s+)?(?:latest|newest|current)\s+(?:release|version|build)\b|\b(?:curl|wget|download|fetch|get|run|execute|start)s?\s+(?:the\s+|its\s+|an?\s+)?(?:\S+\s+)?installer\b|(?:\brun\b|\bexecute\b|\b(?:ba)?sh\b|:)[^.;]{0,24}\s\S*install(?:er)?\.(?:sh|py|ps1|bat|exe)\b`)
	managerWord = regexp.MustCompile(`(?i)\b(?:pip3?|pypi|npm|yarn|pnpm|apt(?:-get)?|conda|brew|homebrew|cpan|cran|rubygems|cargo|crates\.io|luarocks|packagist|conda-forge|(?:debian|ubuntu|alpine|fedora|os|apt|pip|npm|conda|pypi|cran) packages?)\b`)
	// Forms that only report: "installed packages", "install dates of the package".
	reporting = regexp.MustCompile(`(?i)\b(?:installed|already|pre-?installed|preinstall|list(?:s|ing|ed)?|counts?|report(?:s|ing)?|summari[sz]es?|pars(?:e|es|ing)|analy[sz](?:e|es|ing)|extracts?|log|logs|column|field|history of|number of|which|statistics|install(?:ation)? (?:dates?|times?|counts?|events?|records?|status|figures|base|logs?))\b`)
	reminder  = regexp.MustCompile(`(?i)\b(?:don['’]?t|do not|never) forget to\b`) // denies nothing
	negation  = regexp.MustCompile(`(?i)(?:\b(?:no|not|never|none|nothing|without|cannot|neither|nor|doesn'?t|don'?t|won'?t|isn'?t|aren'?t|needn'?t|can'?t|avoid(?:s|ing)?|instead of|rather than|forbidden|refused|denied|rejected|declined|prohibited|unnecessary|free of)\b|n’t\b)`)
)

// Span is a place in a text.
type Span struct {
	Offset, End int
	Text        string
}

// InText finds commands that install packages in a string of code. Negation
// does not matter there.
func InText(text string) []Span {
	var out []Span
	eachWord(text, func(from, to int, word []byte) bool {
		if end := commandAt(text, from, word); end > 0 {
			out = append(out, Span{from, end, text[from:end]})
		}
		return len(out) < maxSpans
	})
	return out
}

// maxSpans bounds what is found in one text.
const maxSpans = 20

// commandAt returns the end of the command that begins with the word at from, or 0.
func commandAt(text string, from int, word []byte) int {
	re := commands[string(word)]
	if re == nil || from > 0 && strings.IndexByte("./-", text[from-1]) >= 0 && !inFolder(text, from) {
		return 0
	}
	m := re.FindStringIndex(text[from:min(len(text), from+commandWindow)])
	if m == nil || falseFriend(text[from:from+m[1]]) {
		return 0
	}
	return from + m[1]
}

// inFolder says whether the word at from is the last part of an absolute path
// of programs, as in /usr/bin/pip.
func inFolder(text string, from int) bool {
	return strings.HasSuffix(text[:from], "bin/")
}

func falseFriend(found string) bool {
	l := strings.ToLower(found[:min(len(found), 8)])
	return strings.HasPrefix(l, "cpan") && !caseSensitive.MatchString(found) || strings.HasPrefix(l, "r ") && !strings.HasPrefix(found, "R ")
}

// maxWord is the length of the longest word that is looked up.
const maxWord = 16

// eachWord calls f for each run of letters, in lower case and cut off behind
// maxWord; letters behind a digit or an underscore begin no word.
func eachWord(text string, f func(from, to int, word []byte) bool) {
	var buf [maxWord]byte
	for i := 0; i < len(text); {
		c := text[i]
		if lower := c | 0x20; lower < 'a' || lower > 'z' {
			i++
			if c >= '0' && c <= '9' || c == '_' { // not the start of a word
				for i < len(text) && wordByte(text[i]) {
					i++
				}
			}
			continue
		}
		from, n := i, 0
		for ; i < len(text); i++ {
			lower := text[i] | 0x20
			if lower < 'a' || lower > 'z' {
				break
			}
			if n < maxWord {
				buf[n] = lower
				n++
			}
		}
		if !f(from, i, buf[:n]) {
			return
		}
		for i < len(text) && wordByte(text[i]) {
			i++
		}
	}
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// topic says what the words of a sentence may speak of.
type topic uint8

const (
	ofInstalling topic = 1 << iota // a form of "install", in English or another language
	ofManagers
	ofCommand
	ofPackages
	ofForeign // an order in another language
)

var managerNames = names("pip pypi npm yarn pnpm apt conda brew homebrew cpan cran rubygems cargo crates luarocks packagist gem cpanm")

func names(list string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(list) {
		m[w] = true
	}
	return m
}

// foreignForms are ends of orders that begin with "instal" in languages other than English.
var foreignForms = names("a e ar ad ler lez la lare leer leren lera eer aci ai a iraj irajte irati uj ujte liere lieren liert liere")

// topicOf is what a word may make a sentence speak of.
func topicOf(word []byte) (t topic) {
	if len(word) > 5 {
		switch string(word[:6]) {
		case "upgrad", "downgr":
			t |= ofInstalling
		case "zainst", "doinst", "asenna":
			t |= ofInstalling | ofForeign
		case "instal", "reinst":
			t |= ofInstalling
			if foreignForms[string(word[6:])] {
				t |= ofForeign
			}
		}
	}
	switch string(word) {
	case "bump":
		t |= ofInstalling
	case "package", "packages", "dependencies", "libraries", "modules", "gems", "crates", "bioconductor", "maven", "repository", "repositories", "index", "nuget", "hackage", "node", "site", "dist":
		t |= ofPackages
	}
	if managerNames[string(word)] {
		t |= ofManagers
	}
	if commands[string(word)] != nil {
		t |= ofCommand
	}
	return t
}

// foreignWords stand in orders of languages whose word for installing does not
// begin as the English one does.
var foreignWords = []string{"安装", "安裝", "インストール", "설치", "ติดตั้ง", "станов", "оставьте", "нсталир", "γκατ", "ثبيت", "ثبت", "ثبّت", "نصب", "התק", "इंस्टॉल",
	"elepít", "nštal", "nstaluj", "nstalov", "asang", "cài đặt", "Cài đặt", "kur", "Kur", "ükle", "sentaa"}

func foreign(s string) bool {
	for _, w := range foreignWords {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// InProse finds instructions to install packages in text for people. A sentence
// that denies it, or that reports on installed packages as data, is none.
func InProse(text string) []Span {
	var out []Span
	other := foreign(text)
	for start := 0; start < len(text) && len(out) < maxSpans; {
		end, next := sentenceEnd(text, start)
		s := text[start:end]
		var t topic
		eachWord(s, func(_, _ int, word []byte) bool {
			t |= topicOf(word)
			return true
		})
		if other && foreign(s) {
			t |= ofInstalling | ofForeign
		}
		if found, ok := instruction(s, t); ok {
			found.Offset += start
			found.End += start
			out = append(out, found)
		}
		start = next
	}
	return out
}

// sentenceEnd returns where the sentence that starts at start ends and where
// the next one starts: behind a mark with a blank, at an empty line, at an item
// of a list.
func sentenceEnd(text string, start int) (end, next int) {
	for i := start; i < len(text); {
		n := strings.IndexAny(text[i:], ".!?;\n")
		if n < 0 {
			break
		}
		i += n
		at := i
		if text[i] != '\n' {
			for i < len(text) && strings.IndexByte(".!?;", text[i]) >= 0 {
				i++
			}
			if i == len(text) || isBlank(text[i]) {
				return at, skipBlanks(text, i)
			}
			continue
		}
		after := skipBlanks(text, i)
		if strings.IndexByte(text[i+1:after], '\n') >= 0 || after+1 < len(text) && strings.IndexByte("-*+", text[after]) >= 0 && isBlank(text[after+1]) {
			return at, after
		}
		i = max(after, i+1)
	}
	return len(text), len(text)
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func skipBlanks(text string, i int) int {
	for i < len(text) && isBlank(text[i]) {
		i++
	}
	return i
}

// requests are what asks for an installation in a sentence on a topic. A sentence of ASCII
// that holds none of the words that a pattern needs is not tried: beside others, some
// letters stand for those of a word whatever their case is.
var requests = []struct {
	re    *regexp.Regexp
	of    topic
	needs []string
}{
	{mustBe, ofInstalling, []string{"installed"}},
	{byTool, ofManagers, []string{"to", "it", "them", "that"}},
	{viaManager, ofInstalling, []string{"installed"}},
	{bringing, ofManagers | ofPackages, []string{"missing", "required", "needed", "necessary", "system", "latest", "own", "from", "off", "through", "via", "upgrade"}},
	{arriving, ofInstalling, []string{"installed", "latest", "newest", "current", "installer", "install."}},
	{installIt, ofInstalling, []string{"and"}},
	{fromIndex, ofManagers | ofPackages, []string{"from", "off", "out of", "via", "through"}},
	{intoPlace, ofManagers | ofPackages, []string{"into"}},
	{upgrading, ofInstalling, []string{"upgrade", "downgrade", "bump"}},
	{throughManager, ofManagers, []string{"through", "via", "with", "from", "using", "by"}},
	{allowing, ofInstalling, []string{"allow", "permit", "enable", "authori", "approve", "need", "require", "want"}},
	{mustBeForeign, ofInstalling, []string{"installat", "installiert", "debe", "deve", "devono"}},
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// instruction finds the first thing in a sentence on the topics t that asks for
// an installation.
func instruction(s string, t topic) (Span, bool) {
	if t == 0 {
		return Span{}, false
	}
	words := pathLike.ReplaceAllStringFunc(s, func(p string) string { return strings.Repeat("x", len(p)) })
	lower := strings.ToLower(s)
	if strings.Contains(lower, "forget") {
		words = reminder.ReplaceAllStringFunc(words, func(p string) string { return strings.Repeat("x", len(p)) })
	}
	denied := func(at int) bool { return negation.MatchString(words[:at]) }
	deniedInClause := func(at int) bool {
		from := max(0, at-reach)
		return negation.MatchString(words[from+clause(s[from:at]) : at])
	}
	if t&ofCommand != 0 {
		for _, c := range InText(s) {
			if !deniedInClause(c.Offset) && !quotedData(s, c.Offset) && !recorded.MatchString(s[c.End:]) {
				return c, true
			}
		}
	}
	if t&(ofInstalling|ofManagers|ofPackages) == 0 {
		return Span{}, false
	}
	ascii := isASCII(s)
	for _, p := range requests {
		if t&p.of == 0 || ascii && !slices.ContainsFunc(p.needs, func(w string) bool { return strings.Contains(lower, w) }) {
			continue
		}
		if m := p.re.FindStringIndex(s); m != nil && !denied(m[1]) && !strings.Contains(lower, "already") && (p.re != mustBeForeign || !foreignDenial.MatchString(s[:m[1]])) {
			return Span{m[0], m[1], s[m[0]:m[1]]}, true
		}
	}
	if t&ofForeign != 0 {
		if found, ok := foreignInstruction(s); ok {
			return found, true
		}
	}
	for _, m := range ordersToInstall(s, t) {
		if object := s[m[2]:m[3]]; !installNoun.MatchString(object) && !deniedInClause(m[1]) && !after(s[m[1]:]) && !howTo.MatchString(before(s, m[0])) && !describes.MatchString(before(s, m[1])) {
			return trimmed(s, m[0], m[1]), true
		}
	}
	reports := sync.OnceValue(func() bool { return reporting.MatchString(s) })
	for _, m := range installWord.FindAllStringIndex(s, 8) {
		verb := strings.ToLower(s[m[0]:m[1]])
		rest := s[m[1]:]
		near := rest[:min(len(rest), 90)]
		object := packageWord.FindStringIndex(near)
		if object == nil {
			object = wellKnown.FindStringIndex(near)
		}
		tool := managerWord.FindStringIndex(near)
		weak := verb == "add" || verb == "fetch" || verb == "set up" || verb == "pull in" || verb == "bring in"
		if weak && tool == nil || !weak && object == nil && tool == nil {
			continue
		}
		if negation.MatchString(before(words, m[0])) || howTo.MatchString(before(s, m[0])) || after(rest) || !weak && object != nil && tool == nil && reports() {
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

// Bounds of looking at an order in another language.
const (
	foreignReach  = 80 // bytes between the verb and what is to be installed
	foreignOrders = 64
)

// ordersToInstall are the places of installVerb in a sentence on the topics t.
func ordersToInstall(s string, t topic) [][]int {
	if t&ofInstalling == 0 {
		return nil
	}
	return installVerb.FindAllStringSubmatchIndex(s, 8)
}

// foreignInstruction finds an order in another language: a verb with what is to
// be installed before or behind it.
func foreignInstruction(s string) (Span, bool) {
	if m := foreignSign.FindStringIndex(s); m != nil && !foreignReport.MatchString(s[max(0, m[0]-foreignReach):min(len(s), m[1]+foreignReach)]) {
		return Span{m[0], m[1], s[m[0]:m[1]]}, true
	}
	for _, m := range foreignVerb.FindAllStringIndex(s, foreignOrders) {
		before, behind := s[max(0, m[0]-foreignReach):m[0]], s[m[1]-1:min(len(s), m[1]+foreignReach)]
		if foreignDenial.MatchString(before) {
			continue
		}
		if foreignPackage.MatchString(before) || foreignPackage.MatchString(behind) {
			return trimmed(s, m[0], m[1]), true
		}
	}
	return Span{}, false
}

// trimmed is the span of s between two places without blanks and marks at its ends.
func trimmed(s string, from, to int) Span {
	text := strings.Trim(s[from:to], " \t\r\n,.:;!")
	from += strings.Index(s[from:to], text)
	return Span{from, from + len(text), text}
}

// dataBefore matches what a sentence says of text that it handles, up to a quote.
var dataBefore = regexp.MustCompile(`(?i)\b(?:pars(?:es?|ing)|counts?|counting|finds?|finding|extracts?|lists?|matche?s?|searche?s?|greps?|detects?|classif(?:y|ies)|reports?|strips?|filters?|lines|phrases?|strings?|words?|texts?|commands?|mentions?|occurrences)\b[^.;:]{0,60}["'\x60“‘]$|\bhow (?:often|many times) $`)

// dataOrder matches an order that stands before a quote.
var dataOrder = regexp.MustCompile(`(?i)\b(?:run|runs|running|execut\w*|typ(?:e|ing)|enter|issue|call|invok\w*|use|using|via|with|do|perform|start|launch|please|must|should|need\w*|first|before)\b`)

// quotedData says whether the command at offset is quoted as data that the sentence is
// about: counts lines such as "pip install x".
func quotedData(s string, offset int) bool {
	return dataBefore.MatchString(before(s, offset)) && !dataOrder.MatchString(before(s, offset))
}

// condition is the first clause of a sentence that says in which case the rest holds.
var condition = regexp.MustCompile(`(?i)^\W*(?:if|when(?:ever)?|in case|should|unless|wherever)\b[^,]{1,120}(?:,|$)`)

// clause is where the last clause of s starts that stands for itself.
func clause(s string) int {
	at := 0
	if m := condition.FindStringIndex(s); m != nil {
		at = m[1]
	}
	if m := conclusion.FindAllStringIndex(s, -1); m != nil {
		at = max(at, m[len(m)-1][0])
	}
	return at
}

var afterRe = regexp.MustCompile(`(?i)\b(?:is|are|was|were|be|being)\s+(?:not|never|forbidden|refused|prohibited|unnecessary)\b|\bneed(?:s)? no\b|\bis not (?:needed|required|necessary)\b`)

// after says whether the sentence denies behind the verb: "installing packages
// is not needed".
func after(rest string) bool { return afterRe.MatchString(rest[:min(len(rest), reach)]) }

// reach is how many bytes around an order the rest of its sentence is looked at for what
// it says of the order: a text without full stops is one sentence, with any number of them.
const reach = 4 << 10

// before is the part of the sentence before a place that says something of it.
func before(s string, at int) string { return s[max(0, at-reach):at] }
