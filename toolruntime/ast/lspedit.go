package ast

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

// lspPosition counts lines, and units of UTF-16 within one, from 0.
type lspPosition struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// lspRange is a part of a text.
type lspRange struct {
	Start lspPosition `json:"start"`
	End   lspPosition `json:"end"`
}

// textEdit replaces a part of a text.
type textEdit struct {
	Range   lspRange `json:"range"`
	NewText string   `json:"newText"`
}

// readEdits reads a WorkspaceEdit: what is to be changed in each file below root. It refuses files outside of it, and
// files that are to be made, moved or deleted.
func readEdits(root string, raw []byte) (map[string][]textEdit, error) {
	var edit struct {
		Changes         map[string][]textEdit `json:"changes"`
		DocumentChanges []struct {
			Kind         string `json:"kind"`
			TextDocument struct {
				URI string `json:"uri"`
			} `json:"textDocument"`
			Edits []textEdit `json:"edits"`
		} `json:"documentChanges"`
	}
	if err := json.Unmarshal(raw, &edit); err != nil {
		return nil, contract.Errorf(contract.ASTEdit, "the language server sent an edit that can't be read: %v", err)
	}
	all := map[string][]textEdit{}
	add := func(uri string, edits []textEdit) error {
		name, err := uriPath(root, uri)
		if err == nil {
			all[name] = append(all[name], edits...)
		}
		return err
	}
	for _, d := range edit.DocumentChanges {
		if d.Kind != "" {
			return nil, contract.Errorf(contract.ASTEdit, "the language server wants to %.20q a file", d.Kind).
				WithHint("use the fs tools for that")
		}
		if err := add(d.TextDocument.URI, d.Edits); err != nil {
			return nil, err
		}
	}
	if len(edit.DocumentChanges) == 0 {
		for uri, edits := range edit.Changes {
			if err := add(uri, edits); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// applyEdits makes edits in a text. Each must lie in it, and none overlap another.
func applyEdits(data []byte, edits []textEdit) ([]byte, error) {
	lines, err := starts(data)
	if err != nil {
		return nil, err
	}
	type change struct {
		start, end int
		text       string
	}
	var changes []change
	for _, e := range edits {
		start, ok1 := offset(data, lines, e.Range.Start)
		end, ok2 := offset(data, lines, e.Range.End)
		if !ok1 || !ok2 || start > end || !utf8.ValidString(e.NewText) {
			return nil, contract.Errorf(contract.ASTEdit, "the language server edits a place that is not there")
		}
		changes = append(changes, change{start, end, e.NewText})
	}
	slices.SortStableFunc(changes, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	changes = slices.Compact(changes)
	var out bytes.Buffer
	at := 0
	for _, c := range changes {
		if c.start < at {
			return nil, contract.Errorf(contract.ASTEdit, "the language server's edits overlap")
		}
		out.Write(data[at:c.start])
		out.WriteString(c.text)
		at = c.end
	}
	out.Write(data[at:])
	return out.Bytes(), nil
}

// positionAt is the position of an offset.
func positionAt(data []byte, offset int) (lspPosition, error) {
	lines, err := starts(data)
	if err != nil {
		return lspPosition{}, err
	}
	line, exact := slices.BinarySearch(lines, offset)
	if !exact {
		line--
	}
	p := lspPosition{Line: line}
	for _, r := range string(data[lines[line]:offset]) {
		p.Character += utf16.RuneLen(r)
	}
	return p, nil
}

// offsetOf is the offset of a position, if it lies in the text.
func offsetOf(data []byte, p lspPosition) (int, bool) {
	lines, err := starts(data)
	if err != nil {
		return 0, false
	}
	return offset(data, lines, p)
}

// starts are the offsets of lines. A carriage return alone would be a line end to servers, and hardly to anybody else.
func starts(data []byte) ([]int, error) {
	all := []int{0}
	for i, c := range data {
		switch {
		case c == '\n':
			all = append(all, i+1)
		case c == '\r' && (i+1 == len(data) || data[i+1] != '\n'):
			return nil, contract.Errorf(contract.ASTEdit, "the file has a carriage return without a line feed")
		}
	}
	if !utf8.Valid(data) {
		return nil, contract.Errorf(contract.ASTEdit, "the file is not UTF-8")
	}
	return all, nil
}

// offset is the offset of a position. One behind the end of a line is that end.
func offset(data []byte, lines []int, p lspPosition) (int, bool) {
	if p.Line < 0 || p.Character < 0 || p.Line > len(lines) {
		return 0, false
	}
	if p.Line == len(lines) {
		return len(data), p.Character == 0
	}
	line := data[lines[p.Line]:]
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = bytes.TrimSuffix(line[:i], []byte("\r"))
	}
	units := 0
	for i, r := range string(line) {
		if units >= p.Character {
			return lines[p.Line] + i, units == p.Character
		}
		units += utf16.RuneLen(r)
	}
	return lines[p.Line] + len(line), true
}
