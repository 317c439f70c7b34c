//go:build real

package accuracy_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// countedSets are only counted: who changes a rule does not read them.
var countedSets = []set{
	{"spikee", `/seeds-[^/]+/jailbreaks\.jsonl$`, lines("text", func(r map[string]any) class {
		if r["lang"] != nil {
			return ""
		}
		return classOf(r["jailbreak_type"], map[class][]string{
			override: {"ignore", "new-instructions", "new-task"},
			rolePlay: {"dan", "dev", "no-limits", "experimental", "test", "training", "debug", "policy-puppetry"},
		})
	})},
	{"spikee", `/seeds-sysmsg-extraction-[^/]+/instructions\.jsonl$`, lines("instruction", func(r map[string]any) class {
		if r["lang"] != nil {
			return ""
		}
		return theft
	})},
	{"spikee", `/seeds-cybersec-[^/]+/instructions\.jsonl$`, lines("instruction", func(r map[string]any) class {
		if r["lang"] != nil {
			return ""
		}
		return agent
	})},
	{"injection firewall", `/benchmarks/dataset/injections\.json$`, firewall},
	{"authensor", `/benchmark/v1/[a-z-]+/[a-z-]+\.json$`, authensor},
	{"agent security bench", `/data/all_attack_tools\.jsonl$`, tasksOf("Attacker Instruction")},
	{"InjecAgent", `/data/attacker_cases_d[hs]\.jsonl$`, tasksOf("Attacker Instruction")},
	{"hinglish", `/hinglish-stealth-[0-9a-z-]+\.csv$`, csvTable("hinglish", func(r map[string]string) class {
		return classOf(r["category"], map[class][]string{
			foreign:  {"mixed_script", "pure_hindi"},
			rolePlay: {"fiction_framing", "direct_jailbreak"},
		})
	})},
	{"hinglish", `/hinglish-clean-500\.csv$`, csvTable("hinglish", func(map[string]string) class { return question })},
	{"prompt-hacker", `/jailbreak/[^/]+\.ya?ml$`, func(b []byte) ([]sample, error) {
		var r struct{ Prompt string }
		err := yaml.Unmarshal(b, &r)
		return []sample{{class: rolePlay, text: r.Prompt}}, err
	}},
	{"jkelly", `/bench/attacks/corpus\.py$`, jkelly},
}

// classOf is the class that lists a kind, or none.
func classOf(kind any, classes map[class][]string) class {
	for c, kinds := range classes {
		if slices.Contains(kinds, fmt.Sprint(kind)) {
			return c
		}
	}
	return ""
}

func firewall(b []byte) (out []sample, err error) {
	var list struct {
		Samples []struct{ Text, Category string }
	}
	err = json.Unmarshal(b, &list)
	for _, r := range list.Samples {
		c := classOf(r.Category, map[class][]string{
			override: {"prompt_injection"}, theft: {"system_prompt_leak"}, toModel: {"context_injection"},
			rolePlay: {"jailbreak", "role_hijack"}, agent: {"data_exfiltration"}, mixed: {"encoding_attack", "output_manipulation"},
		})
		if c == agent {
			out = append(out, ordered([]string{r.Text}, agent)...)
		} else {
			out = append(out, sample{class: c, text: r.Text})
		}
	}
	return out, err
}

func authensor(b []byte) (out []sample, err error) {
	var list []struct {
		Category, Subcategory, Input string
		Expected                     bool `json:"expected_detection"`
	}
	if err = json.Unmarshal(b, &list); err != nil {
		return nil, err
	}
	for _, r := range list {
		c := classOf(r.Category, map[class][]string{rolePlay: {"jailbreak"}, agent: {"exfiltration", "memory-poisoning"}})
		if r.Category == "prompt-injection" {
			c = classOf(r.Subcategory, map[class][]string{override: {"instruction-override"},
				toModel: {"delimiter-injection", "role-manipulation", "context-stuffing", "few-shot-poisoning"},
				foreign: {"language-switching"}, mixed: {"encoding-evasion", "multi-turn"}})
		}
		switch {
		case !r.Expected && (c != "" || r.Category == "prompt-injection"):
			out = append(out, sample{class: question, text: r.Input})
		case r.Expected && c == agent:
			out = append(out, ordered([]string{r.Input}, agent)...)
		case r.Expected:
			out = append(out, sample{class: c, text: r.Input})
		}
	}
	return out, nil
}

func tasksOf(key string) func([]byte) ([]sample, error) {
	read := lines(key, always(task))
	return func(b []byte) (out []sample, err error) {
		list, err := read(b)
		for _, s := range list {
			out = append(out, ordered([]string{s.text}, task)...)
		}
		return out, err
	}
}

var jkellyClass = regexp.MustCompile(`attack_class=AttackClass\.(\w+)`)

func jkelly(b []byte) (out []sample, _ error) {
	for part := range strings.SplitSeq(string(b), "payload_id=") {
		m := jkellyClass.FindStringSubmatch(part)
		texts := literals(part, "injection=")
		if m == nil || len(texts) == 0 {
			continue
		}
		c := classOf(m[1], map[class][]string{override: {"INSTRUCTION_OVERRIDE"},
			toModel: {"PERSONA_HIJACK", "HISTORY_POISONING", "DELEGATED_INJECTION"}, mixed: {"ENCODED_PAYLOAD"}})
		if c == "" {
			out = append(out, ordered(texts[:1], agent)...)
		} else {
			out = append(out, sample{class: c, text: texts[0]})
		}
	}
	return out, nil
}
