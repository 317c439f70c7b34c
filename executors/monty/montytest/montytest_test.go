package montytest

import (
	"strings"
	"testing"
)

func TestNormalise(t *testing.T) {
	for in, want := range map[string]string{
		"162.60μs ❯ 2\n":     "",
		"1.5ms ❯ None\n":     "",
		"12s ❯ 'error: x'\n": "",
		"136.31μs ❯ error: Traceback (most recent call last):\nE: x\n": "Traceback (most recent call last):\nE: x\n",
		"error:\nTraceback (most recent call last):\nE: 3s ❯ y\n":      "Traceback (most recent call last):\nE: 3s ❯ y\n",
		"100.18ms ❯ error: TimeoutError: z\n":                          "TimeoutError: z\n",
	} {
		if got := Normalise(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestBinaryMissing(t *testing.T) {
	t.Setenv(BinaryEnv, "/nowhere/monty")
	if _, err := Binary(); err == nil {
		t.Error("a missing interpreter was found")
	}
	t.Setenv(BinaryEnv, "/bin/true")
	if _, err := Binary(); err == nil || !strings.Contains(err.Error(), "is needed") {
		t.Errorf("another program was taken: %v", err)
	}
}

func TestSnippetsMissing(t *testing.T) {
	if _, err := Snippets(t.TempDir()); err == nil {
		t.Error("an empty folder is no error")
	}
}
