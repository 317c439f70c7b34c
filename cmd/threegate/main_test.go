package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
)

// TestMain lets the test binary be threegate itself, so that scripts run the
// real program without installing it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"threegate": main, "threegate-probe": probe})
}

// TestScripts runs testdata/script/*.txtar. UPDATE_SCRIPTS=1 writes the expected
// outputs in them anew.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	examples, err := filepath.Abs("../../testdata/examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("USER", "alice")
			e.Setenv("NO_COLOR", "")
			e.Setenv("TERM", "xterm")
			e.Setenv("EXAMPLES", examples)
			// Made anew each time: a key in the repository would alarm other scanners.
			e.Setenv("TOKEN", "ghp_"+rand.Text()+rand.Text()[:10])
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"code":   scriptCode,
			"fifo":   scriptFIFO,
			"sparse": scriptSparse,
			"fill":   scriptFill,
			"only":   scriptOnly,
			"record": scriptRecord,
			"images": func(ts *testscript.TestScript, _ bool, args []string) { ts.Check(nameImages(ts.MkAbs(args[0]))) },
		},
	})
}

// scriptCode runs a command and wants an exit code: code N COMMAND...
func scriptCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND [ARG...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		m := regexp.MustCompile(`exit status (\d+)`).FindStringSubmatch(err.Error())
		if m == nil {
			ts.Fatalf("%v", err)
		}
		got = m[1]
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// scriptFIFO makes a named pipe: fifo NAME
func scriptFIFO(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(unix.Mkfifo(ts.MkAbs(args[0]), 0o644))
}

// scriptSparse makes a file of 10 GB, or of BYTES, that takes no room, after the content of
// another: sparse NAME FROM [BYTES]
func scriptSparse(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(ts.ReadFile(args[1])), 0o644))
	size := int64(10 << 30)
	if len(args) > 2 {
		var err error
		size, err = strconv.ParseInt(args[2], 10, 64)
		ts.Check(err)
	}
	ts.Check(os.Truncate(ts.MkAbs(args[0]), size))
}

// scriptFill replaces @NOW@ and @HOUR_AGO@ in a file by times, and @TOKEN@ by a
// secret: fill FILE
func scriptFill(ts *testscript.TestScript, _ bool, args []string) {
	now := time.Now().UTC().Truncate(time.Second)
	text := strings.NewReplacer("@TOKEN@", ts.Getenv("TOKEN"), "@NOW@", now.Format(time.RFC3339), "@HOUR_AGO@",
		now.Add(-time.Hour).Format(time.RFC3339)).Replace(ts.ReadFile(args[0]))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

// scriptOnly wants every finding of the last command's jsonl output to be of the
// given rules, each at least once: only RULE...
func scriptOnly(ts *testscript.TestScript, _ bool, args []string) {
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`"rule":"([^"]*)"`).FindAllStringSubmatch(ts.ReadFile("stdout"), -1) {
		found[m[1]] = true
	}
	for _, want := range args {
		if !found[want] {
			ts.Fatalf("no finding of %s", want)
		}
		delete(found, want)
	}
	for rule := range found {
		ts.Fatalf("a finding of %s was not expected", rule)
	}
}

// nameImages lets the configuration of a node that has no images name some: images NODE
func nameImages(node string) error {
	file := filepath.Join(node, config.FileName)
	data, err := os.ReadFile(file)
	image := `{image: "sha256:` + strings.Repeat("0", 64) + `"}`
	text := strings.Replace(string(data), "languages: {}", "languages: {python: "+image+", javascript: "+image+"}", 1)
	return errors.Join(err, os.WriteFile(file, []byte(text), 0o600))
}

// scriptRecord writes a node's record from events without seq and prev: record NODE FILE
func scriptRecord(ts *testscript.TestScript, _ bool, args []string) {
	var e ledger.Event
	l, err := ledger.Open(filepath.Join(ts.MkAbs(args[0]), "ledger"), ledger.Options{Now: func() time.Time {
		return e.Time
	}}, func(ledger.Event) {})
	ts.Check(err)
	for _, line := range strings.Split(strings.TrimSpace(ts.ReadFile(args[1])), "\n") {
		e = ledger.Event{}
		ts.Check(json.Unmarshal([]byte(line), &e))
		ts.Check(l.Append(e))
	}
	ts.Check(l.Close())
}
