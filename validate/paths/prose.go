package paths

import (
	"regexp"
	"slices"
	"strings"
)

// Devices that prose asks for without a path.
var spokenDevice = []*regexp.Regexp{
	// By the kernel's name for one: "raw access to the first disk (sda)".
	regexp.MustCompile(`(?i)\b(?:(?:raw|direct|exclusive|write|full) access|mount|attach|expose|pass|dd|image|kernel log|boot|format)s?\b[^.;]{0,40}\b((?:dev/)?(?:tty(?:USB|ACM|S)\d+|nvme\d+n\d+(?:p\d+)?|sd[a-z]\d{0,2}|mmcblk\d+\w*|nvidia\d+|kmsg|kvm))\b`),
	// What is handed into the sandbox.
	regexp.MustCompile(`(?i)\b(?:pass|attach|expose|map|mount|plug|bind|forward|hand|give|share)\w*\b[^.;]{0,40}?\b(webcam|camera|usb (?:stick|drive|disk|device|port|key)s?|gpus?|graphics card|serial port|sound card|microphone|block devices?|raw disk|device nodes?)\b[^.;]{0,40}?\b(?:through|into|in|to|of|from|so|and)\b`),
	regexp.MustCompile(`(?i)\b(?:raw|direct|exclusive|write) access to (?:the |a |its )?(?:\w+ )?(?:\w+'s )?(block devices?|disks?|drives?|memory|gpus?|graphics card|hardware|kernel memory|i2c bus|gpio(?: pins)?|serial port)\b`),
	// Rights over all of them.
	regexp.MustCompile(`(?i)(--privileged\b|--device[ =]|\bprivileged (?:mode|container|devices?)\b|\b(?:run|runs|start|started|running) (?:\w+ ){0,3}privileged\b|\bCAP_SYS_(?:ADMIN|RAWIO)\b|\bSYS_ADMIN\b)`),
}

// What prose says of the host's files without a path, or with one that is no
// place of the sandbox.
var (
	hostFiles = regexp.MustCompile(`(?i)\b((?:host|machine|server|operator|node|gateway)(?:'s|’s|s')? (?:whole |entire |root |own )?(?:file ?systems?|home (?:directory|directories|folder|folders)|root (?:directory|folder)|/home))\b`)
	walksHome = regexp.MustCompile(`(?i)\b(?:walk|scan|list|search|traverse|crawl|index|back up|backs up|copy|copies|everything|files|folders)(?:e?s|ing)?\b[^.;]{0,40}\s(/(?:home|srv|mnt|media|data|backup|models|work|workspace))(?:[\s.,;:]|$)`)
	readsFile = regexp.MustCompile(`(?i)\b(?:reads?|takes?|loads?|lies|lie|from|opens?|uses?|copies|copy|compares?|imports?|stored|saved|kept|writes?)\b[^.;]{0,50}?\s((?:/[\w.@+-]+){2,}\.(?:csv|tsv|sql|bin|json|jsonl|txt|gz|tgz|zip|tar|db|sqlite|parquet|ya?ml|toml|ini|conf|log|pem|key|crt|dump|xlsx?|docx?|pdf|md|pkl|pt|onnx|npy))(?:[\s.,;:]|$)`)
	onTheWeb  = regexp.MustCompile(`(?i)\b(?:endpoints?|routes?|urls?|pages?|requests?|hits|visits|site|website|GET|POST|api|sitemap|links?|crawler|web ?server)\b`)
)

// spokenPaths calls add for each place outside the sandbox that prose names in words.
func spokenPaths(text string, add func(kind Kind, from, to int)) {
	if hostMarks := []string{"system", "directo", "folder", "/home"}; slices.ContainsFunc(hostMarks, func(mark string) bool { return strings.Contains(text, mark) }) {
		for _, m := range hostFiles.FindAllStringSubmatchIndex(text, MaxRefs) {
			add(Host, m[2], m[3])
		}
	}
	if !strings.Contains(text, " /") || onTheWeb.MatchString(text) {
		return
	}
	for _, re := range []*regexp.Regexp{walksHome, readsFile} {
		for _, m := range re.FindAllStringSubmatchIndex(text, MaxRefs) {
			if !Allowed(text[m[2]:m[3]]) {
				add(Host, m[2], m[3])
			}
		}
	}
}

// deviceMarks are parts of words one of which stands in whatever a pattern of spokenDevice matches.
var deviceMarks = [][]string{
	{"tty", "nvme", "sd", "mmcblk", "nvidia", "kmsg", "kvm"},
	{"ebcam", "amera", "usb", "USB", "gpu", "GPU", "raphics card", "erial port", "ound card", "icrophone", "lock device", "raw disk", "evice node"},
	{" access to "},
	{"rivileged", "--device", "SYS_"},
}

// spokenDevices calls add for each device that prose asks for in words.
func spokenDevices(text string, add func(kind Kind, from, to int)) {
	for i, re := range spokenDevice {
		if !slices.ContainsFunc(deviceMarks[i], func(mark string) bool { return strings.Contains(text, mark) }) {
			continue
		}
		for _, m := range re.FindAllStringSubmatchIndex(text, MaxRefs) {
			add(Device, m[2], m[3])
		}
	}
}
