package wire_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/threegate/tool-exec/executors/monty/wire"
)

// interp is a real interpreter. Its methods end the test on trouble.
type interp struct {
	t   *testing.T
	in  io.WriteCloser
	out io.Reader
}

func start(t *testing.T) *interp {
	t.Helper()
	cmd := exec.Command("../../../bin/monty", "subprocess") // make tools puts it there
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return &interp{t, in, out}
}

// session is an interpreter that is ready for code.
func session(t *testing.T) *interp {
	t.Helper()
	p := start(t)
	ev := p.ask(configure(&wire.ResourceLimits{MaxDurationMicros: 10e6, MaxMemoryBytes: 256 << 20}))
	if _, ok := ev.Kind.(*wire.Event_Ok); !ok {
		t.Fatalf("configure was answered by %v", ev)
	}
	return p
}

func configure(limits *wire.ResourceLimits) *wire.Request {
	return &wire.Request{Kind: &wire.Request_Configure{Configure: &wire.Configure{ScriptName: "x.py", Limits: limits,
		MontyVersion: wire.MontyVersion, ProtocolVersion: wire.ProtocolVersion}}}
}

func feed(code string, vars ...*wire.NamedValue) *wire.Request {
	return &wire.Request{Kind: &wire.Request_Feed{Feed: &wire.Feed{Code: code, Inputs: vars}}}
}

// request reads a request in the text format of the schema.
func request(t *testing.T, text string) *wire.Request {
	t.Helper()
	r := &wire.Request{}
	parse(t, text, r)
	return r
}

func parse(t *testing.T, text string, m proto.Message) {
	t.Helper()
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// ask sends a request and returns the event that ends the turn.
func (p *interp) ask(r *wire.Request) *wire.Event {
	p.t.Helper()
	if err := wire.Send(p.in, r); err != nil {
		p.t.Fatal(err)
	}
	ev, _ := p.answer()
	return ev
}

// askRaw is ask with bytes that no request of the schema has.
func (p *interp) askRaw(msg []byte) *wire.Event {
	p.t.Helper()
	if _, err := p.in.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(msg))), msg...)); err != nil {
		p.t.Fatal(err)
	}
	ev, _ := p.answer()
	return ev
}

func (p *interp) answer() (ev *wire.Event, printed string) {
	p.t.Helper()
	for {
		ev, err := wire.Receive(p.out)
		if err != nil {
			p.t.Fatal(err)
		}
		pr, ok := ev.Kind.(*wire.Event_Print)
		if !ok {
			return ev, printed
		}
		if pr.Print.GetStream() != wire.Print_STREAM_STDOUT {
			p.t.Errorf("print to stream %v", pr.Print.GetStream())
		}
		printed += string(pr.Print.GetText())
	}
}

func (p *interp) eval(code string, vars ...*wire.NamedValue) *wire.Value {
	p.t.Helper()
	ev := p.ask(feed(code, vars...))
	if ev.GetComplete().GetValue().GetKind() == nil {
		p.t.Fatalf("%q ended with %v", code, ev)
	}
	return ev.GetComplete().GetValue()
}

// TestRequestFields proves the number of every request field: given a wrong wire
// type, the interpreter answers with the field's name.
func TestRequestFields(t *testing.T) {
	const v, l = protowire.VarintType, protowire.BytesType
	for _, c := range []struct {
		path  string // numbers of the messages around it
		num   protowire.Number
		wrong protowire.Type
		name  string
	}{
		{"1", 1, v, "Configure.script_name"},
		{"1", 2, v, "Configure.limits"},
		{"1", 5, v, "Configure.monty_version"},
		{"1", 9, l, "Configure.protocol_version"},
		{"1 2", 1, l, "ResourceLimits.max_duration_micros"},
		{"1 2", 2, l, "ResourceLimits.max_memory_bytes"},
		{"1 2", 4, l, "ResourceLimits.max_recursion_depth"},
		{"3", 1, v, "Feed.code"},
		{"3", 2, v, "Feed.inputs"},
		{"3 2", 1, v, "NamedValue.name"},
		{"3 2", 2, v, "NamedValue.value"},
		{"4", 1, l, "ResumeCall.call_id"},
		{"4", 2, v, "ResumeCall.result"},
		{"4 2", 4, v, "ExtFunctionResult.kind"},
		{"4 2 2", 1, v, "RaisedException.exc_type"},
		{"4 2 2", 2, v, "RaisedException.message"},
		{"4 2 2", 4, v, "RaisedException.data"},
		{"4 2 2 4 1", 1, v, "UnicodeErrorData.encoding"},
		{"4 2 2 4 1", 2, v, "UnicodeErrorData.object"},
		{"4 2 2 4 1", 4, l, "UnicodeErrorData.start"},
		{"4 2 2 4 1", 5, l, "UnicodeErrorData.end"},
		{"4 2 2 4 1", 6, v, "UnicodeErrorData.reason"},
		{"5", 1, v, "ResumeNameLookup.kind"},
		{"5", 2, v, "ResumeNameLookup.kind"},
		{"", 10, v, "ParentRequest.kind"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var msg []byte
			if c.wrong == v {
				msg = protowire.AppendVarint(protowire.AppendTag(nil, c.num, v), 1)
			} else {
				msg = protowire.AppendString(protowire.AppendTag(nil, c.num, l), "x")
			}
			path := strings.Fields(c.path)
			for i := len(path) - 1; i >= 0; i-- {
				var n protowire.Number
				fmt.Sscan(path[i], &n)
				msg = protowire.AppendBytes(protowire.AppendTag(nil, n, l), msg)
			}
			ev := start(t).askRaw(msg)
			if text := ev.GetError().GetException().GetMessage(); !strings.Contains(text,
				" "+c.name+": ") || !strings.Contains(text, "wire type") {
				t.Errorf("%v does not name %s", ev, c.name)
			}
		})
	}
}

// TestValuesBothWays sends every kind of value as a variable, lets Python say
// what it got, and takes it back.
func TestValuesBothWays(t *testing.T) {
	p := session(t)
	for _, c := range []struct{ text, repr string }{
		{`none {}`, "None"},
		{`boolean: true`, "True"},
		{`boolean: false`, "False"},
		{`int: 0`, "0"},
		{`int: -5`, "-5"},
		{`int: 9223372036854775807`, "9223372036854775807"},
		{`int: -9223372036854775808`, "-9223372036854775808"},
		{`bigint { magnitude: "\x80\0\0\0\0\0\0\0" }`, "9223372036854775808"},
		{`bigint { negative: true magnitude: "\1\0\0\0\0\0\0\0\5" }`, "-18446744073709551621"},
		{`float: 1.5`, "1.5"},
		{`float: -inf`, "-inf"},
		{`str: "grüß 🌍\n"`, `'grüß 🌍\n'`},
		{`str: ""`, "''"},
		{`bytes: "\x00\xff"`, `b'\x00\xff'`},
		{`list { items { int: 1 } items { str: "a" } }`, "[1, 'a']"},
		{`tuple { items { int: 1 } items { none {} } }`, "(1, None)"},
		{`set { items { int: 7 } }`, "{7}"},
		{`frozen_set { items { int: 7 } }`, "frozenset({7})"},
		{`dict {}`, "{}"},
		{`dict { pairs { key { str: "k" } value { list {} } } pairs { key { int: 2 } value { int: 3 } } }`,
			"{'k': [], 2: 3}"},
		{`named_tuple { type_name: "P" field_names: ["x", "y"] values { int: 1 } values { int: 2 } }`, "P(x=1, y=2)"},
		{`date { year: 2024 month: 2 day: 29 }`, "datetime.date(2024, 2, 29)"},
		{`time { hour: 1 minute: 2 second: 3 microsecond: 4 }`, "datetime.time(1, 2, 3, 4)"},
		{`time { hour: 1 offset_seconds: 3600 }`,
			"datetime.time(1, 0, tzinfo=datetime.timezone(datetime.timedelta(seconds=3600)))"},
		{`datetime { year: 1 month: 12 day: 31 hour: 23 microsecond: 5 }`,
			"datetime.datetime(1, 12, 31, 23, 0, 0, 5)"},
		{`datetime { year: 2026 month: 1 day: 2 offset_seconds: 0 }`,
			"datetime.datetime(2026, 1, 2, 0, 0, tzinfo=datetime.timezone.utc)"},
		{`datetime { year: 1 month: 1 day: 2 offset_seconds: 60 timezone_name: "X" }`,
			"datetime.datetime(1, 1, 2, 0, 0, tzinfo=datetime.timezone(datetime.timedelta(seconds=60), 'X'))"},
		{`timedelta { days: -1 seconds: 86399 microseconds: 1 }`,
			"datetime.timedelta(days=-1, seconds=86399, microseconds=1)"},
		{`timezone {}`, "datetime.timezone.utc"},
		{`timezone { offset_seconds: 7200 }`, "datetime.timezone(datetime.timedelta(seconds=7200))"},
		{`timezone { offset_seconds: -3600 }`, "datetime.timezone(datetime.timedelta(days=-1, seconds=82800))"},
		{`path: "/in/a b"`, "PosixPath('/in/a b')"},
		{`file_handle { path: "/in/a" mode: "rb" }`, "<_io.BufferedReader name='/in/a' mode='rb'>"},
	} {
		v := &wire.NamedValue{Name: "v", Value: &wire.Value{}}
		parse(t, c.text, v.Value)
		if got := p.eval("repr(v)", v); got.GetStr() != c.repr {
			t.Errorf("%s: Python sees %v, want %s", c.text, got, c.repr)
		}
		if got := p.eval("v", v); !proto.Equal(got, v.Value) {
			t.Errorf("%s came back as %v", c.text, got)
		}
	}
}

// TestValuesOfCode takes the kinds of value that only the interpreter makes.
func TestValuesOfCode(t *testing.T) {
	for code, want := range map[string]string{
		"...":                    `ellipsis {}`,
		"NotImplemented":         `not_implemented {}`,
		"ValueError('x')":        `exception { exc_type: "ValueError" }`,
		"int":                    `type { name: "int" }`,
		"len":                    `builtin_function: "len"`,
		"range(3)":               `repr: "range(0, 3)"`,
		"import math\nmath":      `repr: "<module 'math'>"`,
		"class A: pass\nA":       `repr: "<class 'A'>"`,
		"class A: pass\nA()":     `class_instance { type { name: "A" } attrs {} }`,
		"'\\ud800'":              "str: '\ufffd'",
		"zip([1], 'a')":          `list { items { tuple { items { int: 1 } items { str: "a" } } } }`,
		"(x for x in [1])":       `list { items { int: 1 } }`,
		"a = []\na.append(a)\na": `list { items { cycle {} } }`,
		"x = 1":                  `none {}`,
		"":                       `none {}`,
		"from collections import Counter\nCounter('a')": `dict { pairs { key { str: "a" } value { int: 1 } } }`,
		"from collections import deque\ndeque([1])":     `list { items { int: 1 } }`,
		"from dataclasses import dataclass\n@dataclass\nclass D:\n    x: int\nD(1)": `class_instance {
			type { name: "D" is_dataclass: true } attrs { pairs { key { str: "x" } value { int: 1 } } } }`,
	} {
		v := &wire.Value{}
		parse(t, want, v)
		if got := session(t).eval(code); !proto.Equal(got, v) {
			t.Errorf("%q gave %v, want %s", code, got, want)
		}
	}
}

// TestOSCalls proves the number and the fields of every operation.
func TestOSCalls(t *testing.T) {
	const imports = "from pathlib import Path\nimport os\nfrom datetime import datetime, date, timezone, timedelta\n"
	for code, want := range map[string]string{
		"Path('/p').exists()":                             `exists: "/p"`,
		"Path('/p').is_file()":                            `is_file: "/p"`,
		"Path('/p').is_dir()":                             `is_dir: "/p"`,
		"Path('/p').is_symlink()":                         `is_symlink: "/p"`,
		"Path('/p').read_text()":                          `read_text: "/p"`,
		"Path('/p').read_bytes()":                         `read_bytes: "/p"`,
		"Path('/p').stat()":                               `stat: "/p"`,
		"Path('/p').iterdir()":                            `iterdir: "/p"`,
		"os.listdir('/p')":                                `iterdir: "/p"`,
		"Path('p').resolve()":                             `resolve: "p"`,
		"Path('p').absolute()":                            `absolute: "p"`,
		"Path('/p').unlink()":                             `unlink: "/p"`,
		"os.remove('/p')":                                 `unlink: "/p"`,
		"Path('/p').rmdir()":                              `rmdir: "/p"`,
		"Path('/p').write_text('ä')":                      `write_text { path: "/p" data: "ä" }`,
		"Path('/p').append_text('ä')":                     `append_text { path: "/p" data: "ä" }`,
		"Path('/p').write_bytes(b'\\xff')":                `write_bytes { path: "/p" data: "\xff" }`,
		"Path('/p').append_bytes(b'\\xff')":               `append_bytes { path: "/p" data: "\xff" }`,
		"open('/p')":                                      `open { path: "/p" mode: "r" }`,
		"open('/p', 'ab')":                                `open { path: "/p" mode: "ab" }`,
		"Path('/p').mkdir()":                              `mkdir { path: "/p" }`,
		"Path('/p').mkdir(parents=True)":                  `mkdir { path: "/p" parents: true }`,
		"Path('/p').mkdir(exist_ok=True)":                 `mkdir { path: "/p" exist_ok: true }`,
		"Path('/p').rename('/q')":                         `rename { src: "/p" dst: "/q" }`,
		"os.getenv('K', 7)":                               `getenv { key: "K" default { int: 7 } }`,
		"os.getenv('K')":                                  `getenv { key: "K" default { none {} } }`,
		"os.environ":                                      `get_environ {}`,
		"date.today()":                                    `date_today {}`,
		"datetime.now()":                                  `date_time_now {}`,
		"datetime.now(timezone.utc)":                      `date_time_now { tz {} }`,
		"datetime.now(timezone(timedelta(hours=1), 'X'))": `date_time_now { tz { offset_seconds: 3600 name: "X" } }`,
	} {
		c := &wire.OSCall{}
		parse(t, want, c)
		if ev := session(t).ask(feed(imports + code)); !proto.Equal(ev.GetOsCall(), c) {
			t.Errorf("%s gave %v, want %s", code, ev, want)
		}
	}
}

// TestQuestions answers questions in every way that there is.
func TestQuestions(t *testing.T) {
	p := session(t)
	ask := func(r *wire.Request, want string) *wire.Event {
		t.Helper()
		ev, w := p.ask(r), &wire.Event{}
		parse(t, want, w)
		w.TotalExecutionMicros = ev.GetTotalExecutionMicros()
		if f := ev.GetError().GetException(); f != nil && w.GetError() != nil {
			w.GetError().Exception.Traceback = f.GetTraceback()
		}
		if !proto.Equal(ev, w) {
			t.Fatalf("got %v, want %s", ev, want)
		}
		return ev
	}
	ask(feed("a = foo(1, k='v')\nb = open('/f')\nc = bar"), `function_call { function_name: "foo" args { int: 1 } `+
		`kwargs { key { str: "k" } value { str: "v" } } }`)
	ask(request(t, `resume_call { result { return_value { int: 5 } } }`),
		`os_call { call_id: 1 open { path: "/f" mode: "r" } }`)
	ask(request(t,
		`resume_call { call_id: 1 result { return_value { file_handle { path: "/f" mode: "r" } } } }`),
		`name_lookup { name: "bar" }`)
	ev := ask(request(t, `resume_name_lookup { undefined {} }`),
		`error { exception { exc_type: "NameError" message: "name 'bar' is not defined" } }`)
	frame := &wire.Frame{}
	parse(t,
		`filename: "<python-input-0>" start { line: 3 column: 5 } end { line: 3 column: 8 } frame_name: "<module>" `+
			`preview_line: "c = bar"`, frame)
	if got := ev.GetError().GetException().GetTraceback(); len(got) != 1 || !proto.Equal(got[0], frame) {
		t.Errorf("traceback %v", got)
	}

	ask(feed("f = tool\nf(a=1)"), `name_lookup { name: "tool" }`)
	ask(request(t, `resume_name_lookup { value { function { name: "tool" } } }`),
		`function_call { function_name: "tool" call_id: 0 kwargs { key { str: "a" } value { int: 1 } } }`)
	ask(request(t, `resume_call { result { return_value { none {} } } }`), `complete { value { none {} } }`)

	ask(feed("gone(1)"), `function_call { function_name: "gone" args { int: 1 } }`)
	ask(request(t, `resume_call { result { not_found: "gone" } }`),
		`error { exception { exc_type: "NameError" message: "name 'gone' is not defined" } }`)

	ask(feed("try:\n    open('/f')\nexcept UnicodeDecodeError as e:\n    x = str(e)\nx"),
		`os_call { open { path: "/f" mode: "r" } }`)
	ask(request(t, `resume_call { result { exception { exc_type: "UnicodeDecodeError" message: "words"
		data { unicode { encoding: "utf-8" object_bytes: "\xff" end: 1 reason: "why" } } } } }`),
		`complete { value { str: "words" } }`)

	ask(request(t, `shutdown {}`), `ok {}`)
	if _, err := wire.Receive(p.out); !errors.Is(err, io.EOF) {
		t.Errorf("after shutdown: %v, want the end", err)
	}
}

// TestProtocolFacts holds what the schema's comments say and nothing above proves.
func TestProtocolFacts(t *testing.T) {
	t.Run("only version 2", func(t *testing.T) {
		for v := range uint32(5) {
			r := configure(nil)
			r.GetConfigure().ProtocolVersion = v
			if ev := start(t).ask(r); (ev.GetOk() != nil) != (v == wire.ProtocolVersion) {
				t.Errorf("version %d was answered by %v", v, ev)
			}
		}
	})
	t.Run("print", func(t *testing.T) {
		p := session(t)
		if err := wire.Send(p.in, feed("print('a')\nprint('b', end='')")); err != nil {
			t.Fatal(err)
		}
		if _, printed := p.answer(); printed != "a\nb" {
			t.Errorf("printed %q", printed)
		}
	})
	t.Run("a request out of turn", func(t *testing.T) {
		p := session(t)
		p.ask(feed("open('/f')"))
		if ev := p.ask(feed("1")); !strings.HasPrefix(ev.GetError().GetException().GetMessage(), "protocol violation") {
			t.Errorf("got %v", ev)
		}
	})
	t.Run("depth of a request", func(t *testing.T) {
		lists, dicts := "int: 1", "int: 1"
		for range wire.MaxValueDepth / 2 {
			lists = "list { items { " + lists + " } }"
		}
		for range wire.MaxValueDepth / 3 {
			dicts = `dict { pairs { key { str: "k" } value { ` + dicts + " } } }"
		}
		p := session(t)
		for _, text := range []string{lists, dicts} {
			v := &wire.NamedValue{Name: "v", Value: &wire.Value{}}
			parse(t, text, v.Value)
			p.eval("1", v)
		}
	})
	t.Run("depth of an event", func(t *testing.T) {
		for _, wrap := range []string{"[v]", "{'k': v}", "D(v)"} {
			p := session(t)
			nest := func(n int) *wire.Event {
				return p.ask(feed(fmt.Sprintf(`
from dataclasses import dataclass
@dataclass
class D:
    x: object
v = 1
for i in range(%d):
    v = %s
v`, n, wrap)))
			}
			deepest := 0
			for nest(deepest+1).GetComplete() != nil {
				deepest++
			}
			ev := nest(deepest + 1)
			if deepest < 20 || ev.GetError().GetException().GetMessage() != "Max output depth exceeded" {
				t.Errorf("after %d levels of %s: %v", deepest, wrap, ev)
			}
		}
	})
	t.Run("limits", func(t *testing.T) {
		p := start(t)
		p.ask(configure(&wire.ResourceLimits{
			MaxDurationMicros: 100_000,
			MaxMemoryBytes:    20 << 20,
			MaxRecursionDepth: 20,
		}))
		for code, want := range map[string]string{
			"x = [0] * 10**9":                                          "MemoryError",
			"def f(n):\n    return f(n + 1)\nf(0)":                     "RecursionError",
			"try:\n    x = 'a' * 10**9\nexcept MemoryError:\n    pass": "MemoryError",
		} {
			if ev := p.ask(feed(code)); ev.GetError().GetException().GetExcType() != want {
				t.Errorf("%q: %v, want %s", code, ev, want)
			}
		}
		ev := p.ask(feed("try:\n    while True:\n        pass\nexcept BaseException:\n    pass"))
		if ev.GetError().GetException().GetExcType() != "TimeoutError" || ev.GetTotalExecutionMicros() < 100_000 {
			t.Errorf("endless loop: %v", ev)
		}
	})
	t.Run("bad frame", func(t *testing.T) {
		if ev := start(t).askRaw([]byte{0xff}); ev.GetError().GetException().GetExcType() != "RuntimeError" {
			t.Errorf("got %v", ev)
		}
	})
}
