// Command sbom writes what programs and images are made of, as CycloneDX 1.5. What it says comes
// from the files themselves: Go's record of modules in a program, and the list of packages that
// every image holds in /etc/threegate-image.
package main

import (
	"bufio"
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	PURL    string `json:"purl,omitempty"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type bom struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

func main() {
	name := flag.String("name", "", "what the files are together")
	version := flag.String("version", "", "its version")
	epoch := flag.Int64("epoch", 0, "its time, in seconds of Unix time")
	flag.Parse()
	b := bom{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: metadata{
		Timestamp: time.Unix(*epoch, 0).UTC().Format(time.RFC3339),
		Component: component{Type: "application", Name: *name, Version: *version},
	}}
	for _, file := range flag.Args() {
		of := modules
		if strings.HasSuffix(file, ".image") {
			of = packages
		}
		found, err := of(file)
		if err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(2)
		}
		b.Components = append(b.Components, found...)
	}
	slices.SortFunc(b.Components, func(x, y component) int {
		return cmp.Or(cmp.Compare(x.PURL, y.PURL), cmp.Compare(x.Name, y.Name))
	})
	b.Components = slices.Compact(b.Components)
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	if err := e.Encode(b); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(2)
	}
}

// modules are those that a Go program was built from, and Go itself.
func modules(file string) ([]component, error) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return nil, err
	}
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	found := []component{{"library", "std", goVersion, "pkg:golang/std@" + goVersion}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		found = append(found, component{"library", m.Path, m.Version, "pkg:golang/" + m.Path + "@" + m.Version})
	}
	return found, nil
}

// packages are the Debian packages that an image was made of.
func packages(file string) ([]component, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var found []component
	listed := false
	for s := bufio.NewScanner(f); s.Scan(); {
		words := strings.Fields(s.Text())
		switch {
		case s.Text() == "packages:":
			listed = true
		case listed && len(words) == 3:
			found = append(found, component{"library", words[0], words[1],
				"pkg:deb/debian/" + words[0] + "@" + words[1] + "?arch=" + words[2]})
		}
	}
	return found, nil
}
