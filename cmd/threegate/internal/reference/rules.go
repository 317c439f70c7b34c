package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/cmd/threegate/internal/draft"
	"github.com/threegate/tool-exec/schemas"
)

// WriteRulePages writes the catalogue as Markdown: an index, and a page a group.
func WriteRulePages(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var index strings.Builder
	index.WriteString("# Rules\n\nEvery rule that a request or a result is judged by. " +
		"`threegate explain RULE` prints the same.\n" +
		"This page and those that it links to are generated: `make docs`.\n\n" +
		"| Rule | Level | Applies to | What |\n|---|---|---|---|\n")
	pages := map[string]*strings.Builder{}
	var groups []string
	for _, r := range schemas.Rules() {
		group, _, _ := strings.Cut(r.ID, ".")
		anchor := strings.ReplaceAll(r.ID, ".", "") // what Markdown makes of the heading
		fmt.Fprintf(&index, "| [%s](%s.md#%s) | %s | %s | %s |\n", r.ID, group, anchor, r.Level,
			kinds(r.Applies), cellText(r.Title))
		page := pages[group]
		if page == nil {
			page = &strings.Builder{}
			fmt.Fprintf(page, "# Rules: %s\n", group)
			pages[group] = page
			groups = append(groups, group)
		}
		writeRule(page, r)
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte(index.String()), 0o644); err != nil {
		return err
	}
	for _, g := range slices.Sorted(slices.Values(groups)) {
		if err := os.WriteFile(filepath.Join(dir, g+".md"), []byte(pages[g].String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func writeRule(b *strings.Builder, r schemas.Rule) {
	level := "Level: " + string(r.Level)
	if r.Must {
		level += ", and no configuration can lower it"
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n%s. Applies to: %s.\n", r.ID, r.Title, level, kinds(r.Applies))
	if r.Release != "" {
		fmt.Fprintf(b, "A finding can be released %s.\n", releases[r.Release])
	}
	if r.Why != "" {
		fmt.Fprintf(b, "\n%s\n", r.Why)
	}
	for _, example := range []struct{ name, text string }{{"Bad", r.Bad}, {"Good", r.Good}} {
		if example.text != "" {
			fence := draft.Fence(example.text)
			fmt.Fprintf(b, "\n%s:\n\n%stext\n%s\n%s\n", example.name, fence, strings.TrimRight(example.text, "\n"),
				fence)
		}
	}
	if r.Hint != "" {
		fmt.Fprintf(b, "\nHow to mend it: %s\n", r.Hint)
	}
	if r.Source != "" {
		fmt.Fprintf(b, "\nWhere it comes from: %s\n", r.Source)
	}
	if text := accuracyText(r.ID); text != "" {
		fmt.Fprintf(b, "\nHow accurate it is: %s\n", text)
	}
}

func cellText(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "|", `\|`), "\n", " ")
}
