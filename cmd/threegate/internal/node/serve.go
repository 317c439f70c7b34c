package node

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/coreos/go-systemd/v22/journal"
	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/backend"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/executors/container"
	"github.com/threegate/tool-exec/gate"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/hooks"
	"github.com/threegate/tool-exec/gate/metrics"
	"github.com/threegate/tool-exec/spool"
)

// stopTime bounds how long a private containerd may take to stop.
const stopTime = 20 * time.Second

func newServe(a *app) *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a node: take in requests, run them, deliver results",
		Long: `serve runs the node until it is told to stop. It claims the requests in the inboxes,
quarantines those that break a rule, runs the others, and delivers validated results.
It logs each decision to stderr as one line; with --json as one JSON object.

Ctrl-C or SIGTERM stops it: it claims nothing more and gives running jobs node.drain to
end. Jobs that are left go on in their containers until the next serve collects them.
The same holds after a crash: nothing is lost and nothing runs twice.

SIGHUP makes it read threegate.yaml again. New values of approvals, validators,
shell_allow, results, node.drain and most limits count from then on. If the file has a
mistake, or any other change, all of it is refused, and the log says so.

As a service of systemd (Type=notify) it reports when it serves, and about once a second
that it still does (WatchdogSec). Its lines in the journal carry the fields
THREEGATE_REQUEST, THREEGATE_JOB, THREEGATE_RESULT and THREEGATE_INBOX where they apply.`,
		Example: `  threegate serve --node /var/lib/threegate
  threegate serve --json 2>> /var/log/threegate.log
  journalctl THREEGATE_REQUEST=TR-20260101-120000Z-sum`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.LoadNode()
			if err != nil {
				return err
			}
			level := slog.LevelInfo
			if verbose {
				level = slog.LevelDebug
			}
			return a.serveNode(cmd.Context(), cfg, a.logger(level))
		},
	}
	a.NodeFlag(cmd)
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "log details too")
	return cmd
}

// logger writes a line for each decision to stderr, or to the journal that stderr is.
func (a *app) logger(level slog.Level) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if a.JSON {
		return slog.New(slog.NewJSONHandler(a.UI.Err, o))
	}
	text := slog.NewTextHandler(a.UI.Err, o)
	if journaled, err := journal.StderrIsJournalStream(); err == nil && journaled && a.UI.Err == os.Stderr {
		return slog.New(newJournald(level, text))
	}
	return slog.New(text)
}

// serveNode serves cfg until ctx ends. An orderly stop is no error.
func (a *app) serveNode(ctx context.Context, cfg *config.Node, log *slog.Logger) error {
	// A second gate must not even touch containerd.
	if served, err := spool.Locked(cfg.Dir); err == nil && served {
		return nodeFault(spool.ErrLocked, cfg.Dir)
	}
	exec, err := backend.Open(ctx, cfg, log)
	if err != nil {
		return err
	}
	options := gate.Options{Executor: exec, Logger: log, Now: a.Now, Version: cli.Version,
		Posture: postureOf(exec, cfg), Alive: tellSystemd(log)}
	g, err := gate.Open(cfg, options)
	if errors.Is(err, spool.ErrLocked) { // somebody else took the node meanwhile
		return errors.Join(nodeFault(err, cfg.Dir), exec.Close())
	}
	if err != nil {
		return errors.Join(nodeFault(err, cfg.Dir), shutDown(ctx, exec, cfg))
	}
	removeDeadRuns(ctx, cfg, log)
	stopReloads, stopMetrics := reloads(g, cfg.Dir, log), serveMetrics(ctx, cfg, log)
	stopHooks := hooks.Start(ctx, cfg, log)
	log.Info("serving", "node", cfg.Dir, "name", cfg.Node.Name)
	backend.WarnOfLacks(cfg, log)
	err = g.Run(ctx)
	stopReloads()
	stopMetrics()
	stopHooks()
	if serr := errors.Join(shutDown(ctx, exec, cfg), g.Close()); err == nil {
		err = serr
	}
	if err != nil {
		return cli.Troublef(err, "the next serve goes on from what is on disk", "the node in %s had to stop", cfg.Dir)
	}
	log.Info("stopped", "node", cfg.Dir)
	return nil
}

// tellSystemd tells a service manager that asked for it that the node serves, the first time, and
// after that that it still does.
func tellSystemd(log *slog.Logger) func() {
	say := daemon.SdNotifyReady
	return func() {
		if _, err := daemon.SdNotify(false, say); err != nil {
			log.Warn("systemd can't be told that the node serves", "error", err)
		}
		say = daemon.SdNotifyWatchdog
	}
}

// serveMetrics answers a monitoring system, if the configuration says where. That it can't is no reason
// not to serve.
func serveMetrics(ctx context.Context, cfg *config.Node, log *slog.Logger) (stop func()) {
	at := cfg.Metrics.Listen
	if at == "" {
		return func() {}
	}
	l, err := metrics.Listen(at)
	if err != nil {
		log.Error("there are no metrics: metrics.listen can't be opened", "listen", at, "error", err)
		return func() {}
	}
	log.Info("metrics and health", "listen", at)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // also while the node drains
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := metrics.Serve(ctx, l, cfg); err != nil {
			log.Error("there are no metrics any more", "error", err)
		}
	}()
	return func() { cancel(); <-done }
}

// shutDown stops the containerd of the node. What still runs in it goes on under its shims,
// and the next serve finds it; if nothing runs, nothing of the node stays mounted.
func shutDown(ctx context.Context, exec *container.Executor, cfg *config.Node) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	left, err := exec.List(ctx)
	if err = errors.Join(err, exec.Shutdown(ctx)); err != nil || len(left) > 0 {
		return err
	}
	return container.Dismantle(cfg.RunDir())
}

// reloads reads the configuration again at every SIGHUP. If it has a mistake, or a change
// that needs a restart, all of it is refused.
func reloads(g *gate.Gate, dir string, log *slog.Logger) (stop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for range hangups {
			l, err := config.Load(dir)
			if err == nil {
				err = g.Reload(l)
			}
			if err != nil {
				log.Error("the configuration was not reloaded", "error", err)
				continue
			}
			log.Info("the configuration was reloaded", "file", l.File)
		}
	}()
	return func() { signal.Stop(hangups); close(hangups) }
}

// nodeFault explains why a node can't be opened.
func nodeFault(err error, dir string) error {
	if errors.Is(err, spool.ErrLocked) {
		return &cli.Fault{Exit: cli.ExitBusy, Code: "E_POLICY", Message: err.Error(), Cause: err,
			Hint: "only one process can serve a node; threegate status --node " + dir + " says what it does"}
	}
	return cli.Troublef(err, cmp.Or(cli.RecordHint(err, dir), "threegate doctor --node "+dir+" says what is missing"),
		"the node in %s can't be opened", dir)
}
