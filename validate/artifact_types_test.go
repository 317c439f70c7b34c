package validate

import (
	"testing"

	"github.com/gabriel-vasile/mimetype"
)

// TestRefusedTypesExist catches a name that the library does not use.
func TestRefusedTypesExist(t *testing.T) {
	for name := range refusedTypes {
		m := mimetype.Lookup(name)
		if m == nil || m.String() != name {
			t.Errorf("%s is no type of the library: %v", name, m)
		}
	}
}
