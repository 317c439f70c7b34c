package main

import "testing"

// TestRecheckOfCode holds a patch to the rules of code outside: what the base has is no violation.
func TestRecheckOfCode(t *testing.T) {
	const rules = "code.ast.parsed code.fn.docs.exported code.no.panic.in.lib"
	const old = "package x\n\n// Twice doubles.\nfunc Twice(n int) int { return 2 * n }\n"
	b := newBench(t)
	b.recheck(rules, "blocking", map[string]string{"x.go": old + "\n// More is.\nfunc More() {}\n", "sub/sub.go": "",
		"README.md": "func {\n"}).wants(t, exitOK, "code.ast.parsed", "", "")
	b.recheck(rules, "blocking", map[string]string{"x.go": old + "\nfunc More() {}\n"}).
		wants(t, exitReject, "code.fn.docs.exported", "x.go", "More")
	b.recheck(rules, "blocking", map[string]string{"sub/new.go": "package sub\n\nfunc f() { panic(1) }\n"}).
		wants(t, exitReject, "code.no.panic.in.lib", "sub/new.go", "panic")
	b.recheck(rules, "blocking", map[string]string{"x.go": old + "func {\n"}).
		wants(t, exitReject, "code.ast.parsed", "x.go", "expected")
	b.recheck(rules, "warning", map[string]string{"x.go": old + "func {\n"}).wants(t, 3, "code.ast.parsed", "x.go", "expected")
}
