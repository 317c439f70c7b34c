package contract

import (
	"errors"
	"fmt"
	"strings"
)

// Code is one of the specification's ten error codes.
type Code string

// The codes of section 3. A code keeps its meaning.
const (
	FileIO     Code = "E_FILE_IO"
	ASTParse   Code = "E_AST_PARSE"
	ASTEdit    Code = "E_AST_EDIT"
	Validation Code = "E_VALIDATION_FAIL"
	Git        Code = "E_GIT"
	HTTP       Code = "E_HTTP"
	Shell      Code = "E_SHELL"
	Policy     Code = "E_POLICY"
	Timeout    Code = "E_TIMEOUT"
	Internal   Code = "E_INTERNAL"
)

// CodeInfo says what a code means and what to do about it.
type CodeInfo struct {
	Code  Code
	Cause string
	Hint  string
}

// Codes are all codes, in the order of the specification.
var Codes = []CodeInfo{
	{FileIO, "a file is missing, exists already, is too large, or is not what the tool works on",
		"look with fs_list or file_read, then name the right path"},
	{ASTParse, "a file does not parse", "mend the place that the message names"},
	{ASTEdit, "a structural edit changed nothing or could not be made", "query the node again and repeat the edit"},
	{Validation, "the arguments do not fit the tool's schema, a patch does not fit its file, or a rule is broken",
		"compare with the tool's arguments; mend what the rule names"},
	{Git, "git refused or failed", "read the message: it is git's own"},
	{HTTP, "a host can't be reached or its answer can't be read", "try another URL, or later"},
	{Shell, "a command could not be started, or failed although it must succeed", "read its stderr"},
	{Policy, "the registry or the sandbox does not allow it, or a budget is used up",
		"do without it, or ask the person who keeps the registry"},
	{Timeout, "the call took longer than its limit, or its client cancelled it",
		"ask for less at once, or give more time where the tool has timeout_ms"},
	{Internal, "a fault of the tool runtime", "report it"},
}

// Error is why a call failed, for programs and for people.
type Error struct {
	Code Code `json:"code"`
	// Rule is the rule of the specification's section 7 that was broken, or empty.
	Rule    string `json:"rule,omitzero"`
	Message string `json:"message"`
	// Hint says how to mend it.
	Hint string `json:"hint,omitzero"`

	cause error
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

func (e *Error) Unwrap() error { return e.cause }

// Errorf makes an Error of a code and a message. An argument of %w is its cause.
func Errorf(c Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: c, Message: err.Error(), cause: errors.Unwrap(err)}
}

// WithHint adds how to mend it.
func (e *Error) WithHint(hint string) *Error { e.Hint = hint; return e }

// Refuse makes an E_POLICY of a rule.
func Refuse(rule, format string, args ...any) *Error {
	e := Errorf(Policy, format, args...)
	e.Rule = rule
	return e
}

// AsError gives err its code. An error without one is E_INTERNAL.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Errorf(Internal, "%v", err)
}

// Shorten is text of at most most bytes and, where it is cut, an ellipsis. Bytes that are no UTF-8 become U+FFFD.
func Shorten(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
