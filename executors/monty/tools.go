package monty

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/threegate/tool-exec/executors/monty/wire"
)

// Tools are functions of the host that the code can call by their names, with arguments by name.
type Tools struct {
	Names []string
	// Call makes one call. Arguments and result are JSON objects. An error that is an *Exception is raised in the
	// code, which can catch it; any other ends the run with ExitTools.
	Call func(name string, args []byte) (result []byte, err error)
	// Kept are files of /out that the code can't write, and what they are kept for.
	Kept map[string]string
}

// Exception is raised in the code. Type must be one of Python's own.
type Exception struct{ Type, Message string }

func (e *Exception) Error() string { return e.Type + ": " + e.Message }

// has says whether the code can call name.
func (t *Tools) has(name string) bool { return t != nil && slices.Contains(t.Names, name) }

// function answers a call of what the interpreter does not know.
func (s *session) function(c *wire.FunctionCall) (*wire.CallResult, error) {
	if name := c.GetFunctionName(); !s.env.Tools.has(name) {
		return &wire.CallResult{Kind: &wire.CallResult_NotFound{NotFound: name}}, nil
	}
	v, err := s.env.Tools.call(c)
	if x, ok := errors.AsType[*Exception](err); ok {
		err = &pyError{typ: x.Type, msg: x.Message}
	}
	if _, ours := errors.AsType[*pyError](err); err != nil && !ours {
		return nil, endf(ExitTools, "%s: %v", c.GetFunctionName(), err)
	}
	return answer(v, err), nil
}

func (t *Tools) call(c *wire.FunctionCall) (*wire.Value, error) {
	name := c.GetFunctionName()
	if len(c.GetArgs()) > 0 {
		return nil, &pyError{typ: "TypeError", msg: name + "() takes arguments by name only, such as path='a.txt'"}
	}
	var args result
	if err := args.dict(c.GetKwargs()); err != nil {
		return nil, &pyError{typ: "TypeError",
			msg: fmt.Sprintf("%s(): the argument%s: %s has no form in JSON", name, err.where, err.what)}
	}
	raw, err := t.Call(name, args.Bytes())
	if err != nil {
		return nil, err
	}
	v, err := inputValue(jsontext.NewDecoder(bytes.NewReader(raw)), 0)
	if err != nil {
		return nil, &pyError{typ: "RuntimeError", msg: fmt.Sprintf("the result of %s(): %v", name, err)}
	}
	return v, nil
}

// name answers what a name stands for that the interpreter does not know.
func (s *session) name(n *wire.NameLookup) *wire.Request {
	r := &wire.ResumeNameLookup{Kind: &wire.ResumeNameLookup_Undefined{Undefined: &wire.Empty{}}}
	if s.env.Tools.has(n.GetName()) {
		r.Kind = &wire.ResumeNameLookup_Value{Value: &wire.Value{
			Kind: &wire.Value_Function{Function: &wire.Function{Name: n.GetName()}}}}
	}
	return &wire.Request{Kind: &wire.Request_ResumeNameLookup{ResumeNameLookup: r}}
}

// inCallback begins to say, after the name of a function, that the interpreter can't call a tool itself.
const inCallback = ": external function '"

// hint says how to do without what the interpreter can't.
func (t *Tools) hint(x *wire.Exception) string {
	if t == nil || x.GetExcType() != "NotImplementedError" || !strings.Contains(x.GetMessage(), inCallback) {
		return ""
	}
	return "hint: only the program itself can call a tool: call one in a loop or a comprehension\n"
}
