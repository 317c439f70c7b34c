package node

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// serviceUnit is what the package installs.
const serviceUnit = "/usr/lib/systemd/system/threegate.service"

const (
	// serveTime bounds how long a node may take until it serves.
	serveTime  = 5 * time.Minute
	servePause = 200 * time.Millisecond
)

// The first request: a program, and its input.
const (
	firstProgram = `import csv

with open("data.csv") as f, open("/out/sum.txt", "w") as out:
    print(sum(int(row["v"]) for row in csv.DictReader(f)), file=out)
`
	firstData = "name,v\na,1\nb,5\n"
)

func newQuickstart(a *app) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "quickstart",
		Short: "Take a first request from its draft to its result, step by step",
		Long: `quickstart shows each command that brings a request to its result, says in a line what
it does, and runs it: it drafts a request for a small program, asks you to approve it,
promotes it, waits, and prints the result.

It uses the node that is there. Without one it makes one in ` + cli.DefaultNode + `, or in
the folder named with --node. If the node is not served, quickstart starts the service
of the package, or serves the node itself until it ends.`,
		Example: `  sudo threegate quickstart
  sudo threegate quickstart --node ~/node --yes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := &quickstart{app: a, ctx: cmd.Context()}
			return q.run(yes)
		},
	}
	a.NodeFlag(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "approve without asking")
	return cmd
}

// quickstart runs threegate's own commands: each in a process of its own, as those that read
// documents give up their rights.
type quickstart struct {
	*app
	ctx  context.Context
	self string
	step int
}

func (q *quickstart) run(yes bool) (err error) {
	if q.self, err = os.Executable(); err != nil {
		return cli.Troublef(err, "", "can't find this program")
	}
	node, err := q.findNode()
	if err != nil {
		return err
	}
	stop, err := q.serve(node)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	work, err := os.MkdirTemp("", "threegate-quickstart-")
	if err != nil {
		return cli.Troublef(err, "", "there is no room for the request")
	}
	defer os.RemoveAll(work)
	program, data := filepath.Join(work, "sum.py"), filepath.Join(work, "data.csv")
	for file, text := range map[string]string{program: firstProgram, data: firstData} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return cli.Troublef(err, "", "there is no room for the request")
		}
	}
	if err := q.tell("A request names a program, its inputs and its outputs. Who drafts it is not who approves it.",
		"draft", "ERA", "--language", "python", "--purpose", "Sum a column", "--requested-by", "CORE", "--slug",
		"quickstart", "--input", program, "--input", data, "--output", "sum.txt", "--command", "python sum.py",
		"--output-file", work); err != nil {
		return err
	}
	drafts, err := filepath.Glob(filepath.Join(work, "TR-*.md"))
	if err != nil || len(drafts) != 1 {
		return cli.Troublef(errors.Join(err, fmt.Errorf("drafts: %v", drafts)), "", "the draft is not there")
	}
	request, id := drafts[0], strings.TrimSuffix(filepath.Base(drafts[0]), ".md")
	approve := []string{"approve", request, "--as", cmp.Or(q.Getenv("SUDO_USER"), "operator")}
	if yes {
		approve = append(approve, "--yes")
	}
	if err := q.tell("A person looks at exactly what would run, and approves these bytes and no others.",
		approve...); err != nil {
		return err
	}
	if err := q.tell("Promoted, it lies in the node's inbox: the node takes it, checks it again, and runs it.",
		"promote", request, "--node", node); err != nil {
		return err
	}
	return q.result(node, id)
}

// result waits for the answer and shows it.
func (q *quickstart) result(node, id string) error {
	var answer bytes.Buffer
	q.say("The answer is a result in CORE's folder, or a reason in quarantine.", "wait", id, "--node", node)
	err := q.command(&answer, "wait", id, "--node", node, "--json")
	if q.JSON {
		_, werr := q.UI.Out.Write(answer.Bytes())
		return errors.Join(err, werr)
	}
	var fate struct {
		State      string `json:"state"`
		ResultPath string `json:"result_path"`
	}
	if jerr := schemas.DecodeOpen(answer.Bytes(), &fate); jerr != nil || fate.ResultPath == "" {
		fmt.Fprintf(q.UI.Out, "%s\n", answer.Bytes())
		return err
	}
	text, rerr := os.ReadFile(fate.ResultPath)
	if rerr != nil {
		return errors.Join(err, cli.Troublef(rerr, "", "the result can't be read"))
	}
	fmt.Fprintf(q.UI.Out, "%s\n%s: %s\n", text, fate.State, fate.ResultPath)
	fmt.Fprintf(q.UI.Out, "Next: threegate doctor%s, and docs/operating.md: who may promote, who approves\n",
		q.NodeArg())
	return err
}

// findNode makes a node if there is none.
func (q *quickstart) findNode() (string, error) {
	l, err := q.LoadNode()
	if err == nil {
		return l.Dir, nil
	}
	dir := cmp.Or(q.Node, cli.DefaultNode)
	if _, serr := os.Lstat(filepath.Join(dir, config.FileName)); !errors.Is(serr, fs.ErrNotExist) {
		return "", err // it is there, and wrong
	}
	call := []string{"init", dir}
	if _, err := os.Stat(serviceUnit); err == nil && dir == cli.DefaultNode {
		call = append(call, "--service")
	}
	return dir, q.tell("A node is a folder: inboxes, jobs, results, quarantine, and the record of every decision.",
		call...)
}

// serve makes sure that the node is served. stop ends what was started for that alone.
func (q *quickstart) serve(node string) (stop func() error, err error) {
	stop = func() error { return nil }
	if served, err := spool.Locked(node); err != nil || served {
		return stop, err
	}
	var child *exec.Cmd
	if _, err := os.Stat(serviceUnit); err == nil && node == cli.DefaultNode {
		q.print("The service runs requests as they come.", "systemctl start threegate")
		start := exec.CommandContext(q.ctx, "systemctl", "start", "threegate")
		start.Stdout, start.Stderr = q.UI.Err, q.UI.Err
		if err := start.Run(); err != nil {
			return stop, cli.Troublef(err, "journalctl -u threegate says why", "the service does not start")
		}
	} else {
		q.say("The node is not served, so it is served until this ends.", "serve", "--node", node)
		child = exec.Command(q.self, "serve", "--node", node)
		child.Stderr = q.UI.Err
		if err := child.Start(); err != nil {
			return stop, cli.Troublef(err, "", "the node can't be served")
		}
	}
	ended := make(chan error, 1)
	if child != nil {
		go func() { ended <- child.Wait() }()
		stop = func() error {
			if err := child.Process.Signal(unix.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return err
			}
			return <-ended
		}
	}
	for end := time.Now().Add(serveTime); ; time.Sleep(servePause) {
		served, err := spool.Locked(node)
		if err != nil || served {
			return stop, err
		}
		select {
		case err := <-ended:
			return func() error { return nil }, cli.Troublef(errors.Join(err, errors.New("it ended")),
				"threegate doctor --node "+node+" says what is missing", "the node can't be served")
		case <-q.ctx.Done():
			return stop, errors.Join(q.ctx.Err(), stop())
		default:
		}
		if time.Now().After(end) {
			return stop, errors.Join(fmt.Errorf("the node is not served after %v", serveTime), stop())
		}
	}
}

// tell says what a step does, shows its command, and runs it.
func (q *quickstart) tell(what string, args ...string) error {
	q.say(what, args...)
	out := q.UI.Out
	if q.JSON { // standard output is for the last answer alone
		out = q.UI.Err
	}
	return q.command(out, args...)
}

func (q *quickstart) say(what string, args ...string) {
	words := []string{"threegate"}
	for _, w := range args {
		if strings.ContainsAny(w, " '") {
			w = "'" + w + "'"
		}
		words = append(words, w)
	}
	q.print(what, strings.Join(words, " "))
}

func (q *quickstart) print(what, command string) {
	q.step++
	out, style := q.UI.Out, q.UI.OutStyle
	if q.JSON {
		out, style = q.UI.Err, q.UI.ErrStyle
	}
	fmt.Fprintf(out, "\n%d. %s\n   %s\n", q.step, what, style.Cyan("$ "+command))
}

// command runs a command of threegate; it prints its own errors.
func (q *quickstart) command(out io.Writer, args ...string) error {
	cmd := exec.CommandContext(q.ctx, q.self, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = q.In, out, q.UI.Err
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		return cli.Verdict(exit.ExitCode())
	}
	return err
}
