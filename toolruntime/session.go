package toolruntime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/semaphore"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// Budget bounds a session. A call beyond it is refused with E_POLICY. What is zero is as in [DefaultBudget].
type Budget struct {
	Calls int
	// Bytes bounds the arguments and results of all calls together.
	Bytes int64
	// Time counts from the session's start.
	Time time.Duration
}

// DefaultBudget is that of a session that names none.
var DefaultBudget = Budget{Calls: 1000, Bytes: 256 << 20, Time: time.Hour}

// Options are what a session is told. Each may be left out.
type Options struct {
	Budget Budget
	// Timeline gets one line of JSON for each call: {tool, args_hash, start_ts, end_ts, code,
	// bytes}, with times in seconds since 1970. It holds neither arguments nor content. A
	// failure to write it ends the session. Without one no record is kept.
	Timeline io.Writer
	// Emit, if not nil, gets events: when a call begins, and when it has ended, with metrics. It is called by one
	// goroutine at a time.
	Emit func(contract.EventMessage)
	// Now is the clock, time.Now without it.
	Now func() time.Time
	// Stderr gets the trace of a tool that panics, if it is not nil.
	Stderr io.Writer
}

// Session is one authenticated use of the tools. It carries out requests: it checks them, locks what they write, holds
// them to budgets and limits of time, notes each call in a timeline, and answers (section 8 of the Tool Runtime
// specification). Requests are hostile: a tool that panics ends its call with E_INTERNAL, not the host. A session is
// safe for concurrent use.
type Session struct {
	tools   map[string]contract.Tool
	o       Options
	start   time.Time
	locks   locks
	mu      sync.Mutex
	id      string
	seen    map[string]bool
	asked   int // requests, refused ones too
	calls   int
	bytes   int64
	touched map[string]bool
	record  []recorded
	broken  error
	// removing are calls that were answered, and whose tools still remove what they left.
	removing sync.WaitGroup
}

// recorded is what the metrics know of one call.
type recorded struct {
	Tool     string
	Code     string
	Start    time.Time
	Duration time.Duration
	Bytes    int64
}

// New starts a session with a catalogue of tools.
func New(tools []contract.Tool, o Options) *Session {
	o.Budget.Calls = cmp.Or(o.Budget.Calls, DefaultBudget.Calls)
	o.Budget.Bytes = cmp.Or(o.Budget.Bytes, DefaultBudget.Bytes)
	o.Budget.Time = cmp.Or(o.Budget.Time, DefaultBudget.Time)
	if o.Timeline == nil {
		o.Timeline = io.Discard
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	s := &Session{tools: map[string]contract.Tool{}, o: o, start: o.Now(),
		seen: map[string]bool{}, touched: map[string]bool{}, locks: locks{tree: semaphore.NewWeighted(wholeTree)}}
	for _, t := range append(slices.Clone(tools), EmitMetrics(s)) {
		s.tools[t.Name] = t
	}
	return s
}

// Check says whether a request would be accepted as it is written: the tool exists, the
// arguments fit, its ids belong to the session. It runs nothing and uses no budget.
func (s *Session) Check(r *contract.ToolRequest) error {
	_, err := s.prepare(r)
	return err
}

// Foresee is Check, and says what else of a request would be refused when it is made, as far as that can be said
// before: a pattern that does not compile, a patch that can't be read. known says that the session's registry will be
// that of the run: then what it does not allow is refused, too.
func (s *Session) Foresee(r *contract.ToolRequest, known bool) error {
	c, err := s.prepare(r)
	if err == nil && c.Check != nil {
		err = c.Check()
	}
	if err == nil && c.Allowed != nil && known {
		err = c.Allowed()
	}
	return err
}

func (s *Session) prepare(r *contract.ToolRequest) (*contract.Call, error) {
	t, ok := s.tools[r.Tool]
	if !ok {
		names := slices.Sorted(maps.Keys(s.tools))
		return nil, contract.Errorf(contract.Validation, "there is no tool %q%s", r.Tool, contract.DidYouMean(r.Tool,
			names)).
			WithHint("the tools are: " + strings.Join(names, ", "))
	}
	c, err := t.Prepare(r.Args)
	if err != nil {
		return nil, err
	}
	if c.Writes != "" {
		c.Writes, err = workspace.Clean(c.Writes)
	}
	return c, err
}

// Do carries out one request. It always answers. A session that has ended notes nothing more.
func (s *Session) Do(ctx context.Context, r *contract.ToolRequest) contract.ToolResponse {
	resp := contract.ToolResponse{Type: "ToolResponse", Tool: r.Tool, RequestID: r.RequestID,
		Errors: []contract.Error{}}
	if err := s.enter(); err != nil {
		resp.Errors = append(resp.Errors, *err)
		return resp
	}
	start := s.o.Now()
	data, failure := s.admit(ctx, r)
	end := s.o.Now()
	resp.OK, resp.DurationMS, resp.Data = failure == nil, end.Sub(start).Milliseconds(), data
	code := contract.CodeOK
	if failure != nil {
		resp.Errors = append(resp.Errors, *failure)
		code = string(failure.Code)
	}
	if err := s.note(r, start, end, code, int64(len(r.Args)+len(data))); err != nil {
		s.fail(err)
	}
	return resp
}

// enter makes room for one more line of the record, before anything runs.
func (s *Session) enter() *contract.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil && s.asked == contract.MaxCalls {
		s.broken = fmt.Errorf("the timeline has room for %d calls", contract.MaxCalls)
	}
	if s.broken != nil {
		return contract.Errorf(contract.Internal, "the session has ended: %v", s.broken)
	}
	s.asked++
	return nil
}

// admit holds a request to the session's ids and budget, and then calls.
func (s *Session) admit(ctx context.Context, r *contract.ToolRequest) (jsontext.Value, *contract.Error) {
	if err := s.use(r); err != nil {
		return nil, contract.AsError(err)
	}
	c, err := s.prepare(r)
	if err != nil {
		return nil, contract.AsError(err)
	}
	ctx, cancel := context.WithTimeout(ctx, min(c.Timeout, s.o.Budget.Time-s.o.Now().Sub(s.start)))
	defer cancel()
	unlock, err := s.lock(ctx, r.Tool, c)
	var result any
	if err == nil {
		s.emit(r, contract.Progress{Message: r.Tool})
		result, err = s.call(ctx, r, c, unlock)
	}
	var known *contract.Error
	if err != nil && !errors.As(err, &known) && ctx.Err() != nil {
		why := fmt.Sprintf("took longer than %s", c.Timeout)
		if errors.Is(ctx.Err(), context.Canceled) {
			why = "was cancelled"
		}
		err = contract.Errorf(contract.Timeout, "%s %s", r.Tool, why).
			WithHint("ask for less at once, or for more time with timeout_ms where the tool has it")
	}
	if err != nil && result == nil {
		return nil, contract.AsError(err)
	}
	data, marshal := json.Marshal(result, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if marshal != nil {
		return nil, contract.Errorf(contract.Internal, "the result of %s: %v", r.Tool, marshal)
	}
	if err != nil {
		return data, contract.AsError(err)
	}
	return data, nil
}

// lock waits until a call may write what it writes, or its time is over.
func (s *Session) lock(ctx context.Context, tool string, c *contract.Call) (unlock func(), err error) {
	unlock = func() {}
	switch {
	case c.Writes != "":
		unlock, err = s.locks.file(ctx, c.Writes)
	case !s.tools[tool].ReadOnly:
		unlock, err = s.locks.all(ctx)
	}
	if err == nil && ctx.Err() != nil {
		unlock()
		err = ctx.Err()
	}
	return unlock, err
}

// call runs a tool, and unlocks what it wrote once nothing of it is left to be removed. Only a failure that is a result
// too keeps its result.
func (s *Session) call(ctx context.Context, r *contract.ToolRequest, c *contract.Call, unlock func()) (
	result any, err error) {
	var later []func()
	var touched []string
	ctx = contract.WithHost(ctx, func(p contract.Progress) { s.emit(r, p) },
		func(work func()) { later = append(later, work) },
		func(paths ...string) { touched = append(touched, paths...) })
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(s.o.Stderr, "%s: %v\n%s", r.Tool, p, debug.Stack())
			result, err = nil, contract.Errorf(contract.Internal, "%s failed unexpectedly", r.Tool)
		}
		if len(later) == 0 {
			unlock()
			return
		}
		s.removing.Go(func() {
			defer unlock()
			for _, work := range later {
				work()
			}
		})
	}()
	result, err = c.Run(ctx)
	if err == nil && c.Writes != "" {
		touched = append(touched, c.Writes)
	}
	if err == nil {
		s.touch(touched)
	}
	if kept, ok := result.(contract.WithError); err != nil && !(ok && kept.WithError()) {
		result = nil
	}
	return result, err
}

// Close waits until nothing is left of what calls removed. A host calls it before it takes the workspace for what the
// calls made of it.
func (s *Session) Close() { s.removing.Wait() }

// use counts a request, and refuses one that is not this session's, comes again, or is beyond
// the budget.
func (s *Session) use(r *contract.ToolRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == "" {
		s.id = r.SessionID
	}
	if s.id != r.SessionID {
		return contract.Errorf(contract.Policy, "the session_id is not that of this session")
	}
	if s.seen[r.RequestID] {
		return contract.Errorf(contract.Validation, "the request_id %q was used before", r.RequestID)
	}
	if s.calls >= s.o.Budget.Calls {
		return contract.Errorf(contract.Policy, "the session's budget of %d calls is used up", s.o.Budget.Calls)
	}
	if s.bytes += int64(len(r.Args)); s.bytes > s.o.Budget.Bytes {
		return contract.Errorf(contract.Policy, "the session's budget of %d bytes is used up", s.o.Budget.Bytes)
	}
	if s.o.Now().Sub(s.start) >= s.o.Budget.Time {
		return contract.Errorf(contract.Policy, "the session's budget of %s is used up", s.o.Budget.Time)
	}
	s.seen[r.RequestID] = true
	s.calls++
	return nil
}

// touch counts the files that a call changed.
func (s *Session) touch(paths []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range paths {
		s.touched[p] = true
	}
}

// fail keeps a session from going on without its record.
func (s *Session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.broken = err
	}
}

// Err is why the session can't go on, or nil.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// locks let calls write different files at once, one file one after the other, and a call that may write anything
// alone. Who waits is served in turn, and no longer than a context lasts. Readers need none: files change by renames.
type locks struct {
	// tree is shared by calls that write one file each, and taken whole by others.
	tree  *semaphore.Weighted
	files sync.Map // of *semaphore.Weighted
}

const wholeTree = 1 << 30

// file locks one file, and returns what unlocks it.
func (l *locks) file(ctx context.Context, clean string) (unlock func(), err error) {
	if err := l.tree.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	one, _ := l.files.LoadOrStore(clean, semaphore.NewWeighted(1))
	if err := one.(*semaphore.Weighted).Acquire(ctx, 1); err != nil {
		l.tree.Release(1)
		return nil, err
	}
	return func() { one.(*semaphore.Weighted).Release(1); l.tree.Release(1) }, nil
}

// all locks everything.
func (l *locks) all(ctx context.Context) (unlock func(), err error) {
	if err := l.tree.Acquire(ctx, wholeTree); err != nil {
		return nil, err
	}
	return func() { l.tree.Release(wholeTree) }, nil
}
