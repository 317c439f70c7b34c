package content

import (
	"regexp"
	"strings"
	"sync"
)

// row is one pattern of a table. Patterns are written for folded text: lower
// case, ASCII look-alikes replaced, no invisible characters.
//
// In the folded text a full stop that ends a sentence has become "!", and the
// end of a line that goes on in the next one has become "\f": see prepare.
type row struct {
	rule, name, what string
	re               *regexp.Regexp
	// lead, if set, must match what stands directly in front of the match.
	lead lead
	// near lists words (lower case) of which every match holds one; with "^" in
	// front, no letter stands before the word. also lists more, of which one
	// must stand within reach too. Both only save time.
	near, also []string
	// reach is how far around a word of near a match may extend; 0 means the
	// default.
	reach [2]int
	// unless, if it matches the place, takes the match back.
	unless *regexp.Regexp
	// reportable: the match is no breach where the text reports it as something
	// that was asked for and not done.
	reportable bool
}

// fragments are the {NAME} parts of the patterns. Later ones may use earlier ones.
var fragments = [][2]string{
	// a stretch of one sentence
	{"{G20}", `[^\n!?]{0,20}?`},
	{"{G40}", `[^\n!?]{0,40}?`},
	{"{G80}", `[^\n!?]{0,80}?`},
	// the start of a line, with list marks, prompts and log prefixes
	{"{BOL}", "(?:^|[\\n\\f])[ \\t]*(?:(?:[-*+>#$%]+|<!--|\\d+[.)]|\\[[^\\]\\n]{0,24}\\]|//|--)[ \\t]*){0,4}"},
	// words that turn to the reader
	{"{ADDR}", "(?:please|kindly|pls|you (?:must|should|shall|need to|have to|ought to|are (?:required|instructed|ordered|asked|expected|obliged) to|will need to|can now|may now|are to)|" +
		"(?:please |kindly )?(?:ask|tell|have|get|instruct|request) (?:the |your |an? )?(?:operator|admin\\w*|user|human|owner|core|assistant|agent) (?:to|that)|i (?:need|want|would like|order|command|instruct|require|ask|urge|beg) you to|we (?:need|want|require|ask|urge|recommend) (?:you to|that you)|" +
		"(?:the )?(?:user|operator|admin\\w*|owner|developer)s? (?:wants?|needs?|asked|asks|told|would like|expects?|requires?) you to|your (?:next |new |only |first |main |real |actual )?(?:task|job|step|mission|objective|goal|duty|instruction|action)s? (?:is|are)(?: now)? to|" +
		"(?:the )?(?:next|required|following|only|correct|remaining|final) (?:step|action|task|thing)s? (?:is|are)(?: now)?(?: to|:)|make sure(?: to| you| that you| that)?|be sure to|ensure(?: that)?(?: you)?|see to it that|go ahead and|proceed (?:to|by)|" +
		"it(?: is|'s) (?:now |also |therefore |very |absolutely |strongly ){0,2}(?:critical|essential|important|imperative|necessary|mandatory|required|recommended|vital|safe) (?:that you|to|for you to|for the (?:assistant|agent|operator|model) to)|" +
		"(?:the )?(?:assistant|agent|ai|model|core|operator|reader|user) (?:must|should|shall|needs to|has to|is required to|is instructed to|ought to|can now|may now)|" +
		"(?:the |an? |one )?(?:easy |quick |simple |only |best )?(?:fix|solution|trick|way|remedy|workaround|answer|cure) (?:is|would be|here is)(?: now)? to|before (?:you )?(?:continu|proceed|go|mov|start|finish)\\w*[^\\n!?]{0,30}?,|for (?:the )?(?:full|complete|more|further|detailed|remaining) (?:results?|reports?|details|output|access|information|data)|do the following:?|don't (?:forget|hesitate|fail) to|remember to|immediately|" +
		"(?:in order )?to (?:continue|proceed|fix (?:this|it|the)|complete|finish|resolve|unlock|recover|verify|activate|get (?:the|full)|see (?:the )?(?:full|rest|real|complete)|obtain|finali[sz]e|pass|restore)[^\\n!?]{0,50}?[,:])"},
	{"{ADV}", "(?:\\s|,|then|also|immediately|now|first|next|simply|just|to|carefully|manually|quickly|silently|and|always|\\d\\)|:)*"},
	// a place where a verb is an order
	{"{IMP}", "(?:{BOL}|[.!?:;,]\\s+|@\\w+[:,]?\\s+|[\"'(`>]\\s*|{ADDR}{ADV}\\s|\\b(?:then|now|next|just|simply|finally|first|and|must|should|let's|let us|also)[ ,]+(?:then |also |now |just |please )?)"},
	{"{RUN}", "(?:re-?)?(?:run|execute|exec|launch|invoke|type|paste|enter|issue|evaluate|source)(?:ning)?\\b"},
	{"{PKG}", "(?:(?:python[0-9.]* -m )?pip[0-9.]*|uv pip|pipx|conda|mamba|npm|yarn|pnpm|gem|cargo|go|apt|apt-get|yum|dnf|brew|apk|choco|winget|pacman|snap|poetry|composer|cpan|luarocks)\\s+(?:-\\S+\\s+)*(?:install|add|get|i|-s)\\s+(?:-(?:-user|y|-yes|g|r|e|q|u|-upgrade|-quiet|-global|-break-system-packages|-index-url|-extra-index-url|-i)\\s+)*[a-z@./~]"},
	{"{HARM}", "(?:\\$\\(|sudo\\s+(?:-\\S+\\s+)*[a-z/.]|rm\\s+-[a-z]*[rf]|chmod\\s+(?:-r\\s+)?(?:[0-7]{3,4}|[ugoa]*\\+[a-z]*[xws])|chown\\s+\\S|curl\\s+\\S|wget\\s+\\S|nc\\s+-|ncat\\s|netcat\\s|" +
		"(?:ba|z|da|k)?sh\\s+(?:-[cix]|<|https?:|\\./|/|\\S+\\.sh)|powershell|pwsh\\b|iex\\b|invoke-expression|invoke-webrequest|mkfs|dd\\s+if=|base64\\s+(?:-d|--decode)|eval[\\s(]|crontab\\s|ssh\\s+\\S|scp\\s+\\S|" +
		"docker\\s+(?:run|exec|pull)|kubectl\\s+(?:apply|delete|exec|create)|systemctl\\s+(?:stop|disable|start|enable|restart|mask)|iptables\\s|nft\\s|ufw\\s|setenforce|useradd|usermod|adduser|passwd\\s|git\\s+(?:clone|push)|{PKG}|npx\\s|" +
		"python[0-9.]*\\s+-c|perl\\s+-e|ruby\\s+-e|node\\s+-e|php\\s+-r|cat\\s+(?:/etc/|~/\\.|\\S*\\.env|\\S*id_rsa)|printenv|env\\s*\\||:\\(\\)\\s*\\{|del\\s+/[a-z]|format\\s+c:|reg\\s+(?:add|delete)|schtasks|shutdown\\s|reboot\\b|kill\\s+-9|killall|history\\s+-c|" +
		"\\./\\w|/tmp/\\w|mount\\s+\\S|nsenter|chroot\\s|export\\s+[a-z_]+=|unset\\s|subprocess\\.|os\\.system|mshta|certutil|rundll32|regsvr32|drop\\s+(?:table|database)|truncate\\s+table)"},
	{"{CMD}", "(?:python[0-9.]*|node|ruby|perl|php|java|go run|make|bash|sh|zsh|npm|npx|yarn|pip[0-9.]*|git|docker|kubectl|terraform|ansible\\S*|helm|aws|gcloud|az|cargo|cmake|gcc|apt\\S*|brew|yum|curl|wget|cp|mv|rm|cat|tar|unzip|threegate)\\s+[a-z0-9./~-]"},
	{"{THING}", "(?:(?:the|this|that|these|those|a|an|another|following|attached|downloaded|above|below|provided|new|next|included|enclosed|encoded|decoded|embedded|hidden|bash|shell|python|powershell|terminal|resulting|generated|output|setup|install|remote|own|your|my)\\s+){1,5}" +
		"(?:[a-z0-9_.-]+\\s+)?(?:commands?|scripts?|code|payload|binary|binaries|programs?|executables?|snippets?|installers?|instructions?|one-liner|shellcode|macro|updater|setup|plan|steps|actions)\\b"},
	{"{FILE}", "(?:\\.{0,2}/[\\w.-]+(?:/[\\w.-]+)*|~/[\\w./-]+|[\\w-]+\\.(?:py|sh|bash|js|mjs|rb|pl|php|exe|ps1|bat|cmd|bin|c|go|jar|msi|vbs|elf|run|out)\\b)"},
	{"{URL}", "(?:https?|ftp|sftp|ssh|git|s3|hxxps?|file|data|ipfs)(?:\\[?:\\]?//|:)[^\\s\"'`<>)]{3,}"},
	{"{AI}", "(?:ai|a\\.i\\.|llms?|language models?|(?:ai )?assistants?|ai (?:models?|agents?|systems?|tools?)|chatgpt|claude|gpt(?:-\\d)?|copilot|gemini|(?:autonomous )?agents?|core|chatbots?|bots?)"},
	// security controls, and what may be done to them
	{"{CTRL}", "(?:(?:network |domain |egress |url |host |ip |command |shell )?(?:allow|white|deny|black|block|safe)[- ]?list(?:ing|s|ed domains)?|allowed[_ ](?:domains|hosts|commands)|shell_allow|" +
		"(?:system|security|network|sandbox|egress|execution|approval|gate(?:keeper)?|node|access|safety|content|validation|firewall|container|isolation|containment|tool|threegate|tool-exec|host|selinux|apparmor|seccomp|resource)(?:'s)?[- ](?:polic(?:y|ies)|rules?|restrictions?|controls?|checks?|filters?|filtering|configuration|settings?|profile|gate|requirements?|protections?|safeguards?|isolation|validators?|limits?|guard(?:s|rails)?)|" +
		"firewall|sandbox(?:ing)?|seccomp|apparmor|selinux|(?:human |operator |manual )?approvals?(?: (?:gate|requirement|step|process|checks?)s?)?|(?:require_)?signatures?(?: (?:check|verification|requirement))?s?|require_signature|allow_self_approval|validators?|validation (?:steps?|checks?|rules|gate|phase|stage)|quarantine|" +
		"guard ?rails?|safeguards?|safety (?:checks?|filters?|rules|measures)|secrets?[ .]scan(?:ning|ner)?|network (?:restrictions?|access|isolation|mode)|internet access|egress|antivirus|read-only (?:root|mount|file ?system))"},
	{"{CHG}", "(?:disable|waive|scrap|turn off|switch off|shut off|bypass|circumvent|remove|relax|loosen|weaken|lift|override|change|modify|update|edit|adjust|amend|extend|expand|widen|broaden|open(?: up)?|exempt|skip|ignore|suspend|deactivate|drop|delete|reconfigure|rewrite|replace|unlock|whitelist|drop|clear|reduce|lower|stop enforcing|get rid of|enable)"},
	{"{CHGD}", "(?:disabled|waived|opened|abolished|scrapped|turned off|switched off|bypassed|circumvented|removed|relaxed|loosened|weakened|lifted|overrid(?:den|ed)|changed|modified|updated|edited|adjusted|amended|extended|expanded|widened|broadened|opened(?: up)?|exempted|skipped|ignored|suspended|deactivated|dropped|deleted|reconfigured|rewritten|replaced|unlocked|cleared|reduced|lowered|made (?:more )?(?:permissive|lenient|less strict)|less strict|more (?:permissive|lenient|relaxed)|enabled)"},
	{"{HOST}", "(?:(?:[a-z0-9-]+\\.)+(?:com|net|org|io|dev|app|xyz|info|biz|co|ai|sh|me|ru|cn|tk|top|site|online|cloud|example|test|local|internal|onion|us|uk|de|edu|gov)\\b|\\d{1,3}(?:\\.\\d{1,3}){3}|\\*\\.[a-z0-9.-]+|0\\.0\\.0\\.0/0)"},
}

// lead is what must stand in front of a match.
type lead int

const (
	anything   lead = iota
	addressed       // words that turn to the reader: {ADDR}{ADV}
	ordered         // those, or any place where a verb is an order: {IMP}
	controlled      // a security control, a few words before
	advised         // as addressed, or what someone may or should do
)

// maxLead is how far back a lead is looked for.
const maxLead = 220

var leads = sync.OnceValue(func() map[lead]*regexp.Regexp {
	return map[lead]*regexp.Regexp{
		addressed:  pattern(`(?:^|\W){ADDR}{ADV}$`),
		ordered:    pattern(`(?:{IMP}|{ADDR}{ADV})$`),
		advised:    pattern(`(?:^|\W)(?:{ADDR}{ADV}|(?:operators?|admin(?:istrator)?s?|users?|you|we|one|they|core|someone|the (?:node|gate|team)) (?:may|might|could|can|would|will|should|must|need|have|ought|are advised|are encouraged)(?: (?:now|also|well|want|wish|like|consider|have|need|safely))*(?: to)?\s+|(?:consider|suggest|recommend|advise|propose)(?:s|ed|ing)?(?: to)?\s+)$`),
		controlled: pattern(`\b(?:{CTRL})\b[^\n!?]{0,70}$`),
	}
})

// pattern expands the fragments of s and compiles it. Patterns are constants: a
// mistake in one shows in the first test.
func pattern(s string) *regexp.Regexp {
	for i := len(fragments) - 1; i >= 0; i-- {
		s = strings.ReplaceAll(s, fragments[i][0], fragments[i][1])
	}
	return regexp.MustCompile(wrapped(s))
}

// wrapped lets a blank of a pattern match the end of a line that goes on too.
func wrapped(s string) string {
	var b strings.Builder
	class := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			b.WriteString(s[i : i+2])
			i++
		case c == '[' && !class:
			class = true
			b.WriteByte(c)
		case c == ']' && class:
			class = false
			b.WriteByte(c)
		case c == ' ' && class:
			b.WriteString(` \f`)
		case c == ' ':
			b.WriteString(`[ \f]`)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

var (
	reportVerb = regexp.MustCompile(`\b(?:input|file|document|text|output|page|data|row|cell|comment|program|script|request|content|payload|response|line|string|message|source|stdout|stderr|field|record|it|which|that)\w*\b[^\n]{0,80}\b(?:contain(?:s|ed|ing)?|ask(?:s|ed|ing)?|request(?:s|ed|ing)|instruct(?:s|ed|ing)|attempt(?:s|ed|ing)?|tr(?:ies|ied|ying)|claim(?:s|ed|ing)|suggest(?:s|ed|ing)|told|telling|said|says|saying|demand(?:s|ed|ing)|includ(?:es|ed|ing)|propos(?:es|ed|ing)|embedded|urg(?:es|ed|ing)|want(?:s|ed|ing)|appear(?:s|ed)|held|holds|present|found|seen)\b`)
	notDone    = regexp.MustCompile(`\b(?:(?:was|were|is|are|has|have)?(?: been)? ?not (?:been )?(?:follow|execut|obey|act|perform|appl|done|run|honou?r|carried|comply|complied|fetch|download|install|changed)\w*|n(?:o|one) (?:such )?(?:action|change|instruction|step|effect)s?\b[^\n]{0,30}|ignored|refused|rejected|disregarded|blocked|denied|discarded|treated as (?:untrusted |plain )?data|nothing was (?:done|run|changed|executed|fetched)|had no effect)\b`)
	actionable = pattern(`{URL}|{HARM}|{HOST}|allowed_domains|shell_allow|require_signature\s*[:=]|\x60[^\x60\n]{3,}\x60`)
)

// reported says that the text around a match reports a demand that was not
// met, and repeats nothing that could be acted on.
func reported(around []byte) bool {
	return reportVerb.Match(around) && notDone.Match(around) && !actionable.Match(around)
}
