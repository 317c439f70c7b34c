package monty_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/threegate/tool-exec/executors/monty"
)

// TestOutcomes runs programs that the bare command has no like of: variables,
// the last value, the clock, limits, and what is refused.
func TestOutcomes(t *testing.T) {
	const dt = "from datetime import datetime, date, timezone, timedelta, time\n"
	for _, c := range []struct {
		name, code, inputs string
		exit               int
		stdout, stderr     string // the whole of stdout, a part of stderr
		value              string // the whole of the value's file, or no file
	}{
		{name: "nothing"},
		{
			name:   "value and output",
			code:   "print('out')\n{'a': [1, 2.5, None, True]}",
			stdout: "out\n",
			value:  `{"a": [1, 2.5, null, true]}`,
		},
		{name: "None is no value", code: "print('x')", stdout: "x\n"},
		{
			name: "every kind of input",
			code: "print(type(i), type(f), type(l), type(d), n, b, s)\n[i, f, l, d, n, b, s, e]",
			inputs: `{"i": 12345678901234567890123456789, "f": 1e3, "l": [1, [2]], "d": {"k": {}}, "n": null, "b": ` +
				`false, "s": "\u00e9\n", "e": []}`,
			stdout: "<class 'int'> <class 'float'> <class 'list'> <class 'dict'> None False é\n\n",
			value:  `[12345678901234567890123456789, 1000.0, [1, [2]], {"k": {}}, null, false, "é\n", []]`,
		},
		{
			name:   "negative zero",
			code:   "[a, b, 1e16, 1e-5, 1e22, 123456789012345.6]",
			inputs: `{"a": -0.0, "b": -0}`,
			value:  "[-0.0, 0, 1e+16, 1e-05, 1e+22, 123456789012345.6]",
		},
		{name: "null inputs", code: "1", inputs: "null", value: "1"},
		{
			name: "containers",
			code: `
from collections import namedtuple, deque
from dataclasses import dataclass
@dataclass
class D:
    x: int
    y: str = 'é'
[(1, 2), {3, 1.5, 2, 'b', 'a', None}, frozenset([2, 10]), deque([1]), zip('a', 'b'),
 namedtuple('P', 'u v')(1, 2), D(1), b'\x00\xff']`,
			value: `[[1, 2], [1.5, 2, 3, "a", "b", null], [2, 10], [1], [["a", "b"]], ` +
				`{"u": 1, "v": 2}, {"x": 1, "y": "é"}, {"base64": "AP8="}]`,
		},
		{
			name: "times",
			code: dt + `
[date(2024, 2, 29), time(1, 2, 3, 40),
 datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=-5, minutes=-30))),
 timedelta(days=-1, microseconds=5), timedelta(2), timezone.utc, timezone(timedelta(hours=3))]`,
			value: `["2024-02-29", "01:02:03.000040", "2026-01-02T03:04:05-05:30", ` +
				`-86399.999995, 172800, "UTC", "UTC+03:00"]`,
		},
		{name: "path", code: "from pathlib import Path\nPath('/in/x')", value: `"/in/x"`},
		{name: "html is kept", code: "'<a href=\"x\">&</a>\\u2028'", value: `"<a href=\"x\">&</a>\u2028"`},
		{
			name:   "clock",
			code:   dt + "print(datetime.now(), date.today())\nprint(datetime.now(timezone(timedelta(hours=13), 'X')))",
			stdout: "2026-11-20 12:34:56.789012 2026-11-20\n2026-11-21 01:34:56.789012+13:00\n",
		},
		{
			name:   "environment",
			code:   "import os\nprint(os.environ, os.getenv('HOME'), os.getenv('A', [1]))",
			stdout: "{} None [1]\n",
		},
		{
			name:   "unknown function",
			code:   "try:\n    foo(1, a=2)\nexcept NameError as e:\n    print(e)\ninput()",
			exit:   1,
			stdout: "name 'foo' is not defined\n",
			stderr: "NameError: name 'input' is not defined\n",
		},
		{name: "no eval", code: "eval('1')", exit: 1, stderr: "NameError: name 'eval' is not defined"},
		{
			name: "other path",
			code: `
from pathlib import Path
for p in ['/etc/passwd', '/', 'a', '/inx', '/out/../etc', '/proc/1/environ', '/tmp/x', '']:
    for f in [lambda: Path(p).exists(), lambda: open(p), lambda: open(p, 'w'),
              lambda: Path(p).mkdir(parents=True), lambda: Path(p).stat()]:
        try:
            f()
            print('reached', p)
        except PermissionError as e:
            assert 'files are reached below /in' in str(e), e
open('/etc/passwd')`,
			exit: 1,
			stderr: "PermissionError: [Errno 13] Permission denied: '/etc/passwd' " +
				"(files are reached below /in, to read, and below /out)\n",
		},
		{
			name: "the value's name",
			code: `
from pathlib import Path
p = Path('/out/_value.json')
for f in [lambda: p.write_text('x'), lambda: p.mkdir(), lambda: open('/out//_value.json', 'a'),
          lambda: Path('/out/x').rename(p), lambda: p.rename('/out/x'), lambda: p.unlink(),
          lambda: p.append_bytes(b'x')]:
    try:
        f()
        print('done')
    except PermissionError as e:
        assert 'is kept for the value' in str(e), e
7`,
			value: "7",
		},
		{
			name: "the folder itself",
			code: "from pathlib import Path\n" +
				"for f in [lambda: Path('/out').rmdir(), lambda: Path('/out').rename('/out/x')]:\n    try:\n" +
				"        f()\n    except PermissionError as e:\n        print('refused')",
			stdout: "refused\nrefused\n",
		},
		{
			name:   "time limit",
			code:   "try:\n    while True:\n        pass\nexcept BaseException:\n    print('caught')",
			exit:   monty.ExitTime,
			stderr: "TimeoutError: time limit exceeded",
		},
		{
			name:   "memory limit",
			code:   "try:\n    x = [0] * 10**9\nexcept BaseException:\n    print('caught')",
			exit:   monty.ExitMemory,
			stderr: "MemoryError: memory limit exceeded",
		},
		{
			name:   "memory limit in steps",
			code:   "a = []\nwhile True:\n    a.append('x' * 1000)",
			exit:   monty.ExitMemory,
			stderr: "MemoryError: memory limit exceeded",
		},
		{
			name:   "looks like time",
			code:   "raise TimeoutError('time limit exceeded: 9s > 1s')",
			exit:   1,
			stderr: "TimeoutError: time limit exceeded",
		},
		{
			name:   "looks like memory",
			code:   "raise MemoryError('memory limit exceeded: 9 bytes > 1 bytes')",
			exit:   1,
			stderr: "MemoryError: memory limit exceeded",
		},
		{
			name:   "refused: function",
			code:   "def f(): pass\n[1, f]",
			exit:   monty.ExitValue,
			stderr: "the value[1]: object <function 'f' at",
		},
		{
			name:   "refused: builtin",
			code:   "{'k': {'n': len}}",
			exit:   monty.ExitValue,
			stderr: `the value["k"]["n"]: builtin function len can't be delivered`,
		},
		{name: "refused: class", code: "int", exit: monty.ExitValue, stderr: "class int can't"},
		{
			name:   "refused: instance",
			code:   "class C: pass\n(C(),)",
			exit:   monty.ExitValue,
			stderr: "the value[0]: C object can't be delivered as JSON: only instances of dataclasses",
		},
		{
			name:   "refused: exception",
			code:   "ValueError('x')",
			exit:   monty.ExitValue,
			stderr: "exception ValueError can't",
		},
		{
			name:   "refused: file",
			code:   "open('/in/lines.txt')",
			exit:   monty.ExitValue,
			stderr: "open file /in/lines.txt can't",
		},
		{name: "refused: ellipsis", code: "...", exit: monty.ExitValue, stderr: "ellipsis can't"},
		{
			name:   "refused: not implemented",
			code:   "NotImplemented",
			exit:   monty.ExitValue,
			stderr: "NotImplementedType can't",
		},
		{
			name:   "refused: nan",
			code:   "{'x': [float('nan')]}",
			exit:   monty.ExitValue,
			stderr: `the value["x"][0]: float can't be delivered as JSON: it is nan`,
		},
		{name: "refused: inf", code: "-float('inf')", exit: monty.ExitValue, stderr: "float can't"},
		{
			name: "keys",
			code: dt + `
from pathlib import Path
{0: [2], -3: {1.5: 1, 2.0: 1}, True: 1, None: {}, date(2024, 2, 29): 'd', 10 ** 20: 1, 'é"': 1, Path('/in/"'): 1}`,
			value: `{"0": [2], "-3": {"1.5": 1, "2.0": 1}, "true": 1, "null": {}, "2024-02-29": "d", ` +
				`"100000000000000000000": 1, "é\"": 1, "/in/\"": 1}`,
		},
		{
			name:   "refused: key",
			code:   "{0: {(1, 2): 3}}",
			exit:   monty.ExitValue,
			stderr: `the value["0"]: a key of type tuple can't be delivered as JSON: keys must be str or plain values`,
		},
		{
			name:   "refused: key of bytes",
			code:   "{b'x': 1}",
			exit:   monty.ExitValue,
			stderr: "a key of type bytes can't be delivered as JSON: keys must be str or plain values",
		},
		{
			name:   "refused: key that is no number",
			code:   "{float('nan'): 1}",
			exit:   monty.ExitValue,
			stderr: "a key of type float can't be delivered as JSON: it is nan",
		},
		{
			name:   "refused: keys that look alike",
			code:   "[{1: 'a', '1': 'b'}]",
			exit:   monty.ExitValue,
			stderr: "the value[0]: the key 1 can't be delivered as JSON: it is there twice",
		},
		{
			name: "raise without an exception",
			code: "raise",
			exit: 1,
			stderr: "Traceback (most recent call last):\n  File \"code.py\", in <module>\n    raise\n" +
				"RuntimeError: No active exception to reraise\n",
		},
		{
			name:   "raise without an exception, after something else",
			code:   "def f():\n    print(1)\n    raise\nf()",
			exit:   1,
			stdout: "1\n",
			stderr: "line 4, in <module>\n    f()\n    ~~~\n  File \"code.py\", in f\n    raise\n" +
				"RuntimeError: No active exception to reraise\n",
		},
		{
			name: "an exception with the same words",
			code: "raise RuntimeError('No active exception to reraise')",
			exit: 1,
			stderr: "  File \"code.py\", line 1, in <module>\n" +
				"    raise RuntimeError('No active exception to reraise')\nRuntimeError",
		},
		{
			name:   "refused: cycle",
			code:   "a = {}\na['self'] = a\na",
			exit:   monty.ExitValue,
			stderr: `the value["self"]: reference of a container to itself`,
		},
		{
			name:   "refused: huge int",
			code:   "10 ** 5000",
			exit:   monty.ExitValue,
			stderr: "int can't be delivered as JSON: it has more than 4300 digits",
		},
		{name: "largest int", code: "len(str(10 ** 4299)), 10 ** 4299 % 10", value: "[4300, 0]"},
		{
			name:   "too deep a value",
			code:   "x = 1\nfor i in range(120):\n    x = [x]\nx",
			exit:   1,
			stderr: "RuntimeError: Max output depth exceeded",
		},
		{
			name:   "input: no object",
			code:   "1",
			inputs: "[1]",
			exit:   monty.ExitJob,
			stderr: "inputs: must be one JSON object",
		},
		{
			name:   "input: float too large",
			code:   "1",
			inputs: `{"a": [1e999]}`,
			exit:   monty.ExitJob,
			stderr: `inputs: "1e999" does not fit a float`,
		},
		{
			name:   "input: too deep",
			code:   "1",
			inputs: `{"a": ` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `}`,
			exit:   monty.ExitJob,
			stderr: "nests too deep",
		},
		{
			name:   "input: endless depth",
			code:   "1",
			inputs: `{"a": ` + strings.Repeat("[", 1<<20),
			exit:   monty.ExitJob,
			stderr: "nests too deep",
		},
		{
			name:   "input: long key",
			code:   "1",
			inputs: `{"a": {"` + strings.Repeat("k", 1<<20) + `": [` + strings.Repeat("1,", 100_000) + `1e999]}}`,
			exit:   monty.ExitJob,
			stderr: "does not fit a float",
		},
		{
			name:   "input: not UTF-8",
			code:   "1",
			inputs: "{\"a\": \"\xff\"}",
			exit:   monty.ExitJob,
			stderr: "invalid UTF-8",
		},
		{name: "input: broken", code: "1", inputs: `{"a": `, exit: monty.ExitJob, stderr: "inputs"},
		{name: "input: more follows", code: "1", inputs: `{} {}`, exit: monty.ExitJob, stderr: "something follows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			j := job(t, c.code, c.inputs)
			switch c.exit {
			case monty.ExitTime:
				j.Limits.MaxDurationSec = 0.2
			case monty.ExitMemory:
				j.Limits.MaxMemoryBytes = 8 << 20
			}
			if got := monty.Run(j, w.env()); got != c.exit {
				t.Errorf("exit code %d, want %d", got, c.exit)
			}
			if w.stdout.String() != c.stdout {
				t.Errorf("stdout %q, want %q", w.stdout.String(), c.stdout)
			}
			if s := w.stderr.String(); !strings.Contains(s, c.stderr) || (s == "") != (c.stderr == "") {
				t.Errorf("stderr %q, want %q in it", s, c.stderr)
			}
			b, err := os.ReadFile(filepath.Join(w.out, monty.ValueName))
			if c.value == "" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a value %q, %v", b, err)
			}
			if c.value != "" && string(b) != c.value+"\n" {
				t.Errorf("value %q, want %q", b, c.value)
			}
		})
	}
}

// TestPrintIsStreamed: what was printed is there while the code still runs. The code waits for it.
func TestPrintIsStreamed(t *testing.T) {
	w := newWorld(t)
	env := w.env()
	env.Stdout = writerFunc(func(p []byte) (int, error) {
		return len(p), os.WriteFile(filepath.Join(w.out, "printed"), nil, 0o600)
	})
	code := "from pathlib import Path\nprint('now')\nwhile not Path('/out/printed').exists():\n    pass\n"
	if got := monty.Run(job(t, code, ""), env); got != 0 {
		t.Fatalf("exit code %d: %s", got, w.stderr.String())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestOddFiles: what a taken-over process may leave in /out neither blocks the
// driver nor leads it away.
func TestOddFiles(t *testing.T) {
	w := newWorld(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func(string) error{
		"fifo": func(p string) error { return syscall.Mkfifo(p, 0o644) },
		"away": func(p string) error { return os.Symlink(secret, p) },
		"up":   func(p string) error { return os.Symlink("../../../../../../etc", p) },
		"loop": func(p string) error { return os.Symlink("loop", p) },
	} {
		if err := make(filepath.Join(w.out, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(w.out, "bad\xffname"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	big, err := os.Create(filepath.Join(w.in, "big"))
	if err != nil {
		t.Fatal(err)
	}
	if err := big.Truncate(10 << 30); err != nil {
		t.Fatal(err)
	}
	big.Close()
	code := `
from pathlib import Path
def t(f):
    try:
        print(f())
    except OSError as e:
        print(type(e).__name__, e)
for n in ['fifo', 'away', 'up/passwd', 'loop']:
    p = Path('/out/' + n)
    t(lambda: p.read_text())
    t(lambda: p.write_text('x'))
    t(lambda: open('/out/' + n))
    t(lambda: p.exists())
print(Path('/out/away').is_symlink(), Path('/out/fifo').is_file())
print([p.name for p in Path('/out').iterdir()])
t(lambda: Path('/in/big').read_bytes())
t(lambda: open('/out/' + 'n' * 300, 'w'))
t(lambda: open("/out/it's/x", 'w'))
`
	if got := monty.Run(job(t, code, ""), w.env()); got != 0 {
		t.Fatalf("exit code %d: %s", got, w.stderr.String())
	}
	out := w.stdout.String()
	for _, want := range []string{
		"PermissionError [Errno 13] Permission denied: '/out/fifo' (no regular file)\n" +
			"OSError [Errno 6] No such device or address: '/out/fifo'\n",
		"PermissionError [Errno 13] Permission denied: '/out/away'\n" +
			"PermissionError [Errno 13] Permission denied: '/out/away'\n",
		"PermissionError [Errno 13] Permission denied: '/out/up/passwd'\n",
		"'/out/loop'\n",
		"True False\n['away', 'bad\ufffdname', 'fifo', 'loop', 'up']\n",
		"OSError [Errno 27] File too large: '/in/big' (at most ",
		"OSError [Errno 36] File name too long: '/out/nnn",
		"FileNotFoundError [Errno 2] No such file or directory: \"/out/it's/x\"\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.Contains(out, "secret\n") || strings.Contains(out, "root:") {
		t.Errorf("a file outside was read:\n%s", out)
	}
	if b, _ := os.ReadFile(secret); string(b) != "secret" {
		t.Errorf("a file outside was written: %q", b)
	}
}

// TestValueIsNotRedirected: a file that is already there under the value's name
// is never written through.
func TestValueIsNotRedirected(t *testing.T) {
	w := newWorld(t)
	if err := os.Symlink("data.txt", filepath.Join(w.out, monty.ValueName)); err != nil {
		t.Fatal(err)
	}
	if got := monty.Run(job(t, "1", ""), w.env()); got != monty.ExitOutput {
		t.Errorf("exit code %d, want %d", got, monty.ExitOutput)
	}
	if _, err := os.Stat(filepath.Join(w.out, "data.txt")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the link was followed: %v", err)
	}
}
