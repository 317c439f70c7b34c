package command

import (
	"regexp"
	"slices"

	"github.com/threegate/tool-exec/validate/code"
	"github.com/threegate/tool-exec/validate/document"
)

// networkedBy are programs that reach other hosts when an argument names one.
var networkedBy = map[string]*regexp.Regexp{
	"git":     regexp.MustCompile(`(?i)^(?:https?|git|ssh)://|^[\w.-]+@[\w.-]+:|^(?:fetch|pull|push|ls-remote)$`),
	"openssl": regexp.MustCompile(`^s_(?:client|server|time)$`),
}

// asks are arguments with which a program only tells about itself.
var asks = set("--version -V --help -h help version")

// network reports a program that reaches other hosts.
func (c *checker) network(name string, argv []word) {
	args := argv[1:]
	if len(args) == 1 && asks[args[0].text] {
		return
	}
	re := networkedBy[name]
	named := re != nil && slices.ContainsFunc(args, func(w word) bool { return re.MatchString(w.text) })
	if named || is("network", name) {
		c.add(code.RuleNetwork, argv[0].offset,
			document.Quote(name)+" reaches for the network, and the request declares none",
			"bring the data along as an input, or declare network: allowlist")
	}
}
