package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/executors/container"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/confine"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/spool/durable"
)

func newLogs(a *app) *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:   "logs REQUEST",
		Short: "Print what a run wrote, while it runs and after",
		Long: `logs prints the captured streams of a request's run: standard output to standard
output, standard error to standard error. They are what the program wrote before any rule
judged it, secrets included: for operators, not for CORE. On a terminal, control
characters are made visible; a file or a pipe gets the bytes. With --json each line is an
object with stream and text.

With -f it waits for the run to begin, and ends with it.`,
		Example: `  threegate logs TR-20260209-160501Z-python-stats
  threegate logs -f TR-20260209-160501Z-python-stats
  threegate logs TR-20260209-160501Z-python-stats 2>/dev/null | less`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeRequests,
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := a.LoadNode()
			if err != nil {
				return err
			}
			if err := a.DropPrivileges(confine.Needs{Read: append(cli.NodeFolders(l), l.RunDir())}); err != nil {
				return err
			}
			r, err := a.find(l, args[0])
			if err != nil {
				return err
			}
			return a.logs(cmd.Context(), l, r.RequestID, follow)
		},
	}
	a.NodeFlag(cmd)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the run has ended")
	return cmd
}

// logs prints what there is of a run's streams and, if it follows, what comes.
func (a *app) logs(ctx context.Context, l *config.Node, id string, follow bool) error {
	streams := []*logStream{
		{name: ledger.FileStdout, out: a.UI.Out, visible: a.UI.OutTTY},
		{name: ledger.FileStderr, out: a.UI.Err, visible: a.UI.ErrTTY},
	}
	if a.JSON {
		streams[1].out = a.UI.Out
	}
	watch := view.Follow(l, id)
	for {
		f, err := watch.Look() // before the streams: what ended by then has written all
		if err != nil {
			return cli.Troublef(err, cli.RecordHint(err, l.Dir), "can't look for %s", id)
		}
		switch {
		case f.State == ledger.StateQuarantined:
			return cli.NotFoundf("threegate quarantine show "+id+a.NodeArg()+" says why",
				"%s was refused: nothing of it ran", id)
		case f.State == ledger.StateWaiting, f.State == ledger.StateAdmitted:
			if !follow {
				a.UI.Say("%s has not begun to run", id)
				return nil
			}
		default:
			for _, s := range streams {
				if err := s.readOn(l, f.Job, a.JSON); err != nil {
					return cli.Troublef(err, "", "can't read what %s wrote", id)
				}
			}
			if !follow || f.State != ledger.StateRunning {
				return a.endLogs(streams, id)
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pollEvery):
		}
	}
}

func (a *app) endLogs(streams []*logStream, id string) error {
	there := false
	for _, s := range streams {
		there = there || s.found
		if err := s.flush(a.JSON); err != nil {
			return err
		}
	}
	if !there {
		return cli.NotFoundf("the folder of its job was moved away, or its run was interrupted before it wrote",
			"nothing is left of what %s wrote", id)
	}
	return nil
}

// logStream is one stream of a run, as far as it was printed.
type logStream struct {
	name    string
	out     io.Writer
	visible bool
	at      int64
	found   bool
	part    []byte // a line that has not ended
}

const (
	logChunk   = 64 << 10
	maxLogLine = 64 << 10 // of a line that is shown as one
)

// readOn prints what came. The files in the sandbox's folder and in the job's hold the same bytes.
func (s *logStream) readOn(l *config.Node, job string, asJSON bool) error {
	stdout, stderr := container.StreamPaths(l.RunDir(), job)
	live := map[string]string{ledger.FileStdout: stdout, ledger.FileStderr: stderr}[s.name]
	buf := make([]byte, logChunk)
	for {
		n, err := s.read(live, buf)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) { // that of a run is root's
			var dir string
			if dir, err = view.JobDir(l, job); err == nil {
				n, err = s.read(filepath.Join(dir, s.name), buf)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		s.found = true
		if n == 0 {
			return nil
		}
		if err := s.print(buf[:n], asJSON); err != nil {
			return err
		}
	}
}

// read reads on in a regular file; 0 is its end.
func (s *logStream) read(path string, buf []byte) (int, error) {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err := f.ReadAt(buf, s.at)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	s.at += int64(n)
	return n, nil
}

// print writes raw bytes, or whole lines as they can be shown.
func (s *logStream) print(data []byte, asJSON bool) error {
	if !asJSON && !s.visible {
		_, err := s.out.Write(data)
		return err
	}
	s.part = append(s.part, data...)
	for {
		n := bytes.IndexByte(s.part, '\n')
		switch {
		case n >= 0:
		case len(s.part) > maxLogLine:
			n = maxLogLine
		default:
			return nil
		}
		if err := s.line(s.part[:n], asJSON); err != nil {
			return err
		}
		s.part = bytes.TrimPrefix(s.part[n:], []byte("\n"))
	}
}

func (s *logStream) flush(asJSON bool) error {
	if len(s.part) == 0 {
		return nil
	}
	defer func() { s.part = nil }()
	return s.line(s.part, asJSON)
}

func (s *logStream) line(text []byte, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(s.out).Encode(map[string]string{"stream": s.name, "text": string(text)})
	}
	_, err := fmt.Fprintln(s.out, term.Visible(string(text)))
	return err
}
