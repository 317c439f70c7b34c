// Reader prints a line for each answer of a ThreeGate node, as reader.py does: reader CORE-INBOUND CORE-NOTICES.
package main

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

//go:embed answers.json
var answers []byte

// What a program printed is data: nothing here, and nothing in CORE, is done because such a text says so.
var words struct{ Results, Notices map[string]string }

// recalled are the results that notices take back, replaced those that others take the place of.
var recalled, replaced = map[string]bool{}, map[string]bool{}

// replaces is the result that a result takes the place of, or "". Only the gate writes there.
func replaces(lines []string) string {
	from, to := slices.Index(lines, "## Provenance"), slices.Index(lines, "## Outputs")
	for _, line := range lines[max(0, from):max(0, from, to)] {
		if id, ok := strings.CutPrefix(line, "- Replaces: "); ok {
			return id
		}
	}
	return ""
}

func result(path string) (string, error) {
	switch id := strings.TrimSuffix(filepath.Base(path), ".md"); {
	case recalled[id]:
		return fmt.Sprintf("%s: result, recalled. %s", id, words.Notices["recalled"]), nil
	case replaced[id]:
		return id + ": result, replaced. Use the one that replaces it.", nil
	}
	raw, err := os.ReadFile(path)
	lines := strings.Split(string(raw), "\n")
	end, fence := slices.Index(lines, "## Provenance"), slices.Index(lines, "## Stdout")+2
	if err != nil || end < 0 || fence < end || fence >= len(lines) {
		return "", cmp.Or(err, errors.New("it is not whole"))
	}
	stem, keys := strings.TrimSuffix(path, ".md"), map[string]string{"- Cause": "none"}
	var files []string
	for _, line := range lines[:end] {
		key, value, _ := strings.Cut(line, ": ")
		if text, err := strconv.Unquote(value); err == nil {
			value = text
		}
		keys[key] = value
		switch name := keys["  - path"]; key {
		case "  - path":
			files = append(files, name)
		case "    sha256":
			data, err := os.ReadFile(filepath.Join(stem+".artifacts", name))
			if sum := sha256.Sum256(data); err != nil || hex.EncodeToString(sum[:]) != value {
				return "", cmp.Or(err, fmt.Errorf("%s is not what was delivered", name))
			}
		}
	}
	ticks, _, _ := strings.Cut(lines[fence], "text") // the tag is behind it
	stdout := slices.Index(lines[fence+1:], ticks)
	files = slices.DeleteFunc(files, func(name string) bool { return name == filepath.Base(stem)+".spans.json" })
	if keys["schema_version"] != "1" || stdout < 0 {
		return "", errors.New("it has another version")
	}
	instead := ""
	if old := replaces(lines); old != "" {
		instead = ", in place of " + old
	}
	return fmt.Sprintf("%s: result, cause %s, exit code %s, %d lines, files: %s%s. %s", keys["request_id"],
		keys["- Cause"], keys["exit_code"], stdout, cmp.Or(strings.Join(files, ", "), "none"), instead,
		cmp.Or(words.Results[keys["- Cause"]], "Ask a person.")), nil
}

func notice(path string) (string, error) {
	var n struct {
		Version    int    `json:"notice_version"`
		Request    string `json:"request_id"`
		File       string `json:"file_name"`
		Job, Stage string
		Rules      []struct{ Rule string }
		Result     string `json:"result_id"`
		Digest     string `json:"result_sha256"`
	}
	raw, err := os.ReadFile(path)
	if err := cmp.Or(err, json.Unmarshal(raw, &n)); err != nil || n.Version != 1 {
		return "", cmp.Or(err, errors.New("it has another version"))
	}
	var rules []string
	for _, r := range n.Rules {
		rules = append(rules, r.Rule)
	}
	what := "rules: " + strings.Join(rules, ", ")
	if n.Stage == "recalled" {
		recalled[n.Result], what = true, n.Result+", sha256 "+n.Digest
	}
	return fmt.Sprintf("%s: %s, %s. %s", cmp.Or(n.Request, n.File, n.Job), n.Stage, what,
		cmp.Or(words.Notices[n.Stage], "Ask a person.")), nil
}

func main() {
	if err := json.Unmarshal(answers, &words); err != nil || len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: reader CORE-INBOUND CORE-NOTICES")
		os.Exit(2)
	}
	paths, _ := filepath.Glob(filepath.Join(os.Args[1], "TS-*.md"))
	for _, path := range paths {
		raw, _ := os.ReadFile(path)
		replaced[replaces(strings.Split(string(raw), "\n"))] = true
	}
	show(os.Args[2], "TN-", ".json", notice)
	show(os.Args[1], "TS-", ".md", result)
}

func show(dir, start, end string, read func(string) (string, error)) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), start) || !strings.HasSuffix(e.Name(), end) {
			continue
		}
		if line, err := read(filepath.Join(dir, e.Name())); err != nil {
			fmt.Printf("%s: %v. Ask a person.\n", e.Name(), err)
		} else {
			fmt.Println(line)
		}
	}
}
