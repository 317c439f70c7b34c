package openwop

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/loopback"
	projection "github.com/threegate/tool-exec/gate/openwop"
	"github.com/threegate/tool-exec/schemas/openwop"
	"github.com/threegate/tool-exec/spool"
)

//go:embed openapi.json
var openAPI []byte

const (
	pathDiscovery = "/.well-known/openwop"
	pathOpenAPI   = "/v1/openapi.json"
	pathTools     = "/v1/tools"
	pathRuns      = "/v1/runs"
)

// Bounds of a door.
const (
	maxReaders  = 16               // reads of the record at once, and streams
	writeTime   = 10 * time.Second // for each answer or event
	lookEvery   = 500 * time.Millisecond
	keepAliveIn = 15 * time.Second
)

// Modes of streams. "updates" leaves out what is of use to those who look into a run only.
const (
	modeUpdates = "updates"
	modeDebug   = "debug"
)

var debugOnly = []openwop.EventType{openwop.NodeStarted, openwop.CapBreached}

// overrides are headers by which some servers take a request for one of another method.
var overrides = []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override", "Upgrade"}

// door answers readers. It holds no state but how many read at once.
type door struct {
	ledger    string
	caps      *openwop.Capabilities
	discovery []byte
	tools     []byte
	tool      map[string][]byte
	readers   chan struct{}
	lookEvery time.Duration
	keepAlive time.Duration
}

func newDoor(ledgerDir string, caps *openwop.Capabilities, tools []openwop.ToolDescriptor) (*door, error) {
	d := &door{ledger: ledgerDir, caps: caps, tool: map[string][]byte{},
		readers: make(chan struct{}, maxReaders), lookEvery: lookEvery, keepAlive: keepAliveIn}
	var err error
	if d.discovery, err = json.Marshal(caps); err != nil {
		return nil, err
	}
	if d.tools, err = json.Marshal(tools); err != nil {
		return nil, err
	}
	for _, t := range tools {
		if d.tool[t.ToolID], err = json.Marshal(t); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// failure is an answer that is an ErrorEnvelope. All its words are constants.
type failure struct {
	status int
	openwop.ErrorEnvelope
}

func fail(status int, code, message string) *failure {
	return &failure{status, openwop.ErrorEnvelope{Error: code, Message: message}}
}

var (
	errForeign  = fail(http.StatusForbidden, "forbidden", "only programs on this machine are answered, by its address")
	errMethod   = fail(http.StatusMethodNotAllowed, "method_not_allowed", "this is a read-only projection: GET only")
	errBody     = fail(http.StatusBadRequest, "invalid_request", "a GET has no body here")
	errQuery    = fail(http.StatusBadRequest, "invalid_request", "the query has a parameter that is not served")
	errResume   = fail(http.StatusBadRequest, "invalid_request", "Last-Event-ID is not the number of an event")
	errKey      = fail(http.StatusUnauthorized, "unauthenticated", "a bearer key is needed")
	errNotFound = fail(http.StatusNotFound, "not_found", "there is nothing here that this projection serves")
	errBusy     = fail(http.StatusTooManyRequests, "rate_limited", "too many readers at once")
	errRecord   = fail(http.StatusInternalServerError, "internal_error", "the record can't be read")
	errMode     = &failure{http.StatusBadRequest, openwop.ErrorEnvelope{Error: "unsupported_stream_mode",
		Message: "that mode is not served",
		Details: &openwop.ErrorDetails{Supported: []string{modeUpdates, modeDebug}}}}
)

// ServeHTTP answers a GET of what the door serves, and an ErrorEnvelope to all else.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.writeDeadline(w)
	if f := d.answer(w, r); f != nil {
		switch f {
		case errMethod:
			w.Header().Set("Allow", http.MethodGet)
		case errBusy:
			w.Header().Set("Retry-After", "1")
		}
		if r.ContentLength != 0 {
			w.Header().Set("Connection", "close") // nobody reads the body
		}
		d.writeDeadline(w) // a look at the record may have taken long
		f.write(w)
	}
}

func (f *failure) write(w http.ResponseWriter) {
	body, _ := json.Marshal(f.ErrorEnvelope) // strings only
	writeJSON(w, f.status, body)
}

// behind puts the door behind the guards of all doors.
func (d *door) behind(key string) loopback.Door {
	return loopback.Door{Handler: d, Token: key,
		Free: func(r *http.Request) bool {
			path := r.URL.EscapedPath()
			return !strings.HasPrefix(path, "/v1/") || path == pathOpenAPI
		},
		Refuse: func(w http.ResponseWriter, status int, _ string) {
			if status == http.StatusUnauthorized {
				errKey.write(w)
				return
			}
			errForeign.write(w)
		}}
}

func (d *door) answer(w http.ResponseWriter, r *http.Request) *failure {
	switch {
	case r.Method != http.MethodGet,
		slices.ContainsFunc(overrides, func(h string) bool { return r.Header[h] != nil }):
		return errMethod
	case r.ContentLength != 0:
		return errBody
	}
	path := r.URL.EscapedPath()
	rest, ofRun := strings.CutPrefix(path, pathRuns+"/")
	id, isEvents := strings.CutSuffix(rest, "/events")
	if r.URL.RawQuery != "" && !(ofRun && isEvents) {
		return errQuery
	}
	switch tool, ofTool := strings.CutPrefix(path, pathTools+"/"); {
	case path == pathDiscovery:
		writeJSON(w, http.StatusOK, d.discovery)
	case path == pathOpenAPI:
		writeJSON(w, http.StatusOK, openAPI)
	case path == pathTools:
		writeJSON(w, http.StatusOK, d.tools)
	case ofTool:
		name, err := url.PathUnescape(tool)
		if err != nil || d.tool[name] == nil {
			return errNotFound
		}
		writeJSON(w, http.StatusOK, d.tool[name])
	case ofRun && spool.ValidID(id):
		return d.run(w, r, id, isEvents)
	default:
		return errNotFound
	}
	return nil
}

// run answers what needs a look at the record.
func (d *door) run(w http.ResponseWriter, r *http.Request, id string, events bool) *failure {
	select {
	case d.readers <- struct{}{}:
		defer func() { <-d.readers }()
	default:
		return errBusy
	}
	if events {
		return d.stream(w, r, id)
	}
	run := projection.ReadRun(d.ledger, id)
	if err := run.Read(r.Context(), d.caps, func(openwop.Event) error { return nil }); err != nil {
		return errRecord
	}
	snapshot, err := run.Snapshot()
	if err != nil {
		return errNotFound
	}
	body, err := json.Marshal(snapshot)
	if err != nil {
		return errRecord
	}
	d.writeDeadline(w)
	writeJSON(w, http.StatusOK, body)
	return nil
}

// stream sends the events of a run as they are recorded, up to its terminal one.
func (d *door) stream(w http.ResponseWriter, r *http.Request, id string) *failure {
	s, f := streamOf(r)
	if f != nil {
		return f
	}
	run := projection.ReadRun(d.ledger, id)
	if err := run.Read(r.Context(), d.caps, s.take); err != nil {
		return errRecord
	}
	if _, err := run.Snapshot(); err != nil {
		return errNotFound
	}
	w.Header().Set("Content-Type", "text/event-stream")
	rc := http.NewResponseController(w)
	if err := rc.SetReadDeadline(time.Time{}); err != nil { // a stream may last
		return errRecord
	}
	w.WriteHeader(http.StatusOK)
	d.writeDeadline(w)
	if rc.Flush() != nil {
		return nil
	}
	quiet := time.Now()
	for {
		if len(s.waiting) > 0 || time.Since(quiet) >= d.keepAlive {
			quiet = time.Now()
			d.writeDeadline(w)
			if s.send(w) != nil || rc.Flush() != nil {
				return nil // the reader is gone, or too slow
			}
		}
		if s.ended {
			return nil
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-time.After(d.lookEvery):
		}
		err := run.Read(r.Context(), d.caps, s.take)
		if errors.Is(err, ledger.ErrChanged) { // a gate may have taken back what it could not write
			run = projection.ReadRun(d.ledger, id)
			err = run.Read(r.Context(), d.caps, s.take)
		}
		if err != nil {
			return nil // the stream ends without a terminal event: the reader resumes, and is told then
		}
	}
}

// stream is what a reader of events wants and got.
type stream struct {
	debug   bool
	last    int64 // the number of the last event that it has
	waiting []openwop.Event
	ended   bool
}

// streamOf reads what a reader wants. bufferMs is a wish that may be ignored.
func streamOf(r *http.Request) (*stream, *failure) {
	s := &stream{last: -1}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, errQuery
	}
	for name, values := range query {
		switch {
		case len(values) != 1 || name != "streamMode" && name != "bufferMs":
			return nil, errQuery
		case name == "streamMode" && values[0] == modeDebug:
			s.debug = true
		case name == "streamMode" && values[0] != modeUpdates:
			return nil, errMode
		}
	}
	if last := r.Header.Get("Last-Event-Id"); last != "" {
		if s.last, err = strconv.ParseInt(last, 10, 64); err != nil || s.last < 0 {
			return nil, errResume
		}
	}
	return s, nil
}

// take notes an event that the reader does not have.
func (s *stream) take(e openwop.Event) error {
	s.ended = s.ended || e.Terminal()
	if e.Sequence <= s.last {
		return nil
	}
	s.last = e.Sequence
	if s.debug || !slices.Contains(debugOnly, e.Type) {
		s.waiting = append(s.waiting, e)
	}
	return nil
}

// send writes what waits, or a comment.
func (s *stream) send(w http.ResponseWriter) error {
	if len(s.waiting) == 0 {
		_, err := fmt.Fprint(w, ": keep-alive\n\n")
		return err
	}
	for _, e := range s.waiting {
		data, err := json.Marshal(e)
		if err == nil {
			_, err = fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", e.Sequence, e.Type, data)
		}
		if err != nil {
			return err
		}
	}
	s.waiting = nil
	return nil
}

// writeDeadline bounds what is written next, so that a reader who reads nothing holds no seat.
func (d *door) writeDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(slices.Clone(body), '\n')) // a reader that is gone
}
