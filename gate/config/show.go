package config

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"

	"github.com/threegate/tool-exec/schemas"
)

// Values is the whole effective configuration under the keys of its file.
func (l *Node) Values() (values map[string]any, err error) {
	text, err := yaml.Dump(l.Config)
	if err == nil {
		err = yaml.Load(text, &values)
	}
	return values, err
}

// Digest is the sha256 of Values as canonical JSON (RFC 8785).
func (l *Node) Digest() (string, error) {
	values, err := l.Values()
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(values)
	canonical := jsontext.Value(raw)
	if err == nil {
		err = canonical.Canonicalize()
	}
	return schemas.SHA256(canonical), err
}

// YAML renders the whole effective configuration, each value with a comment
// that says where it came from.
func (l *Node) YAML() ([]byte, error) {
	plain, err := yaml.Dump(l.Config)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Load(plain, &doc); err != nil {
		return nil, err
	}
	annotate(doc.Content[0], "", l)
	var buf bytes.Buffer
	d, err := yaml.NewDumper(&buf, yaml.WithIndent(2))
	if err != nil {
		return nil, err
	}
	if err := d.Dump(&doc); err != nil {
		return nil, err
	}
	if err := d.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// annotate adds the origin to each leaf.
func annotate(n *yaml.Node, prefix string, l *Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		dotted := strings.TrimPrefix(prefix+"."+key.Value, ".")
		switch {
		case value.Kind == yaml.MappingNode && len(value.Content) > 0:
			annotate(value, dotted, l)
		case value.Kind == yaml.SequenceNode && len(value.Content) > 0:
			key.HeadComment = "# " + l.Origin(dotted)
		default:
			value.LineComment = "# " + l.Origin(dotted)
		}
	}
}
