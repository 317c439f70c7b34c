// Command gather writes the words of the labelled sentences, the commonest first:
// go run ./validate/content/disguise/gather, in the folder of the repository.
package main

import (
	"cmp"
	"io/fs"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threegate/tool-exec/validate/text"
)

const (
	file = "validate/content/disguise/words.txt"
	// often is how many sentences hold a word at least that is kept.
	often = 3
	// longest is the length of the longest word that is kept.
	longest = 20
)

// short are the words of one and two letters that are kept, however often others are.
var short = strings.Fields("a i to in of is it on by at as no be do an so me go if we my up ok id or us am he rm")

func main() {
	seen := map[string]int{}
	err := filepath.WalkDir("testdata/sentences", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".txt" || d.Name() == "disguised.txt" {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil {
			count(seen, string(text.Fold(b).Text))
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	maps.DeleteFunc(seen, func(w string, n int) bool {
		return n < often || len(w) > longest || len(w) < 3 && !slices.Contains(short, w)
	})
	words := slices.SortedFunc(maps.Keys(seen), func(a, b string) int {
		return cmp.Or(cmp.Compare(seen[b], seen[a]), cmp.Compare(a, b))
	})
	if err := os.WriteFile(file, []byte(strings.Join(words, "\n")+"\n"), 0o644); err != nil {
		log.Fatal(err)
	}
}

// count counts the words of s that stand for themselves, and are no part of an
// address, a path or a name.
func count(seen map[string]int, s string) {
	for token := range strings.FieldsSeq(s) {
		w := strings.Trim(token, `"'()[]{}<>.,;:!?*_~-`)
		if w != "" && strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") == "" {
			seen[w]++
		}
	}
}
