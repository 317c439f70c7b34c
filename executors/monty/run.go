package monty

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/threegate/tool-exec/executors/monty/wire"
)

// Env is the world of the code.
type Env struct {
	// In and Out are the folders that the code sees as /in and /out.
	In, Out string
	Stdout  io.Writer
	// Stderr gets the traceback or one plain message.
	Stderr io.Writer
	// Now is the clock of datetime.now.
	Now func() time.Time
	// Tools may be nil: then there are none.
	Tools *Tools
}

// Main is the payload: it reads a Job from stdin, runs it without tools, and returns the exit code.
func Main() int {
	j, err := ReadJob(os.Stdin)
	if err != nil {
		fmt.Fprintf(os.Stderr, "monty: the job on stdin: %v\n", err)
		return ExitJob
	}
	return Run(j, Env{In: "/in", Out: "/out", Stdout: os.Stdout, Stderr: os.Stderr, Now: time.Now})
}

// Run runs a job and returns the exit code. When it returns, the interpreter is gone.
func Run(j Job, env Env) int {
	err := run(j, env)
	if err == nil {
		return ExitOK
	}
	e, ok := errors.AsType[*end](err)
	if !ok {
		e = endf(ExitInterpreter, "%v", err)
	}
	_, _ = io.WriteString(env.Stderr, e.text) // nobody is left to tell
	return e.code
}

// end is why a run does not complete: what to tell and the exit code.
type end struct {
	text string
	code int
}

func (e *end) Error() string { return strings.TrimSuffix(e.text, "\n") }

func endf(code int, format string, a ...any) *end {
	return &end{text: "monty: " + fmt.Sprintf(format, a...) + "\n", code: code}
}

func run(j Job, env Env) error {
	vars, err := inputs(j.Inputs)
	if err != nil {
		return endf(ExitJob, "%v", err)
	}
	fs, err := openFiles(env.In, env.Out, env.Tools)
	if err != nil {
		return endf(ExitJob, "%v", err)
	}
	defer fs.close()
	i, err := start(j.Monty)
	if err != nil {
		return endf(startExit(err), "the interpreter could not be started: %v", err)
	}
	defer i.stop()
	s := &session{env: env, limits: j.Limits, files: fs, interpreter: i}
	if err := s.configure(); err != nil {
		return err
	}
	v, err := s.feed(&wire.Feed{Code: j.Code, Inputs: vars})
	if err != nil {
		return err
	}
	return s.deliver(v)
}

// session is one run. It asks the interpreter and answers its questions in turn.
type session struct {
	env         Env
	limits      Limits
	files       *files
	interpreter *interpreter
}

func (s *session) configure() error {
	ev, err := s.ask(&wire.Request{Kind: &wire.Request_Configure{Configure: &wire.Configure{
		ScriptName: ScriptName,
		Limits: &wire.ResourceLimits{
			MaxDurationMicros: max(1, uint64(s.limits.MaxDurationSec*1e6)),
			MaxMemoryBytes:    uint64(s.limits.MaxMemoryBytes),
		},
		MontyVersion:    wire.MontyVersion,
		ProtocolVersion: wire.ProtocolVersion,
	}}})
	if err != nil {
		return err
	}
	switch k := ev.Kind.(type) {
	case *wire.Event_Ok:
		return nil
	case *wire.Event_Error:
		text := traceback(k.Error.GetException())
		return endf(ExitInterpreter, "the interpreter refused its settings: %s", clip(text))
	}
	return unexpected(ev)
}

// feed runs code to its end and returns the value of its last expression.
func (s *session) feed(f *wire.Feed) (*wire.Value, error) {
	request := &wire.Request{Kind: &wire.Request_Feed{Feed: f}}
	for {
		ev, err := s.ask(request)
		if err != nil {
			return nil, err
		}
		switch k := ev.Kind.(type) {
		case *wire.Event_Complete:
			return k.Complete.GetValue(), nil
		case *wire.Event_Error:
			return nil, s.failed(ev, k.Error.GetException())
		case *wire.Event_OsCall:
			request = resume(k.OsCall.GetCallId(), answer(s.outside(k.OsCall)))
		case *wire.Event_FunctionCall:
			answer, err := s.function(k.FunctionCall)
			if err != nil {
				return nil, err
			}
			request = resume(k.FunctionCall.GetCallId(), answer)
		case *wire.Event_NameLookup:
			request = s.name(k.NameLookup)
		default:
			return nil, unexpected(ev)
		}
	}
}

func resume(callID uint32, r *wire.CallResult) *wire.Request {
	return &wire.Request{Kind: &wire.Request_ResumeCall{ResumeCall: &wire.ResumeCall{CallId: callID, Result: r}}}
}

// ask sends a request and returns the event that ends the turn. What is printed meanwhile goes to
// the streams.
func (s *session) ask(request *wire.Request) (*wire.Event, error) {
	if err := wire.Send(s.interpreter.in, request); errors.Is(err, wire.ErrProtocol) {
		return nil, err
	} else if err != nil {
		return nil, s.interpreter.ending()
	}
	for {
		ev, err := wire.Receive(s.interpreter.out)
		switch {
		case errors.Is(err, wire.ErrProtocol):
			return nil, endf(ExitInterpreter, "the interpreter broke the protocol: %v", err)
		case err != nil:
			return nil, s.interpreter.ending()
		}
		switch k := ev.Kind.(type) {
		case *wire.Event_Print:
			if err := s.print(k.Print); err != nil {
				return nil, err
			}
		case *wire.Event_FatalError:
			return nil, endf(ExitInterpreter, "the interpreter gave up: %s", clip(k.FatalError.GetMessage()))
		default:
			return ev, nil
		}
	}
}

func (s *session) print(p *wire.Print) error {
	w := s.env.Stdout
	if p.GetStream() == wire.Print_STREAM_STDERR {
		w = s.env.Stderr
	}
	if _, err := w.Write(p.GetText()); err != nil {
		return endf(ExitOutput, "what was printed could not be written: %v", err)
	}
	return nil
}

func unexpected(ev *wire.Event) error {
	kind := cmp.Or(kindName(ev), "an event of no known kind")
	return endf(ExitInterpreter, "the interpreter broke the protocol: %s was not expected", kind)
}

// What the interpreter's messages begin with if a limit ended the code.
const (
	timeWords   = "time limit exceeded: "
	memoryWords = "memory limit exceeded: "
)

// failed turns the exception that ended the code into a traceback and the exit code. The code can
// raise an exception that looks like that of a limit. But the frame of a raise statement has no
// caret, and the clock is the interpreter's.
func (s *session) failed(ev *wire.Event, x *wire.Exception) error {
	code := ExitException
	frames := x.GetTraceback()
	n := len(frames)
	switch {
	case n > 0 && frames[n-1].GetHideCaret():
	case x.GetExcType() == "TimeoutError" && strings.HasPrefix(x.GetMessage(), timeWords) &&
		float64(ev.GetTotalExecutionMicros()) >= s.limits.MaxDurationSec*1e6-1:
		code = ExitTime
	case x.GetExcType() == "MemoryError" && strings.HasPrefix(x.GetMessage(), memoryWords):
		code = ExitMemory
	}
	return &end{text: traceback(x) + s.env.Tools.hint(x), code: code}
}

// answer is the value of a call, or the exception that it raises.
func answer(v *wire.Value, err error) *wire.CallResult {
	if err != nil {
		return &wire.CallResult{Kind: &wire.CallResult_Exception{Exception: raised(err)}}
	}
	return &wire.CallResult{Kind: &wire.CallResult_ReturnValue{ReturnValue: v}}
}

// outside carries out what the code asks of the outside.
func (s *session) outside(c *wire.OSCall) (*wire.Value, error) {
	switch op := c.Op.(type) {
	case *wire.OSCall_GetEnviron:
		return &wire.Value{Kind: &wire.Value_Dict{Dict: &wire.Dict{}}}, nil
	case *wire.OSCall_Getenv:
		return op.Getenv.GetDefault(), nil
	case *wire.OSCall_DateToday:
		return today(s.env.Now()), nil
	case *wire.OSCall_DateTimeNow:
		return now(s.env.Now(), op.DateTimeNow.GetTz()), nil
	}
	return s.files.serve(c)
}

// deliver writes the value of the last expression, unless it is None.
func (s *session) deliver(v *wire.Value) error {
	if _, ok := v.GetKind().(*wire.Value_None); ok {
		return nil
	}
	b, err := encodeResult(v)
	if err != nil {
		return endf(ExitValue,
			"the code ran to its end, but the value of its last expression can't be delivered: %v", err)
	}
	f, err := s.files.out.root.OpenFile(ValueName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil {
		_, err = f.Write(b)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return endf(ExitOutput, "the value of the last expression could not be written: %v", err)
	}
	return nil
}
