package gate_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/metrics"
)

// TestMetrics: what came of requests is counted, without any content; health says so when the node is
// well.
func TestMetrics(t *testing.T) {
	w := mustWorld(t, scenario{name: "measured", word: "ok|fail|; id|secret"})
	must(t, w.process(&injector{}))
	ask, end := w.door(t)
	for range 2 { // a second look counts nothing twice
		code, text := ask("/metrics")
		for _, want := range []string{`threegate_requests_total{verdict="admitted"} 3`,
			`threegate_requests_total{verdict="quarantined"} 1`, `threegate_results_total{verdict="delivered"} 2`,
			`threegate_results_total{verdict="result-quarantined"} 1`, `threegate_runs_total{cause="none"} 2`,
			`threegate_runs_total{cause="exit"} 1`,
			`threegate_run_seconds_count 3`, `threegate_jobs{state="running"} 0`, `threegate_inbox_held{inbox="a"} 0`,
			`threegate_oldest_job_seconds 0`} {
			if !strings.Contains(text, want+"\n") {
				t.Errorf("it lacks %s", want)
			}
		}
		if code != http.StatusOK || strings.Contains(text, crashID) || strings.Contains(text, w.dir) {
			t.Errorf("%d, or it tells an id or a path:\n%s", code, text)
		}
	}
	if code, text := ask("/healthz"); code != http.StatusOK || text != "ok\n" {
		t.Errorf("health: %d %q", code, text)
	}
	if code, _ := ask("/debug/pprof/"); code != http.StatusNotFound {
		t.Errorf("it answers %d to what it does not have", code)
	}
	end()
}

// door serves the node's metrics and its health, and gives what asks there.
func (w *world) door(t *testing.T) (ask func(path string) (int, string), end func()) {
	t.Helper()
	socket := filepath.Join(filepath.Dir(w.dir), "m")
	l, err := metrics.Listen("unix:" + socket)
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- metrics.Serve(ctx, l, w.cfg) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}}}
	ask = func(path string) (int, string) {
		t.Helper()
		r, err := client.Get("http://node" + path)
		must(t, err)
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		must(t, err)
		return r.StatusCode, string(b)
	}
	return ask, func() { stop(); must(t, <-served) }
}
