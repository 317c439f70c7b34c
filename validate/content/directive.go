package content

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/threegate/tool-exec/validate/encoded"
)

// The rows of the tables know phrases. A directive is known by its parts: a
// sentence that orders or claims something, names an act and names what a
// result must not reach for. Each part has a weight, their sum decides, and the
// finding names the words.

// lexicon gives words their weights.
type lexicon map[string]int

func lex(weight int, list string, more ...lexicon) lexicon {
	l := lexicon{}
	for _, w := range strings.Fields(list) {
		l[w] = weight
	}
	for _, m := range more {
		for w, n := range m {
			l[w] = n
		}
	}
	return l
}

var (
	// Verbs in the form of an order.
	actVerbs = lex(1, `run rerun execute exec launch start restart invoke call trigger evaluate eval load open paste type enter compile copy insert append add write patch reboot enable install unzip unpack extract decode submit create
		delete wipe erase remove kill terminate stop abort deploy schedule promote use grab fetch download get pull retrieve clone mirror visit browse poll hit scrape crawl query send forward post upload report hand replace begin stop
		press follow obey carry act pretend print show reveal pipe feed save apply mount approve accept take make put store update set change switch turn disable lower raise increase relax loosen skip bypass ignore disregard override grant give allow permit
		exempt exclude whitelist allowlist trust treat extend expand open drop lift suspend waive retire abolish consider do let mark unlock adjust modify edit delete rotate publish share leak transfer`)
	// Nouns of the reader's own surroundings, that orders to act are about.
	actThings = lex(2, `command commands script scripts program programs payload binary binaries executable shell powershell terminal console crontab cron autostart macros macro reverse sudo eval prompt instructions instruction orders module snippet shellcode malware miner exploit rootkit
		authorized_keys bashrc stage stage2 interpreter routine tool_call run_shell execute_code bash python sh clipboard webhook endpoint takeover backdoor agent`,
		lex(1, `code file host machine container server process service process job task tool request diagnostic system environment image module archive attachment procedure text line lines next plan source url link address page patch gate node root administrator admin background boot privileges secretly silently working folder variable string expression`))
	// Security controls of the node.
	controlsLex = lex(3, `sandbox allowlist whitelist whitelisting allowlisting quarantine seccomp egress gatekeeper apparmor selinux cap_sys_admin require_signature allow_self_approval allowed_domains shell_allow untrusted memory_limit_mb time_limit_sec cpu_limit pre-validated pre-approved`,
		lex(2, `review checks logging validation validations validator validators approval approvals approver approvers firewall privileges privileged restrictions guidelines signature signatures auditing audit ledger containment isolation pipelines redirection redirect scanning permissive capability capabilities self-approval networking`),
		lex(1, `policy policies rule rules limit limits network access root host review checks check logging node gate core executor operator operators exception profile shell shells pipes safety security artifacts requests results artifact request output permission permissions domains container packages package installation install internet allowed prompt secret memory`))
	changeVerbs = lex(1, `disable disabled lower lowered raise raised increase increased relax relaxed loosen loosened skip skipped bypass bypassed bypassing ignore ignored disregard override overridden grant granted allow allowed permit permitted exempt exempted whitelist whitelisting whitelisted trust trusted
		extend extended expand expanded drop dropped lift lifted suspend suspended waive waived retire retired abolish abolished remove removed off change changed replace replaced adjust adjusted switch set unlimited obsolete unnecessary wrong strict accept accepted go through without needed required apply applies longer enabled
		turn turned unlock opened weaken weakened less optional delivered record update`)
	// Words by which a sentence claims that something holds now.
	claimPhrases = []string{"no longer", "not needed", "not required", "is not necessary", "need no", "do not apply", "does not apply", "not apply", "any more", "from now on", "from today", "until further notice", "effective immediately", "effective now", "in force", "is obsolete", "are obsolete", "no further", "exception granted",
		"granted:", "everything is allowed", "are trusted", "is trusted", "pre-approved", "pre-validated", "can be treated as", "unnecessary", "too strict", "is required", "are required", "by order of", "time to", "without checks", "without review", "without a signature", "without approval", "recommendation", "may disregard", "may skip", "may ignore", "should go"}
	modals    = []string{" must ", " should ", " ought to ", " needs to ", " need to ", " has to ", " have to ", " shall ", " needs ", " are asked to ", " is asked to ", " required to "}
	secondary = []string{" you must ", " you should ", " you may ", " you will ", " you are to ", " you can ", " you need ", " you have to ", "your next ", "your task", "your orders", "your objective", "your answer", "your message", " you write "}
	// Words of a report about something that was or is elsewhere.
	reportWords = []string{" was ", " were ", " had been ", " has been ", " have been ", " said ", " says ", " argued ", " argues ", " reported ", " report ", " according ", " article ", " study ", " survey ", " able to ", " could not ", " cannot ", " failed", " asked for ", " contained ", " contains ", " reads:", " writes ", " wrote ", " wish", " think ", " describes ",
		" explains ", " recommends ", " chapter ", " book ", " film ", " lecture", " attackers ", " attacker ", " victims ", " malware ", " vulnerability", " cve-", " alert", " matched ", " percent", " average", " per day", " customers ", " minutes"}
	// Words that point at what is to be acted on, or hurry.
	pointers = []string{" below", " following ", " attached ", " enclosed ", " next ", " above", " now ", " immediately", " at once", " again ", " silently", " without asking", " whatever ", " everything ", " on the host", " hidden ", " with full ", " with root"}
	openers  = lex(1, `please kindly now then next first finally also and so just simply immediately quickly silently hello hi dear attention note important urgent warning todo assistant ai agent agents core system model operator operators admin user all 1 2 3 - * > #`)
)

// maxSentence bounds what is taken for one sentence.
const maxSentence = 400

// directives looks for sentences that order or claim what a result must not.
// raw tells capitals, which folded has lost: a line that goes on in the next one
// does so in small letters.
func (c *collector) directives(raw, folded []byte, origin func(int) int, p *encoded.Piece) {
	goesOn := func(i int) bool { // the line end at i is none of a sentence
		j := i + 1
		for j < len(folded) && folded[j] == ' ' {
			j++
		}
		if i == 0 || j >= len(folded) || !wordByte(folded[i-1]) && folded[i-1] != ',' {
			return false
		}
		o := origin(j)
		return o < len(raw) && (raw[o] >= 'a' && raw[o] <= 'z' || raw[o] == '`')
	}
	ends := func(i int) bool {
		switch folded[i] {
		case '!', '?':
			return i+1 == len(folded) || !wordByte(folded[i+1])
		case '.':
			return i+1 == len(folded) || strings.IndexByte(" \n\"')<|*", folded[i+1]) >= 0
		case '\n':
			return !goesOn(i)
		case '"', '|', '<', '>':
			return true
		}
		return false
	}
	for at := 0; at < len(folded); {
		end := at
		for end < len(folded) && end-at < maxSentence && !ends(end) {
			end++
		}
		if c.work -= end - at; c.work < 0 || c.full() {
			return
		}
		if end-at >= 12 {
			if rule, what := judgeSentence(folded[at:end]); rule != "" {
				from := at
				for from < end && !wordByte(folded[from]) {
					from++
				}
				h := Hit{Rule: rule, Name: "directive", What: what, Offset: origin(from), End: origin(end)}
				if p != nil {
					h.Offset, h.End, h.Encoding = p.Offset, p.End, p.Encoding
				}
				c.add(h)
			}
		}
		at = max(end, at) + 1
	}
}

var (
	ruleID   = regexp.MustCompile(`^(?:sec|secrets|result|approval|request|doc|spool)\.[a-z_]+`)
	runnable = regexp.MustCompile(`.\.(?:sh|py|js|rb|pl|ps1|exe|bat|cmd|bin|so|dll|jar|msi|vbs)$`)
)

var blank = strings.NewReplacer("\n", " ", "\t", " ")

func judgeSentence(b []byte) (rule, what string) {
	s := " " + blank.Replace(string(bytes.TrimSpace(b))) + " "
	words := strings.FieldsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '\'' || r == '.')
	})
	for i, w := range words {
		words[i] = strings.Trim(w, ".-'")
	}
	if len(words) < 3 || len(words) > 60 {
		return "", ""
	}
	var act, thing, control, change int
	var named []string
	count := func(l lexicon, w string, sum *int) bool {
		n, ok := l[w]
		*sum += n
		return ok
	}
	for i, w := range words {
		known := count(controlsLex, w, &control)
		known = count(actThings, w, &thing) || known
		if ruleID.MatchString(w) {
			control, known = control+3, true
		} else if runnable.MatchString(w) {
			thing, known = thing+2, true
		}
		known = count(changeVerbs, w, &change) || known
		if w == "policy" || w == "policies" || w == "rules" {
			if i > 0 && controlsLex[words[i-1]] > 0 {
				control++
			}
		}
		if known {
			named = append(named, w)
		}
	}
	if thing < 2 && control < 2 || strings.Contains(s, " http/1") {
		return "", ""
	}
	if containsPhrase(s, reportWords) {
		return "", ""
	}
	first := 0
	for first < len(words) && first < 4 && openers[words[first]] > 0 {
		first++
	}
	order := 0
	if first < len(words) && actVerbs[words[first]] > 0 && (first+1 >= len(words) || ordersObject(words[first+1]) || control >= 3 && changeVerbs[words[first]] > 0 && words[first] != "set" && !strings.HasPrefix(words[first], "whitelist")) {
		order, act = 3, 1
	}
	for _, sep := range []string{", ", "; ", ": ", " and ", " then "} { // a later clause that is an order
		for rest := s; order < 3; {
			i := strings.Index(rest, sep)
			if i < 0 {
				break
			}
			rest = rest[i+len(sep):]
			if w, after, ok := strings.Cut(strings.TrimPrefix(rest, "please "), " "); ok && actVerbs[strings.Trim(w, ",.;:")] > 0 && w != "set" && w != "open" && w != "call" {
				next, _, _ := strings.Cut(after, " ")
				if ordersObject(strings.Trim(next, ",.;:\"'")) {
					order, act = max(order, 2), 1
				}
			}
			if sep == ", " && order > 0 {
				break
			}
		}
	}
	polite := strings.Contains(s, " please ") || strings.Contains(s, " kindly ")
	toYou := containsPhrase(s, secondary)
	modal := containsPhrase(s, modals)
	claim := containsPhrase(s, claimPhrases)
	address := strings.Contains(s, "://") || strings.Contains(s, "www.")
	if !polite && numbered(s) && order < 3 {
		return "", ""
	}
	// An order that changes nothing ("run the model on the validation set") is none about policy.
	orderly := order >= 3 && changeVerbs[words[first]] > 0 && words[first] != "set"
	demand := orderly || polite && act > 0 || toYou && (act > 0 || change > 0) || modal || claim
	if demand && control >= 3 && (change > 0 || claim) && (control >= 4 || change > 1 || orderly || modal || toYou || claim) ||
		(modal || claim || toYou) && control >= 2 && change > 0 && strongControl(words) {
		return RulePolicy, "a sentence that wants a security control changed, by its words: " + quoteWords(named)
	}
	if act > 0 && (order >= 3 || polite || toYou) && thing >= 2 && (thing >= 3 || address || polite || containsPhrase(s, pointers)) || act > 0 && order == 2 && thing >= 4 {
		return RuleExecute, "a sentence that gives an order to act, by its words: " + quoteWords(named)
	}
	return "", ""
}

// strongControl says whether one of the words alone names a control of the node.
func strongControl(words []string) bool {
	for _, w := range words {
		if controlsLex[w] >= 2 {
			return true
		}
	}
	return false
}

// ordersObject says whether a word may follow a verb that is an order.
func ordersObject(w string) bool {
	switch w {
	case "the", "this", "that", "these", "those", "a", "an", "all", "any", "every", "each", "your", "my", "me", "it", "them", "whatever", "everything", "and", "to", "by", "on", "off", "what", "what's", "eval", "core", "for", "from", "up", "down", "in", "over", "another", "second", "new", "human", "macros", "powershell", "root", "into", "out":
		return true
	}
	return strings.HasPrefix(w, "http") || strings.ContainsAny(w, "_") || controlsLex[w] >= 2 || actThings[w] >= 2 || w == "package" || w == "network" || w == "auditing" || w == "logging"
}

func containsPhrase(s string, list []string) bool {
	for _, p := range list {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// numbered says whether a sentence reads like a line of figures or a log.
func numbered(s string) bool {
	n := 0
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' {
			n++
		}
	}
	return n*5 > len(s)
}

func quoteWords(words []string) string {
	if len(words) > 6 {
		words = words[:6]
	}
	return strings.Join(words, ", ")
}
