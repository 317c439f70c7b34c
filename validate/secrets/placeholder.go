package secrets

import (
	"regexp"
	"strings"
)

// fillers are words that, inside a value, show that it stands for a secret.
var fillers = []string{"example", "changeme", "change_me", "change-me", "changeit", "placeholder", "redacted", "removed", "masked", "dummy",
	"your_", "your-", "yourpass", "yourtoken", "yourapi", "yoursecret", "mypassword", "insert_", "insert-", "replace_", "replace-", "replaceme",
	"xxxx", "****", "....", "____", "----", "todo", "fixme", "sample_", "not-a-real", "notreal", "fake_", "fake-", "<", "…", "abcdefghijklmnopqrstuvwxyz"}

// words are values that are no secret as a whole.
var words = strings.Fields(`password passwd pass pwd passphrase secret token user username admin root guest test testing tests null none nil
	undefined true false empty required optional string str text bytes int bool hidden prompt default unknown foo bar foobar foobaz hunter2 letmein qwerty`)

var template = regexp.MustCompile(`^(?:\$\{[^}]*\}?|\$\([^)]*\)?|\$[A-Za-z_]\w*|\{\{.*|\{[A-Za-z_]\w*\}?|%[A-Za-z_]\w*%|%[sdvqx]|<[^>]*>?|\[[^\]]*\]?|@\w+@)["']?$`)

// placeholder reports whether s stands for a secret without being one.
func placeholder(s string) bool {
	s = strings.Trim(s, " \t\"'`\\")
	if len(s) < 3 || template.MatchString(s) {
		return true
	}
	l := strings.ToLower(s)
	if len(l) <= 256 { // a long value is not filler because it holds four equal letters
		for _, f := range fillers {
			if strings.Contains(l, f) {
				return true
			}
		}
	}
	for _, w := range words {
		if l == w {
			return true
		}
	}
	// One character or one short group over and over.
	for n := 1; n <= 3 && 2*n <= len(l); n++ {
		if strings.Repeat(l[:n], len(l)/n+1)[:len(l)] == l {
			return true
		}
	}
	return false
}
