package monty_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/executors/monty"
)

// withTools runs code with two tools: echo gives its arguments back, refuse raises a PermissionError. full ends the
// run. It returns what was printed, what was said of the end, and the arguments of all calls.
func withTools(t *testing.T, code string) (exit int, stdout, stderr string, calls []string) {
	t.Helper()
	w := newWorld(t)
	env := w.env()
	env.Tools = &monty.Tools{Names: []string{"echo", "refuse", "full", "odd"}, Kept: map[string]string{"kept": "the tools"},
		Call: func(name string, args []byte) ([]byte, error) {
			calls = append(calls, name+string(args))
			switch name {
			case "refuse":
				return nil, &monty.Exception{Type: "PermissionError", Message: "E_POLICY: \"no\"\nand no"}
			case "full":
				return nil, errors.New("the record is full")
			case "odd":
				return []byte(strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60)), nil
			}
			return args, nil
		}}
	exit = monty.Run(job(t, code, ""), env)
	return exit, w.stdout.String(), w.stderr.String(), calls
}

// TestToolsAreFunctions: arguments go by name and as JSON, results are dicts.
func TestToolsAreFunctions(t *testing.T) {
	for code, want := range map[string]string{
		"print(echo(a=1, b=[1, {'x': None}], c='é', d=1.5, e=10**20))": "{'a': 1, 'b': [1, {'x': None}], 'c': 'é', 'd': 1.5, " +
			"'e': 100000000000000000000}",
		"print(echo())":                                   "{}",
		"print(echo(**{'a': 2}))":                         "{'a': 2}",
		"f = echo\nprint(f(a=1))":                         "{'a': 1}",
		"print([echo(a=i)['a'] for i in range(3)])":       "[0, 1, 2]",
		"def g(x):\n    return echo(a=x)\nprint(g(x=2))":  "{'a': 2}",
		"print(list(echo(a=i) for i in range(2)))":        "[{'a': 0}, {'a': 1}]",
		"echo = len\nprint(echo([]))":                     "0",
		"print(echo(path=b'ab', s='\\ud800', t=(1, 2)))":  "{'path': {'base64': 'YWI='}, 's': '\ufffd', 't': [1, 2]}",
		"print(echo(s='\\x00\\x1b', q='\"\\n')['q'], 1)":  "\"\n 1",
		"print(echo(a={True: 1, None: 2, 3: 4})['a'])":    "{'true': 1, 'null': 2, '3': 4}",
		"print(sorted([echo(a=i)['a'] for i in (3, 1)]))": "[1, 3]",
	} {
		if exit, out, errs, _ := withTools(t, code); exit != 0 || out != want+"\n" {
			t.Errorf("%s: exit code %d, %q %s", code, exit, out, errs)
		}
	}
}

// TestToolsRaise: what a tool refuses can be caught, and so can what can't be sent to one.
func TestToolsRaise(t *testing.T) {
	for call, want := range map[string]string{
		"refuse(a=1)":            "PermissionError E_POLICY: \"no\"\nand no",
		"echo(1)":                "TypeError echo() takes arguments by name only, such as path='a.txt'",
		"echo('x', a=1)":         "TypeError echo() takes arguments by name only, such as path='a.txt'",
		"echo(a=echo)":           `TypeError echo(): the argument["a"]: function echo has no form in JSON`,
		"echo(a=[float('nan')])": `TypeError echo(): the argument["a"][0]: float has no form in JSON`,
		"echo(a={(1, 2): 3})":    `TypeError echo(): the argument["a"]: a key of type tuple has no form in JSON`,
		"odd()":                  "RuntimeError the result of odd(): it nests too deep",
		"ecko(a=1)":              "NameError name 'ecko' is not defined",
		"open('/out/kept', 'w')": "PermissionError [Errno 13] Permission denied: '/out/kept' (this name is kept for the tools)",
	} {
		exit, out, errs, _ := withTools(t, "try:\n    "+call+"\nexcept Exception as e:\n    print(type(e).__name__, e)\nprint('on')")
		if exit != 0 || !strings.HasPrefix(out, want) || !strings.HasSuffix(out, "on\n") {
			t.Errorf("%s: exit code %d, %q, %s", call, exit, out, errs)
		}
	}
	if exit, _, errs, _ := withTools(t, "refuse(a=1)"); exit != monty.ExitException ||
		!strings.Contains(errs, "PermissionError: E_POLICY") {
		t.Errorf("exit code %d, %s", exit, errs)
	}
}

// TestToolsInCallbacks: the interpreter itself calls no tool. It says so, and how to do without.
func TestToolsInCallbacks(t *testing.T) {
	for _, code := range []string{"list(map(echo, [1]))", "sorted([3, 1], key=lambda x: echo(a=x)['a'])",
		"sorted([3, 1], key=echo)", "list(map(lambda x: echo(a=x), [1]))", "list(filter(echo, [1]))"} {
		exit, _, errs, calls := withTools(t, code)
		if exit != monty.ExitException || !strings.Contains(errs, "NotImplementedError: ") || len(calls) > 0 ||
			!strings.HasSuffix(errs, "call one in a loop or a comprehension\n") {
			t.Errorf("%s: exit code %d, %s, %q", code, exit, errs, calls)
		}
	}
}

// TestToolsCanEndTheRun: the code can't catch that the tools do not go on.
func TestToolsCanEndTheRun(t *testing.T) {
	exit, out, errs, calls := withTools(t, "while True:\n    try:\n        full()\n    except BaseException:\n        print('on')")
	if exit != monty.ExitTools || out != "" || errs != "monty: full: the record is full\n" || len(calls) != 1 {
		t.Errorf("exit code %d, %q, %q, %q", exit, out, errs, calls)
	}
}

// TestWithoutTools: their names mean nothing then, and their files are the code's.
func TestWithoutTools(t *testing.T) {
	w := newWorld(t)
	exit := monty.Run(job(t, "open('/out/changes.patch', 'w').write('x')\ntry:\n    file_read\nexcept NameError:\n    fs_list(glob='*')", ""),
		w.env())
	if b, err := os.ReadFile(filepath.Join(w.out, "changes.patch")); err != nil || string(b) != "x" || exit != 1 ||
		!strings.Contains(w.stderr.String(), "NameError: name 'fs_list' is not defined") {
		t.Errorf("exit code %d, %q, %v, %s", exit, b, err, w.stderr.String())
	}
}
