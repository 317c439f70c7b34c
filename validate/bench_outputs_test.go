package validate_test

import (
	"cmp"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// outputs is what programs print that any Debian machine with Go has: listings,
// tables, digests, source, documentation, JSON, symbols, a dump, changes, by name. At
// most n bytes of each; programs that this machine lacks are left out.
func outputs(b *testing.B, n int) map[string]string {
	b.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Fatal(err)
	}
	goroot := strings.TrimSpace(string(root))
	program := filepath.Join(goroot, "bin", "go")
	var files []string
	err = filepath.WalkDir(goroot, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	all := map[string]string{"log, table, JSON": benchText(n)}
	for name, command := range map[string][]string{
		"ls":        {"ls", "-lR", "/usr"},
		"find":      {"find", "/usr"},
		"wc":        append([]string{"wc"}, files...),
		"sha256sum": append([]string{"sha256sum"}, files...),
		"grep":      {"grep", "-rn", "func ", filepath.Join(goroot, "src")},
		"go list":   {"go", "list", "-json", "std", "cmd"},
		"go doc":    {"go", "doc", "-all", "net/http"},
		"go nm":     {"go", "tool", "nm", "-size", program},
		"od":        {"od", "-A", "x", "-t", "x1z", program},
		"dpkg":      {"dpkg", "-l"},
		"ps":        {"ps", "auxww"},
		"git log":   {"git", "log", "--stat"},
		"git diff":  {"git", "log", "-p", "--", "*.go"},
	} {
		c := exec.Command(command[0], command[1:]...)
		out, err := c.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Start(); err != nil {
			b.Logf("left out: %v", err)
			continue
		}
		text, err := io.ReadAll(io.LimitReader(out, int64(n)))
		_ = out.Close() // ends the program, which has more to say
		_ = c.Wait()
		if err != nil {
			b.Fatal(err)
		}
		all[name] = strings.ToValidUTF8(string(text), "?")
	}
	return all
}

// BenchmarkOutputs judges the results of programs, each as long as the size says;
// those that print less are left out. x-gitleaks and x-raw are ratios of the sums,
// x-median and x-most the median and the most of the programs' ratios to gitleaks,
// which -v shows one by one.
func BenchmarkOutputs(b *testing.B) {
	leaks := newGitleaks(b)
	for _, s := range benchSizes {
		n := s.size - 1600
		type document struct {
			name  string
			bytes []byte
			text  string
			took  times
		}
		var docs []*document
		size := 0
		for name, text := range outputs(b, n) {
			if len(text) < n*9/10 {
				continue
			}
			doc := resultOf(b, text)
			judgeResult(doc) // the rules are compiled once
			leaks.decoding.DetectString(string(doc))
			docs = append(docs, &document{name: name, bytes: doc, text: string(doc)})
			size += len(doc)
		}
		if len(docs) < 5 {
			b.Fatalf("only %d programs print %s here", len(docs), s.name)
		}
		b.Run(s.name, func(b *testing.B) {
			b.SetBytes(int64(size))
			for _, d := range docs {
				d.took = times{}
			}
			for b.Loop() {
				for _, d := range docs {
					d.took.add(func() { judgeResult(d.bytes) }, leaks, d.text)
				}
			}
			var all times
			for _, d := range docs {
				d.took.addDecoding(b.N, leaks, d.text)
			}
			slices.SortFunc(docs, func(x, y *document) int { return cmp.Compare(x.took.ratio(), y.took.ratio()) })
			for _, d := range docs {
				all.ours, all.decoding, all.raw = all.ours+d.took.ours, all.decoding+d.took.decoding, all.raw+d.took.raw
				rate := func(took time.Duration) float64 { return float64(len(d.bytes)*b.N) / 1e6 / took.Seconds() }
				b.Logf("%-18s %6.1f MB/s, gitleaks %6.1f, without decoding %6.1f: %.2f times",
					d.name, rate(d.took.ours), rate(d.took.decoding), rate(d.took.raw), d.took.ratio())
			}
			all.report(b, b.N*len(docs), b.N*size)
			b.ReportMetric(docs[len(docs)/2].took.ratio(), "x-median")
			b.ReportMetric(docs[len(docs)-1].took.ratio(), "x-most")
		})
	}
}
