package main

import (
	"testing"

	"github.com/threegate/tool-exec/validate/content/sentence"
)

// TestWeightsAreOfTheseSentences: who changes a sentence to learn from, or what is seen
// of it, learns anew.
func TestWeightsAreOfTheseSentences(t *testing.T) {
	groups, err := readOwn("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	prepare(groups)
	if digest(groups) != sentence.LearnedFrom() {
		t.Error("the weights were learned from other sentences, or from other features of them: make train accuracy")
	}
}
