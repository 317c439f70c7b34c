package driver_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/threegate/tool-exec/executors/monty/driver"
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
		{"nothing", "", "", 0, "", "", ""},
		{"value and output", "print('out')\n{'a': [1, 2.5, None, True]}", "", 0, "out\n", "", `{"a": [1, 2.5, null, true]}`},
		{"None is no value", "print('x')", "", 0, "x\n", "", ""},
		{"every kind of input", "print(type(i), type(f), type(l), type(d), n, b, s)\n[i, f, l, d, n, b, s, e]",
			`{"i": 12345678901234567890123456789, "f": 1e3, "l": [1, [2]], "d": {"k": {}}, "n": null, "b": false, "s": "\u00e9\n", "e": []}`, 0,
			"<class 'int'> <class 'float'> <class 'list'> <class 'dict'> None False é\n\n", "",
			`[12345678901234567890123456789, 1000.0, [1, [2]], {"k": {}}, null, false, "é\n", []]`},
		{"negative zero", "[a, b, 1e16, 1e-5, 1e22, 123456789012345.6]", `{"a": -0.0, "b": -0}`, 0, "", "", "[-0.0, 0, 1e+16, 1e-05, 1e+22, 123456789012345.6]"},
		{"null inputs", "1", "null", 0, "", "", "1"},
		{"containers", "from collections import namedtuple, deque\nfrom dataclasses import dataclass\n@dataclass\nclass D:\n    x: int\n    y: str = 'é'\n" +
			"[(1, 2), {3, 1.5, 2, 'b', 'a', None}, frozenset([2, 10]), deque([1]), zip('a', 'b'), namedtuple('P', 'u v')(1, 2), D(1), b'\\x00\\xff']", "", 0, "", "",
			`[[1, 2], [1.5, 2, 3, "a", "b", null], [2, 10], [1], [["a", "b"]], {"u": 1, "v": 2}, {"x": 1, "y": "é"}, {"base64": "AP8="}]`},
		{"times", dt + "[date(2024, 2, 29), time(1, 2, 3, 40), datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=-5, minutes=-30))), " +
			"timedelta(days=-1, microseconds=5), timedelta(2), timezone.utc, timezone(timedelta(hours=3)), timezone(timedelta(1), 'X') if False else 0]", "", 0, "", "",
			`["2024-02-29", "01:02:03.000040", "2026-01-02T03:04:05-05:30", -86399.999995, 172800, "UTC", "UTC+03:00", 0]`},
		{"path", "from pathlib import Path\nPath('/in/x')", "", 0, "", "", `"/in/x"`},
		{"html is kept", "'<a href=\"x\">&</a>\\u2028'", "", 0, "", "", `"<a href=\"x\">&</a>\u2028"`},
		{"clock", dt + "print(datetime.now(), date.today())\nprint(datetime.now(timezone(timedelta(hours=13), 'X')))", "", 0,
			"2026-11-20 12:34:56.789012 2026-11-20\n2026-11-21 01:34:56.789012+13:00\n", "", ""},
		{"environment", "import os\nprint(os.environ, os.getenv('HOME'), os.getenv('A', [1]))", "", 0, "{} None [1]\n", "", ""},
		{"unknown function", "try:\n    foo(1, a=2)\nexcept NameError as e:\n    print(e)\ninput()", "", 1, "name 'foo' is not defined\n",
			"NameError: name 'input' is not defined\n", ""},
		{"no eval", "eval('1')", "", 1, "", "NameError: name 'eval' is not defined", ""},
		{"other path", "from pathlib import Path\nfor p in ['/etc/passwd', '/', 'a', '/inx', '/out/../etc', '/proc/1/environ', '/tmp/x', '']:\n" +
			"    for f in [lambda: Path(p).exists(), lambda: open(p), lambda: open(p, 'w'), lambda: Path(p).mkdir(parents=True), lambda: Path(p).stat()]:\n" +
			"        try:\n            f()\n            print('reached', p)\n        except PermissionError as e:\n            assert 'files are reached below /in' in str(e), e\nopen('/etc/passwd')", "", 1, "",
			"PermissionError: [Errno 13] Permission denied: '/etc/passwd' (files are reached below /in, to read, and below /out)\n", ""},
		{"the value's name", "from pathlib import Path\np = Path('/out/_value.json')\nfor f in [lambda: p.write_text('x'), lambda: p.mkdir(), lambda: open('/out//_value.json', 'a'), " +
			"lambda: Path('/out/x').rename(p), lambda: p.rename('/out/x'), lambda: p.unlink(), lambda: p.append_bytes(b'x')]:\n    try:\n        f()\n        print('done')\n" +
			"    except PermissionError as e:\n        assert 'is kept for the value' in str(e), e\n7", "", 0, "", "", "7"},
		{"the folder itself", "from pathlib import Path\nfor f in [lambda: Path('/out').rmdir(), lambda: Path('/out').rename('/out/x')]:\n    try:\n        f()\n    except PermissionError as e:\n        print('refused')", "", 0, "refused\nrefused\n", "", ""},
		{"time limit", "try:\n    while True:\n        pass\nexcept BaseException:\n    print('caught')", "", driver.ExitTime, "", "TimeoutError: time limit exceeded", ""},
		{"memory limit", "try:\n    x = [0] * 10**9\nexcept BaseException:\n    print('caught')", "", driver.ExitMemory, "", "MemoryError: memory limit exceeded", ""},
		{"memory limit in steps", "a = []\nwhile True:\n    a.append('x' * 1000)", "", driver.ExitMemory, "", "MemoryError: memory limit exceeded", ""},
		{"looks like time", "raise TimeoutError('time limit exceeded: 9s > 1s')", "", 1, "", "TimeoutError: time limit exceeded", ""},
		{"looks like memory", "raise MemoryError('memory limit exceeded: 9 bytes > 1 bytes')", "", 1, "", "MemoryError: memory limit exceeded", ""},
		{"refused: function", "def f(): pass\n[1, f]", "", driver.ExitValue, "", "the value[1]: object <function 'f' at", ""},
		{"refused: builtin", "{'k': {'n': len}}", "", driver.ExitValue, "", `the value["k"]["n"]: builtin function len can't be delivered`, ""},
		{"refused: class", "int", "", driver.ExitValue, "", "class int can't", ""},
		{"refused: instance", "class C: pass\n(C(),)", "", driver.ExitValue, "", "the value[0]: C object can't be delivered as JSON: only instances of dataclasses", ""},
		{"refused: exception", "ValueError('x')", "", driver.ExitValue, "", "exception ValueError can't", ""},
		{"refused: file", "open('/in/lines.txt')", "", driver.ExitValue, "", "open file /in/lines.txt can't", ""},
		{"refused: ellipsis", "...", "", driver.ExitValue, "", "ellipsis can't", ""},
		{"refused: not implemented", "NotImplemented", "", driver.ExitValue, "", "NotImplementedType can't", ""},
		{"refused: nan", "{'x': [float('nan')]}", "", driver.ExitValue, "", `the value["x"][0]: float can't be delivered as JSON: it is nan`, ""},
		{"refused: inf", "-float('inf')", "", driver.ExitValue, "", "float can't", ""},
		{"refused: key", "{1: 2}", "", driver.ExitValue, "", "a key of type int can't be delivered as JSON: keys must be str", ""},
		{"refused: cycle", "a = {}\na['self'] = a\na", "", driver.ExitValue, "", `the value["self"]: reference of a container to itself`, ""},
		{"refused: huge int", "10 ** 5000", "", driver.ExitValue, "", "int can't be delivered as JSON: it has more than 4300 digits", ""},
		{"largest int", "len(str(10 ** 4299)), 10 ** 4299 % 10", "", 0, "", "", "[4300, 0]"},
		{"too deep a value", "x = 1\nfor i in range(120):\n    x = [x]\nx", "", 1, "", "RuntimeError: Max output depth exceeded", ""},
		{"input: no object", "1", "[1]", driver.ExitJob, "", "inputs: must be one JSON object", ""},
		{"input: twice", "1", `{"a": {"b": 1, "b": 2}}`, driver.ExitJob, "", `inputs["a"]: the key "b" is there twice`, ""},
		{"input: keyword", "1", `{"class": 1}`, driver.ExitJob, "", `input "class" is a word of the language`, ""},
		{"input: no name", "1", `{"a b": 1}`, driver.ExitJob, "", `input "a b" is no variable name`, ""},
		{"input: digit first", "1", `{"1a": 1}`, driver.ExitJob, "", `is no variable name`, ""},
		{"input: empty name", "1", `{"": 1}`, driver.ExitJob, "", `empty name`, ""},
		{"input: float too large", "1", `{"a": [1e999]}`, driver.ExitJob, "", `inputs["a"][0]: "1e999" does not fit a float`, ""},
		{"input: int too long", "1", `{"a": ` + strings.Repeat("9", 4301) + `}`, driver.ExitJob, "", "at most 4300", ""},
		{"input: too deep", "1", `{"a": ` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `}`, driver.ExitJob, "", "nests too deep", ""},
		{"input: endless depth", "1", `{"a": ` + strings.Repeat("[", 1<<20), driver.ExitJob, "", "nests too deep", ""},
		{"input: long key", "1", `{"a": {"` + strings.Repeat("k", 1<<20) + `": [` + strings.Repeat("1,", 100_000) + `1e999]}}`, driver.ExitJob, "", "does not fit a float", ""},
		{"input: not UTF-8", "1", "{\"a\": \"\xff\"}", driver.ExitJob, "", "no valid UTF-8", ""},
		{"input: broken", "1", `{"a": `, driver.ExitJob, "", "inputs", ""},
		{"input: more follows", "1", `{} {}`, driver.ExitJob, "", "something follows", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			j := job(t, c.code, c.inputs)
			if c.exit == driver.ExitTime || c.exit == driver.ExitMemory {
				j.Limits = driver.Limits{MaxDurationSec: 1, MaxMemoryBytes: 32 << 20}
			}
			if got := driver.Run(j, w.env()); got != c.exit {
				t.Errorf("exit code %d, want %d", got, c.exit)
			}
			if w.stdout.String() != c.stdout {
				t.Errorf("stdout %q, want %q", w.stdout.String(), c.stdout)
			}
			if s := w.stderr.String(); !strings.Contains(s, c.stderr) || (s == "") != (c.stderr == "") {
				t.Errorf("stderr %q, want %q in it", s, c.stderr)
			}
			b, err := os.ReadFile(filepath.Join(w.out, driver.ValueName))
			if c.value == "" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a value %q, %v", b, err)
			}
			if c.value != "" && string(b) != c.value+"\n" {
				t.Errorf("value %q, want %q", b, c.value)
			}
		})
	}
}

// TestPrintIsStreamed: what was printed is there while the code still runs.
func TestPrintIsStreamed(t *testing.T) {
	w := newWorld(t)
	env := w.env()
	first := make(chan time.Time, 100)
	env.Stdout = writerFunc(func(p []byte) (int, error) {
		first <- time.Now()
		return len(p), nil
	})
	code := "print('now')\nn = 0\nfor i in range(4000000):\n    n += i\n"
	if got := driver.Run(job(t, code, ""), env); got != 0 {
		t.Fatalf("exit code %d: %s", got, w.stderr.String())
	}
	if early := time.Since(<-first); early < 50*time.Millisecond {
		t.Errorf("the output came only %s before the end", early)
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
	if got := driver.Run(job(t, code, ""), w.env()); got != 0 {
		t.Fatalf("exit code %d: %s", got, w.stderr.String())
	}
	out := w.stdout.String()
	for _, want := range []string{
		"PermissionError [Errno 13] Permission denied: '/out/fifo' (no regular file)\nOSError [Errno 6] No such device or address: '/out/fifo'\n",
		"PermissionError [Errno 13] Permission denied: '/out/away'\nPermissionError [Errno 13] Permission denied: '/out/away'\n",
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
	if err := os.Symlink("data.txt", filepath.Join(w.out, driver.ValueName)); err != nil {
		t.Fatal(err)
	}
	if got := driver.Run(job(t, "1", ""), w.env()); got != driver.ExitOutput {
		t.Errorf("exit code %d, want %d", got, driver.ExitOutput)
	}
	if _, err := os.Stat(filepath.Join(w.out, "data.txt")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the link was followed: %v", err)
	}
}

// BenchmarkRun is the whole way of the smallest program: start, configure, feed,
// end.
func BenchmarkRun(b *testing.B) {
	w := newWorld(b)
	j := job(b, "print(1)", "")
	for b.Loop() {
		if got := driver.Run(j, w.env()); got != 0 {
			b.Fatal(got)
		}
	}
}
