package proc

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

const (
	listTime = 10 * time.Second
	maxShown = 4096
)

type listArgs struct {
	Filter string `json:"filter,omitempty" jsonschema:"a regular expression (RE2) that the command line matches"`
	Limit  int    `json:"limit,omitempty"`
}

// listResult is the result of proc_list, by pid.
type listResult struct {
	Processes []Process `json:"processes"`
	Truncated bool      `json:"truncated"`
}

// Process is one process. CPU is the share of a processor since its start.
type Process struct {
	PID   int     `json:"pid"`
	Cmd   string  `json:"cmd"`
	CPU   float64 `json:"cpu"`
	MemMB float64 `json:"mem_mb"`
}

// Check says whether the filter compiles, before anything runs.
func (a listArgs) Check() error {
	if _, err := regexp.Compile(a.Filter); err != nil {
		return contract.Errorf(contract.Validation, "the filter does not compile: %v", err).
			WithHint("the syntax is RE2's, without backreferences and look-around")
	}
	return nil
}

func list(ctx context.Context, r *registry.Registry, a listArgs) (listResult, error) {
	if err := a.Check(); err != nil {
		return listResult{}, err
	}
	filter := regexp.MustCompile(a.Filter)
	procs, err := procfs.AllProcs()
	if err != nil {
		return listResult{}, contract.Errorf(contract.FileIO, "%v", err)
	}
	slices.SortFunc(procs, func(a, b procfs.Proc) int { return a.PID - b.PID })
	found := listResult{Processes: []Process{}}
	for _, p := range procs {
		if ctx.Err() != nil {
			return listResult{}, ctx.Err()
		}
		shown, ok := look(p, r.Secrets)
		if !ok || !filter.MatchString(shown.Cmd) {
			continue
		}
		if found.Truncated = len(found.Processes) == a.Limit; found.Truncated {
			break
		}
		found.Processes = append(found.Processes, shown)
	}
	return found, nil
}

// look reads one process, which may end meanwhile. Secrets of its command line are masked; where nothing finds them,
// only the name of its program is shown.
func look(p procfs.Proc, finder contract.SecretFinder) (Process, bool) {
	stat, err := p.Stat()
	if err != nil {
		return Process{}, false
	}
	words, err := p.CmdLine()
	if err != nil {
		return Process{}, false
	}
	cmd := strings.Join(words, " ")
	if cmd == "" || finder == nil {
		cmd = "[" + stat.Comm + "]"
	} else {
		cmd = mask(cmd, finder)
	}
	cmd = strings.ToValidUTF8(cmd[:min(len(cmd), maxShown)], "\uFFFD")
	out := Process{PID: p.PID, Cmd: cmd, MemMB: float64(stat.ResidentMemory()) / (1 << 20)}
	if started, err := stat.StartTime(); err == nil {
		if alive := float64(time.Now().UnixMilli())/1000 - started; alive > 0 {
			out.CPU = stat.CPUTime() / alive
		}
	}
	return out, true
}

// password is one in a command line that looks like no secret by itself: of a variable, an option or a mysql's -p.
var password = regexp.MustCompile(`(?i)((?:^|\s)(?:[a-z0-9_]*(?:password|passwd|pwd)|--?(?:password|passwd))[= ]|(?:^|\s)-p)(\S+)`)

// masked takes the place of a secret.
const masked = "[masked]"

func mask(cmd string, finder contract.SecretFinder) string {
	cmd = password.ReplaceAllString(cmd, "${1}"+masked)
	var out strings.Builder
	at := 0
	finder.FindSecrets([]byte(cmd), func(start, end int, _ string) {
		if start >= at {
			out.WriteString(cmd[at:start] + masked)
		}
		at = max(at, end)
	})
	return out.String() + cmd[at:]
}
