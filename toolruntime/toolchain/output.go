package toolchain

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/judge"
	"github.com/threegate/tool-exec/toolruntime/proc"
)

const (
	maxViolations = 100
	maxPlaces     = 10_000
	maxMessage    = 500  // bytes of one line
	maxTail       = 2000 // bytes of output in a message
)

// place is how compilers and linters name where something is.
var place = regexp.MustCompile(`^\s*(?:vet: |Diff in )?([^\s:][^:]*\.\w+):(\d+)(?::\d+)?(?::\s*(.*))?$`)

// listers print what they would change, and end with 0.
var listers = []string{"gofmt", "gofumpt", "goimports"}

// broken is what a command found, or nil if it passed.
func (j Job) broken(argv []string, out proc.Output) (found []judge.Violation) {
	lists := slices.Contains(listers, argv[0]) && slices.Contains(argv, "-l")
	if out.Code == 0 && !(lists && strings.TrimSpace(out.Stdout) != "") {
		return nil
	}
	if out.Code == 0 {
		for line := range strings.Lines(out.Stdout) {
			found = append(found, judge.Violation{Path: j.relative(strings.TrimSpace(line)),
				Message: "is not formatted", Hint: argv[0] + " -w mends it"})
		}
		return found[:min(len(found), maxPlaces)]
	}
	found = j.places(out.Stdout + "\n" + out.Stderr)
	if len(found) == 0 {
		found = []judge.Violation{{Message: fmt.Sprintf("%s ended with code %d: %s", shown(argv), out.Code,
			tail(out.Stdout+"\n"+out.Stderr))}}
	}
	return found
}

// places finds lines of an output that name a line of a file of the tree.
func (j Job) places(text string) (found []judge.Violation) {
	for line := range strings.Lines(text) {
		m := place.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil || len(found) == maxPlaces {
			continue
		}
		if path := j.relative(m[1]); path != "" {
			no, _ := strconv.Atoi(m[2])
			if m[3] == "" {
				m[3] = "it is refused here"
			}
			found = append(found, judge.Violation{Path: path, Line: no, Message: contract.Shorten(m[3], maxMessage)})
		}
	}
	return found
}

// shown is a command line for people, without a long list of files.
func shown(argv []string) string {
	if len(argv) > 8 {
		argv = append(slices.Clone(argv[:8]), "...")
	}
	return strings.Join(argv, " ")
}

// tail is the end of an output.
func tail(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > maxTail {
		text = "..." + strings.ToValidUTF8(text[len(text)-maxTail:], "")
	}
	return text
}
