package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

const (
	sampleHint = "`version: 1` is the least that it must hold; " +
		"`threegate init DIR` makes another node with one to copy from"
	// No command prints the keys while the file is wrong.
	keysHint   = "docs/configuration.md lists every key with its meaning and default"
	syntaxHint = "write `key: value`, what belongs to a key indented by spaces below it, never by tabs"
)

// blank says whether there is nothing but comments.
func blank(raw []byte) bool {
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSpace(line); line != "" && line != "---" && line[0] != '#' {
			return false
		}
	}
	return true
}

// yamlError turns the library's errors into ours, one each.
func yamlError(file string, err error) error {
	if many, ok := errors.AsType[*yaml.LoadErrors](err); ok {
		var errs []error
		for _, e := range many.Errors {
			errs = append(errs, oneYAMLError(file, e))
		}
		return errors.Join(errs...)
	}
	if one, ok := errors.AsType[*yaml.LoadError](err); ok {
		return oneYAMLError(file, one)
	}
	return &Error{File: file, Msg: strings.TrimPrefix(err.Error(), "yaml: "), Hint: syntaxHint}
}

// givenTwice finds every key that is given twice below n.
func givenTwice(file, prefix string, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		var errs []error
		for _, below := range n.Content {
			errs = append(errs, givenTwice(file, prefix, below))
		}
		return errors.Join(errs...)
	}
	var errs []error
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, line := n.Content[i].Value, n.Content[i].Line
		key := strings.TrimPrefix(prefix+"."+name, ".")
		if at, ok := first[name]; ok {
			errs = append(errs, &Error{File: file, Line: line, Key: key,
				Msg: fmt.Sprintf("is already defined at line %d", at), Hint: "remove one of the two"})
		} else {
			first[name] = line
		}
		errs = append(errs, givenTwice(file, key, n.Content[i+1]))
	}
	return errors.Join(errs...)
}

// How the library says that a key is not in our types, or a value not of its type.
var (
	unknownKey = regexp.MustCompile(`^field (\S+) not found in type \S+$`)
	wrongType  = regexp.MustCompile("^cannot construct !!\\w+(?: `(.*)`)? into (\\S+)$")
)

// removedKeys are the keys of earlier versions, by their last word, and why they went.
var removedKeys = map[string]string{
	"made_by":              "containerd makes all sandboxes now, those of slots too",
	"allow_artifact_types": "results.artifact_types lists all types that may be delivered",
	"settle":               "it is called node.wait_for_writers now",
}

func oneYAMLError(file string, e *yaml.LoadError) error {
	out := &Error{File: file, Line: e.Mark.Line, Msg: e.Message, Hint: syntaxHint}
	if m := unknownKey.FindStringSubmatch(e.Message); m != nil {
		out.Key, out.Msg = m[1], "there is no such key"
		out.Hint = keysHint
		if why, ok := removedKeys[m[1]]; ok {
			out.Msg, out.Hint = "was removed: "+why, "write what takes its place, if anything does, or remove the line"
		}
	}
	if m := wrongType.FindStringSubmatch(e.Message); m != nil {
		out.Msg, out.Hint = typeFault(m[1], m[2])
	}
	return out
}

// typeFault says what a value of another Go type was wanted.
func typeFault(value, goType string) (msg, hint string) {
	switch {
	case goType == "time.Duration":
		return fmt.Sprintf("%q is not a duration", value), "write a number and its unit: 500ms, 30s, 5m, 720h"
	case strings.HasPrefix(goType, "int"):
		return fmt.Sprintf("%q is not a whole number", value), "write digits only"
	case goType == "bool":
		return fmt.Sprintf("%q is neither true nor false", value), "write true or false"
	case strings.HasPrefix(goType, "[]"):
		return "a list is wanted here", "write it as [a, b], or each entry on a line of its own after a dash"
	case goType == "string":
		return "text is wanted here", "write a single value; " + keysHint
	}
	return "keys with values are wanted here", "write each `key: value` on a line of its own, indented; " + keysHint
}
