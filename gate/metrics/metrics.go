// Package metrics tells a monitoring system how a node is: counts and times, in the format of
// Prometheus, and whether it is healthy. It holds names of inboxes, states, rules and causes, and no
// content: no request id, path or text of a document.
//
// It reads the record and the folders like threegate status does. Nothing of the gate waits for it.
package metrics

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/hold"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/loopback"
	"github.com/threegate/tool-exec/gate/trouble"
	"github.com/threegate/tool-exec/gate/view"
	"github.com/threegate/tool-exec/spool"
)

// maxAsking bounds how many are answered at once; others wait.
const maxAsking = 2

// Listen opens the address of metrics.listen: a loopback address with its port, or unix:PATH.
func Listen(address string) (net.Listener, error) {
	path, isUnix := strings.CutPrefix(address, "unix:")
	if !isUnix {
		return loopback.Listen(address)
	}
	if fi, err := os.Lstat(path); err == nil && fi.Mode()&os.ModeSocket != 0 { // of a process that was killed
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("unix", path)
	if err == nil {
		err = os.Chmod(path, 0o660)
	}
	return l, err
}

// Serve answers /metrics and /healthz at l until ctx ends.
func Serve(ctx context.Context, l net.Listener, cfg *config.Node) error {
	reg := prometheus.NewRegistry()
	reg.MustRegister(newCollector(cfg))
	asking := make(chan struct{}, maxAsking)
	// An answer is made whole before it is sent: who reads slowly holds up no other.
	answer := func(path string, made func(w *bytes.Buffer) (status int)) (string, http.HandlerFunc) {
		return "GET " + path, func(w http.ResponseWriter, r *http.Request) {
			select {
			case asking <- struct{}{}:
			case <-r.Context().Done():
				return
			}
			var text bytes.Buffer
			status := made(&text)
			<-asking
			w.Header().Set("Content-Type", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
			w.WriteHeader(status)
			_, _ = w.Write(text.Bytes()) // a client that is gone
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc(answer("/metrics", func(w *bytes.Buffer) int { return gather(w, reg) }))
	mux.HandleFunc(answer("/healthz", func(w *bytes.Buffer) int { return health(w, cfg) }))
	return loopback.Door{Handler: mux, Refuse: func(w http.ResponseWriter, status int, why string) {
		http.Error(w, why, status)
	}}.Serve(ctx, l)
}

// gather writes what there is now in the text format of Prometheus.
func gather(w *bytes.Buffer, reg *prometheus.Registry) (status int) {
	families, err := reg.Gather()
	for _, f := range families {
		if err == nil {
			_, err = expfmt.MetricFamilyToText(w, f)
		}
	}
	if err != nil {
		w.Reset()
		fmt.Fprintln(w, "the record can't be read")
		return http.StatusInternalServerError
	}
	return http.StatusOK
}

// health is 200 while nothing holds the node up. It names what does by its kind.
func health(w *bytes.Buffer, cfg *config.Node) (status int) {
	live, err := view.Live(cfg)
	var what []string
	switch {
	case err != nil:
		what = append(what, "its status can't be read")
	case live != nil:
		for _, t := range live.Troubles {
			what = append(what, kind(t))
		}
		if len(live.Stuck) > 0 {
			what = append(what, "stuck inbox")
		}
	}
	if spool.Room(cfg.Dir, spool.DefaultMinFreeBytes) != nil {
		what = append(what, "disk")
	}
	if len(what) > 0 {
		fmt.Fprintln(w, "held up: "+strings.Join(what, ", "))
		return http.StatusServiceUnavailable
	}
	fmt.Fprintln(w, "ok")
	return http.StatusOK
}

// kind names a trouble without the job that it is about.
func kind(t trouble.Trouble) string {
	if spool.ValidID(t.What) {
		return "job"
	}
	return t.What
}

const namespace = "threegate"

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
}

var (
	requests = desc("requests_total", "Verdicts on requests.", "verdict")
	refusals = desc("refusals_total", "Refused requests and results, by each rule that refused.", "rule")
	runs     = desc("runs_total", "Runs that ended, by cause; none is a plain success.", "cause")
	results  = desc("results_total", "Verdicts on results.", "verdict")
	jobs     = desc("jobs", "Jobs in progress, by state.", "state")
	waiting  = desc("inbox_waiting", "Requests that wait in an inbox, unclaimed.", "inbox")
	held     = desc("inbox_held", "1 if an operator holds the inbox, or the node.", "inbox")
	troubles = desc("troubles", "Things of the node's own that hold up jobs or the intake.")
	free     = desc("disk_free_bytes", "Free bytes on the node's disk.")
	oldest   = desc("oldest_job_seconds", "Since when the oldest job in progress is admitted; 0 without one.")
)

// collector reads the record once, and then what came to it.
type collector struct {
	cfg *config.Node

	mu       sync.Mutex
	record   *ledger.Follower
	last     int64 // the event that was counted last
	totals   ledger.Totals
	wall     prometheus.Histogram
	admitted map[string]time.Time // jobs in progress
}

func newCollector(cfg *config.Node) *collector {
	return &collector{cfg: cfg, record: ledger.Follow(filepath.Join(cfg.Dir, spool.DirLedger)),
		admitted: map[string]time.Time{},
		wall: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: "run_seconds",
			Help:    "Wall clock time of runs.",
			Buckets: []float64{0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200}})}
}

// Describe tells nothing: which values there are is known when they are collected.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect reads what there is now.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if err := c.readOn(); err != nil {
		out <- prometheus.NewInvalidMetric(jobs, errors.New("the record can't be read"))
		return
	}
	c.counts(func(d *prometheus.Desc, n int, label string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), label)
	})
	c.wall.Collect(out)
	for _, st := range spool.States {
		if es, err := os.ReadDir(filepath.Join(c.cfg.Dir, spool.DirSpool, string(st))); err == nil {
			gauge(jobs, float64(len(es)), string(st))
		}
	}
	holds, _ := hold.List(c.cfg)
	for _, in := range c.cfg.Inboxes {
		if n, err := spool.Waiting(in.Path); err == nil {
			gauge(waiting, float64(n), in.Name)
		}
		is := 0.0
		if hold.Paused(holds, in.Name) {
			is = 1
		}
		gauge(held, is, in.Name)
	}
	if live, err := view.Live(c.cfg); err == nil && live != nil {
		gauge(troubles, float64(len(live.Troubles)+len(live.Stuck)))
	}
	var st unix.Statfs_t
	if err := unix.Statfs(c.cfg.Dir, &st); err == nil {
		gauge(free, float64(st.Bavail)*float64(st.Bsize))
	}
	var age time.Duration
	for _, at := range c.admitted {
		age = max(age, time.Since(at))
	}
	gauge(oldest, age.Seconds())
}

// readOn counts what came to the record.
func (c *collector) readOn() error {
	err := c.record.Read(c.count)
	if errors.Is(err, ledger.ErrChanged) { // the gate took back what it could not write: none of that was counted
		c.record = ledger.Follow(filepath.Join(c.cfg.Dir, spool.DirLedger))
		err = c.record.Read(c.count)
	}
	return err
}

func (c *collector) count(e ledger.Event) error {
	if e.Seq <= c.last {
		return nil
	}
	c.last = e.Seq
	c.totals.Note(e)
	if ledger.EndsRun(e) {
		c.wall.Observe(float64(e.WallMS) / 1000)
	}
	to := ledger.Announces(e)
	if _, known := c.admitted[e.RunID]; to == spool.StateAdmitted && !known {
		c.admitted[e.RunID] = e.Time
	}
	if to.Ended() {
		delete(c.admitted, e.RunID)
	}
	return nil
}

// counts shows each counter that is not 0.
func (c *collector) counts(show func(d *prometheus.Desc, n int, label string)) {
	some := func(d *prometheus.Desc, n int, label string) {
		if n > 0 {
			show(d, n, label)
		}
	}
	t := &c.totals
	some(requests, t.Admitted, string(ledger.StateAdmitted))
	some(requests, t.RequestsRefused, string(ledger.StateQuarantined))
	some(results, t.ResultsDelivered, string(ledger.StateDelivered))
	some(results, t.ResultsQuarantined, string(ledger.StateResultQuarantined))
	for rule, n := range t.Rules {
		show(refusals, n, rule)
	}
	for cause, n := range t.Causes {
		show(runs, n, string(cause))
	}
}
