package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/reference"
)

// TestGeneratedPagesAreCurrent compares what lies in the repository with what
// this build would write.
func TestGeneratedPagesAreCurrent(t *testing.T) {
	a := cli.New(strings.NewReader(""), os.Stdout, os.Stderr)
	for folder, write := range map[string]func(string) error{
		"../../deploy/man":         func(dir string) error { return writeManPages(newRoot(a), dir) },
		"../../deploy/completions": func(dir string) error { return writeCompletions(newRoot(a), dir) },
		"../../docs/rules":         reference.WriteRulePages,
	} {
		fresh := t.TempDir()
		if err := write(fresh); err != nil {
			t.Fatal(err)
		}
		want, got := readTree(t, fresh), readTree(t, folder)
		for name, text := range want {
			if got[name] != text {
				t.Errorf("%s is out of date; make docs writes it anew", filepath.Join(folder, name))
			}
		}
		for name := range got {
			if _, ok := want[name]; !ok {
				t.Errorf("%s belongs to nothing any more; remove it", filepath.Join(folder, name))
			}
		}
	}
}

func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		out[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestHelpTeaches wants an example of every command that does something.
func TestHelpTeaches(t *testing.T) {
	a := cli.New(strings.NewReader(""), os.Stdout, os.Stderr)
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if c.Hidden || c.IsAdditionalHelpTopicCommand() {
			return
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: the short help %q", c.CommandPath(), c.Short)
		}
		if c.Runnable() && !c.HasSubCommands() && !strings.Contains(c.Example,
			"threegate "+strings.TrimPrefix(c.CommandPath(), "threegate ")) {
			t.Errorf("%s: no example shows it", c.CommandPath())
		}
		for _, line := range strings.Split(c.Long+"\n"+c.Example, "\n") {
			if len([]rune(line)) > 100 {
				t.Errorf("%s: a line of its help is %d columns wide", c.CommandPath(), len([]rune(line)))
			}
		}
	}
	visit(newRoot(a))
}

// pages are the documents that people read, with their texts, by path from the repository's folder.
func pages(t *testing.T) map[string]string {
	t.Helper()
	list := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "deploy/*/*.md", "testdata/*/*.md"} {
		found, err := filepath.Glob("../../" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			list[strings.TrimPrefix(file, "../../")] = string(text)
		}
	}
	if len(list) < 20 {
		t.Fatalf("only %d documents were found", len(list))
	}
	return list
}

// TestLinks wants every link between documents to lead to a file that is there, and to a heading of it.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#: ]*)(#[^) ]*)?\)`)
	for file, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target := filepath.Join("../..", filepath.Dir(file), m[1])
			if m[1] == "" {
				target = filepath.Join("../..", file)
			}
			body, err := os.ReadFile(target)
			if _, there := os.Stat(target); there != nil {
				t.Errorf("%s: the link %s%s leads nowhere", file, m[1], m[2])
			} else if m[2] != "" && (err != nil || !anchors(string(body))[m[2]]) {
				t.Errorf("%s: %s has no heading for %s", file, target, m[2])
			}
		}
	}
}

// anchors are those of a page's headings, as the usual renderers of Markdown make them.
func anchors(page string) map[string]bool {
	all := map[string]bool{}
	drop := regexp.MustCompile(`[^a-z0-9 _-]`)
	for line := range strings.Lines(page) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			title = drop.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			all["#"+strings.ReplaceAll(title, " ", "-")] = true
		}
	}
	return all
}

// TestCommandsInDocuments wants every command line of a document to be one that this build takes.
func TestCommandsInDocuments(t *testing.T) {
	line := regexp.MustCompile(`(?m)^(?:    |\$ |    \$ )(?:sudo )?(?:bin/)?threegate ((?:[^\n]*\\\n)*[^\n|;&>#<]*)`)
	n := 0
	for file, text := range pages(t) {
		for _, m := range line.FindAllStringSubmatch(text, -1) {
			n++
			args := strings.Fields(strings.NewReplacer("\\\n", " ", "[", "", "]", "", "...", "").Replace(m[1]))
			root := newRoot(cli.New(strings.NewReader(""), os.Stdout, os.Stderr))
			c, rest, err := root.Find(args)
			if err != nil || c == root {
				t.Errorf("%s: threegate %s: no such command", file, m[1])
				continue
			}
			for _, arg := range rest {
				name, isFlag := strings.CutPrefix(arg, "--")
				name, _, _ = strings.Cut(name, "=")
				if isFlag && name != "" && c.Flag(name) == nil && name != "help" {
					t.Errorf("%s: threegate %s: there is no flag --%s", file, m[1], name)
				}
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d commands were found", n)
	}
}

// TestVersion holds the version of this build to the newest release of the change log.
func TestVersion(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	release := regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d{2}-\d{2}$`).FindSubmatch(text)
	if release == nil || string(release[1]) != cli.Version {
		t.Errorf("CHANGELOG.md has the release %q, this build is %s", release, cli.Version)
	}
}
