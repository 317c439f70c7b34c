package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
)

// stopTime bounds how long a private containerd may take to stop.
const stopTime = 20 * time.Second

func newServe(a *app) *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the node: take in requests, run them, deliver results",
		Long: `serve owns the node until it is told to stop. SIGTERM or Ctrl-C lets runs end within
node.drain; those that are left go on in their containers, and the next start picks
them up. After a crash it goes on where it was: nothing is lost, nothing runs twice.

It logs to stderr, with --json one object a line.`,
		Example: `  threegate serve --node /var/lib/threegate
  threegate serve --json 2>> /var/log/threegate.log`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := a.loadNode()
			if err != nil {
				return err
			}
			level := slog.LevelInfo
			if verbose {
				level = slog.LevelDebug
			}
			return a.serve(cmd.Context(), l, a.logger(level))
		},
	}
	a.nodeFlag(cmd)
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "log details")
	return cmd
}

func (a *app) logger(level slog.Level) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if a.json {
		return slog.New(slog.NewJSONHandler(a.ui.Err, o))
	}
	return slog.New(slog.NewTextHandler(a.ui.Err, o))
}

func (a *app) serve(ctx context.Context, l *config.Loaded, log *slog.Logger) (err error) {
	// A second gate must not even touch containerd.
	if served, err := spool.Locked(l.Dir); err == nil && served {
		return busyFault(l.Dir, spool.ErrLocked)
	}
	cfg, err := executorConfig(l, nodeKey(l.Dir))
	if err != nil {
		return err
	}
	e, err := openExecutor(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		if stopErr := e.Shutdown(stop); stopErr != nil && err == nil {
			err = troublef(stopErr, "", "can't stop containerd")
		}
	}()
	g, err := gate.Open(l, gate.Options{Executor: e, Logger: log})
	if err != nil {
		if errors.Is(err, spool.ErrLocked) {
			return busyFault(l.Dir, err)
		}
		return troublef(err, "", "can't open the node in %s", l.Dir)
	}
	log.Info("serving", "node", l.Node.Name, "dir", l.Dir, "version", buildVersion().Version, "inboxes", len(l.Inboxes), "pid", os.Getpid())
	err = errors.Join(g.Run(ctx), g.Close())
	if err != nil {
		return troublef(err, "start it again: it goes on where it was", "the node stopped")
	}
	log.Info("stopped")
	return nil
}

func busyFault(dir string, err error) error {
	return &fault{exit: exitBusy, code: schemas.CodeFileIO, cause: err, message: fmt.Sprintf("the node in %s is served by another process", dir),
		hint: "threegate status says by which"}
}
