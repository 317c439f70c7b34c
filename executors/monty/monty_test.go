package monty_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/executors/monty"
)

// TestPinned: the image and all tests have the interpreter whose protocol the schema is.
func TestPinned(t *testing.T) {
	recipe, err := os.ReadFile("../../deploy/images/recipes/monty")
	if err != nil {
		t.Fatal(err)
	}
	if want := "monty_version=" + monty.Version + "\n"; !strings.Contains(string(recipe), want) {
		t.Errorf("the image's recipe has no line %q", want)
	}
	const bin = "../../bin/monty"
	b, err := os.ReadFile(bin)
	if err != nil {
		t.Fatalf("%v: `make tools` puts it there", err)
	}
	want := fmt.Sprintf("monty_sha256=${MONTY_SHA256:-%x}", sha256.Sum256(b))
	if !strings.Contains(string(recipe), want) {
		t.Errorf("the recipe has no %q, which %s has", want, bin)
	}
}
