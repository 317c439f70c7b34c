package content

// fetchRows are instructions to get something from elsewhere.
func fetchRows() []row {
	address := []string{"://", "]//", "www.", "data:", "file:"}
	rows := []row{
		{name: "fetch-url", what: "an instruction to download from an address", near: []string{"^download", "^fetch", "^retrieve", "clone", "^grab", "^pull"}, also: address, lead: ordered, reportable: true,
			re: pattern(`\b(?:re-?)?(?:download|fetch|retrieve|(?:git )?clone|grab|pull)\s+{G80}{URL}`)},
		{name: "fetch-command", what: "an instruction to download from an address", near: []string{"^curl", "^wget", "^aria2c", "invoke-webrequest", "^iwr"}, reportable: true,
			re: pattern(`(?:[!?:;]\s+|["'(\x60]|\b(?:then|now|next|just|simply|and|run|execute|use|using|via|with|type|try|please|must|should|can|to)[ :,]+["'\x60]?)(?:curl|wget|aria2c|httpie|invoke-webrequest|iwr)\s+(?:{G80}{URL}|(?:-\S+\s+)*{HOST}/\S)`)},
		{name: "upload", what: "a command that sends a file away", near: []string{"^curl", "^wget"}, reach: [2]int{4, 220},
			re: pattern(`\bcurl\s[^\n]{0,160}?(?:-d|--data[a-z-]*|-f|--form|-t|--upload-file)[ =]*["']?\S*@?(?:/|~|\S*\.env|@)|\bwget\s[^\n]{0,160}?--post-file`)},
		{name: "watch-url", what: "an instruction to watch an address", near: address, lead: ordered, reach: [2]int{40, 140}, reportable: true,
			re: pattern(`\b(?:check|poll|monitor|watch|query)\s+{URL}{G40}\b(?:every|each|regularly|periodically|for (?:new |further )?(?:commands?|instructions?|tasks?|updates?))\b`)},
		{name: "open-link", what: "the reader is sent to an address", near: address, lead: ordered, reach: [2]int{130, 20}, reportable: true,
			re: pattern(`\b(?:open|visit|follow|click(?: on)?|go to)\s+(?:this|the|that|the following)\s+(?:link|url|page|site|website|address)\b{G80}{URL}`)},
		{name: "use-url", what: "an instruction to get or send something over the network", near: address, lead: ordered, reach: [2]int{90, 20}, reportable: true,
			re: pattern(`\b(?:load|import|install|update|upgrade|query|contact|post|upload|consult|retrieve|obtain|request|call|poll|ping|reach)\s+[^\n!?"']{1,60}?\b(?:from|at|to|on|via|with|by requesting|by calling)\s+[\x60<]?{URL}|\b(?:consult|query|contact|load|poll|ping)\s+{URL}`)},
		{name: "url-then-fetch", what: "an instruction to fetch an address", near: address, reach: [2]int{10, 160}, reportable: true,
			re: pattern(`{URL}[^\n!?]{0,40}?(?:[;,:]|\band\b|\bthen\b|-)\s*(?:please |then |now |you must |you should )?(?:fetch|download|retrieve|open|run|execute|follow|install|load|read|carry)\s+(?:it|them|that|this)\b`)},
		{name: "metadata", what: "an instruction to reach a cloud's metadata service", near: []string{"169.254.169.254", "metadata.google", "100.100.100.200"}, lead: anything, reach: [2]int{80, 20}, reportable: true,
			re: pattern(`\b(?:query|request|curl|fetch|access|read|open|get|call|visit|wget)\s+{G40}(?:169\.254\.169\.254|metadata\.google|100\.100\.100\.200)`)},
		{name: "go-to", what: "the reader is sent to an address to act there", near: address, lead: ordered, reportable: true,
			re: pattern(`\b(?:visit|open|go to|consult|proceed to|continue (?:to|at|on)|navigate to|browse(?: to)?|access|follow|click(?: on)?|load|get|request|call|query|read|connect to|head to|log ?in (?:to|at)|check)\s+{G40}(?:{URL}|www\.\S+){G40}(?:,|\band\b|\bthen\b|\bto\b)\s*(?:then |and )?(?:{RUN}|install|download|follow|enter|paste|submit|copy|do|log ?in|sign ?in|authenticate|verify|apply|execute|fetch|complete|confirm|perform|carry|obey|retrieve|get|continue|receive|obtain|unlock)`)},
		{name: "click-here", what: "the reader is sent to an address", near: address, reach: [2]int{80, 20}, reportable: true,
			re: pattern(`\b(?:click|tap|press)\s+(?:here|below|(?:on )?(?:the|this) (?:link|button))\b{G40}{URL}`)},
		{name: "call-on", what: "an order to use a tool on an address", near: address, lead: addressed, reach: [2]int{80, 20}, reportable: true,
			re: pattern(`\b(?:call|invoke|use|run|hit|ping|query|poll|contact)\s+{G40}(?:on|with|against|at|for)?\s*{URL}`)},
		{name: "must-go-to", what: "the reader is sent to an address", near: address, reportable: true,
			re: pattern(`\b(?:you (?:must|need to|have to|are required to|should (?:now|immediately))|immediately|the (?:assistant|agent|ai|model|core) (?:must|should|needs to))\s+(?:\w+ly )?(?:visit|open|go to|navigate to|browse(?: to)?|access|follow|click(?: on)?|load|get|request|call|query|read|connect to)\s+{G40}(?:{URL}|www\.\S+)`)},
		{name: "fetch-thing", what: "an instruction to download and use something", near: []string{"^download", "^fetch", "^retrieve", "clone", "^pull", "^obtain"}, lead: addressed, reportable: true,
			re: pattern(`\b(?:download|fetch|retrieve|clone|pull(?: down)?|obtain)\s+(?:and (?:run|execute|install|open|use|apply|follow)\s+)?(?:{THING}|(?:the |a |an |this |our |latest |new |additional |second |next |missing |required |updated ){1,4}[a-z0-9_. -]{0,40}\b(?:files?|stage|tool|package|update|patch|model|key|instructions?|config(?:uration)?|archive|image|payload|dataset|module|plugin|data)\b[^\n!?]{0,40}\b(?:from|at|via|using|over)\b)`)},
		{name: "fetch-host", what: "an instruction to download from a host", near: []string{"^download", "^fetch", "^retrieve"}, lead: ordered, reportable: true,
			re: pattern(`\b(?:download|fetch|retrieve)\s+{G40}\b(?:from|at)\s+[\x60"'<]*{HOST}`)},
		{name: "bare-fetch", what: "a download of something executable laid out to be run", near: []string{"curl", "wget", "aria2c", "invoke-webrequest", "iwr ", "git clone"},
			re: pattern(`{BOL}["'\x60]*(?:sudo\s+)?(?:(?:curl|wget|aria2c|invoke-webrequest|iwr)\s[^\n]{0,200}?https?://(?:\d+\.\d+\.\d+\.\d+|[^\s/]*(?:pastebin|raw\.githubusercontent|gist\.|transfer\.sh|ngrok|\.onion|bit\.ly|tinyurl|temp\.sh|0x0\.st|file\.io|anonfiles|discordapp|webhook\.site|requestbin|burpcollaborator|oast|evil|attacker|malicious|malware)|[^\s"']*\.(?:sh|exe|ps1|py|bin|elf|run|deb|rpm|msi|jar|apk|bat|dll|so|pl|rb|php|vbs|hta)(?:\s|$|["'?;&]))|git\s+clone\s+\S+[^\n]{0,100}(?:&&|;|[\n\f])[^\n]{0,60}\b(?:make|install|bash|sh|python|\./))`)},
		{name: "image", what: "a Markdown image whose address carries data or tracks", near: []string{"!["},
			re: pattern(`!\[[^\]\n]{0,200}\]\(\s*<?(?:https?:)?//[^)\s>]+`), unless: pattern(`\]\(\s*<?(?:https?:)?//[^)\s?&={}$]+\.(?:png|jpe?g|gif|svg|webp|ico|bmp)(?:\?(?:style|branch|svg|label|logo|raw|v|sanitize|w|h|width|height|size)=[\w.%-]{1,30}(?:&\w{1,12}=[\w.%-]{1,30}){0,4})?[)\s">]|\]\(\s*<?(?:https?:)?//(?:img\.shields\.io|badge\.fury\.io|badges?\.|codecov\.io|coveralls\.io|travis-ci|circleci\.com|github\.com/[^)\s]+badge|api\.travis|readthedocs\.org|zenodo\.org|pepy\.tech|app\.codacy)`)},
		{name: "tracking-image", what: "a Markdown image that tracks or leaks", near: []string{"!["},
			re: pattern(`!\[[^\]\n]{0,200}\]\(\s*<?(?:https?:)?//[^)\s>]*(?:track|pixel|beacon|exfil|collect|leak|steal|evil|attacker|malicious|callback|webhook|ngrok|requestbin|oast|\d+\.\d+\.\d+\.\d+)[^)\s>]*`)},
		{name: "link", what: "a link that the reader is told to follow", near: []string{"]("}, reportable: true,
			re: pattern(`\[[^\]\n]{0,60}\b(?:click (?:here|this|to|now)|run (?:this|now|it)|execute|download (?:and|this|now|it)|install (?:now|this|it)|follow this|verify (?:your|now|here)|update now|open this|fetch this|login here|claim)\b[^\]\n]{0,60}\]\(\s*<?(?:(?:https?:)?//|javascript:|data:|vbscript:)`)},
		{name: "active-link", what: "a link with an active address", near: []string{"javascript:", "vbscript:"},
			re: pattern(`(?:\]\(\s*<?|(?:href|src|action)\s*=\s*["']?\s*)(?:javascript|vbscript):`)},
		{name: "next-request", what: "an instruction to reach the network", near: []string{"http request", "get request", "post request", "api call", "dns lookup", "connection to", "request to"}, lead: ordered, reportable: true,
			re: pattern(`\b(?:make|send|issue|perform|do|open|establish|initiate)\s+(?:an? |the |another )?(?:\w+ ){0,3}(?:(?:http|https|get|post|put|web|network|api|dns|curl)\s+(?:request|call|lookup|query|connection)|connection|request)s?\s+(?:to|for|against|with)\s+[\x60"'<]*(?:{URL}|{HOST}|\w+ server)`)},
	}
	for i := range rows {
		rows[i].rule = RuleFetch
	}
	return rows
}
