package reach

import (
	_ "embed"
	"regexp"
	"strings"
)

//go:embed spoken.txt
var spokenText string

var (
	spokenPatterns = readPatterns(spokenText)

	// Devices that prose asks for without a path, and rights over all of them.
	spokenDevice = []*regexp.Regexp{
		spokenPatterns.compile("device-name"), spokenPatterns.compile("device-handed"),
		spokenPatterns.compile("device-raw"), spokenPatterns.compile("privileges"),
	}
	// What prose says of the host's files without a path, or with one that is no
	// place of the sandbox.
	hostFiles  = spokenPatterns.compile("host-files")
	spokenPath = []*regexp.Regexp{spokenPatterns.compile("walks"), spokenPatterns.compile("reads")}
	onTheWeb   = spokenPatterns.compile("web")

	denial       = spokenPatterns.compile("denial")
	deniedBehind = spokenPatterns.compile("denied-after")
	conclusion   = spokenPatterns.compile("conclusion")
)

// spokenPaths looks for places outside the sandbox that prose names in words.
func (f *finder) spokenPaths() {
	for _, m := range hostFiles.FindAllStringSubmatchIndex(f.text, MaxRefs) {
		f.add(Host, m[2], m[3])
	}
	if !strings.Contains(f.text, " /") || onTheWeb.MatchString(f.text) {
		return
	}
	for _, re := range spokenPath {
		for _, m := range re.FindAllStringSubmatchIndex(f.text, MaxRefs) {
			if !Allowed(f.text[m[2]:m[3]]) {
				f.add(Host, m[2], m[3])
			}
		}
	}
}

// spokenDevices looks for devices that prose asks for in words.
func (f *finder) spokenDevices() {
	for _, re := range spokenDevice {
		for _, m := range re.FindAllStringSubmatchIndex(f.text, MaxRefs) {
			f.add(Device, m[2], m[3])
		}
	}
}

// reachOfDenial is how many bytes behind its word a denial may still reach.
const reachOfDenial = 400

// denied says whether the sentence denies that the run goes to a place that it names.
func (f *finder) denied(r Ref) bool {
	before := f.text[max(0, r.Offset-reachOfDenial):r.Offset]
	if m := conclusion.FindAllStringIndex(before, -1); m != nil {
		before = before[m[len(m)-1][0]:]
	}
	for i := len(before) - 1; i > 0; i-- {
		if before[i] == ' ' && strings.IndexByte(".!?;", before[i-1]) >= 0 {
			before = before[i:]
			break
		}
	}
	return denial.MatchString(before) || deniedBehind.MatchString(f.text[r.End:])
}
