package approval_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/validate/approval"
)

func TestJoinAndSplit(t *testing.T) {
	key := ed(t)
	sig, second := sign(t, key, approval.Namespace, message), sign(t, ed(t), approval.Namespace, message)
	for name, a := range map[string]approval.Approval{
		"one":              {Signature: sig},
		"two":              {Signature: sig, Also: []approval.Cosigner{{"bob", second}}},
		"a plan, and two":  {Signature: sig, Plan: []byte("{}"), PlanSignature: second, Also: []approval.Cosigner{{"bob", second}}},
		"in another order": {Signature: sig, Also: []approval.Cosigner{{"zoe@x.org", second}, {"bob", sig}}},
	} {
		got, err := approval.Split(a.Join())
		trim := func(b []byte) []byte { return bytes.TrimSpace(b) }
		for _, p := range []*approval.Approval{&a, &got} {
			p.Signature, p.PlanSignature = trim(p.Signature), trim(p.PlanSignature)
			for i := range p.Also {
				p.Also[i].Signature = trim(p.Also[i].Signature)
			}
		}
		if err != nil || !reflect.DeepEqual(got, a) {
			t.Errorf("%s: %v, %q, want %q", name, err, got, a)
		}
	}

	two := string(approval.Approval{Signature: sig, Also: []approval.Cosigner{{"bob", second}}}.Join())
	many := approval.Approval{Signature: sig}
	for i := range 1000 {
		many.Also = append(many.Also, approval.Cosigner{fmt.Sprint("n", i), second})
	}
	for name, file := range map[string]string{
		"too many":           string(many.Join()),
		"a name with a path": string(approval.Approval{Signature: sig, Also: []approval.Cosigner{{"../bob", second}}}.Join()),
		"no name":            string(approval.Approval{Signature: sig, Also: []approval.Cosigner{{"", second}}}.Join()),
		"an escape":          string(approval.Approval{Signature: sig, Also: []approval.Cosigner{{"b\x1b[2Jb", second}}}.Join()),
		"no signature":       strings.Split(two, "-----END THREEGATE APPROVER-----\n")[0] + "-----END THREEGATE APPROVER-----\n",
		"no first one":       strings.TrimPrefix(two, strings.TrimSpace(string(sig))),
		"something behind":   two + "more",
		"something between":  strings.Replace(two, "-----BEGIN THREEGATE", "x\n-----BEGIN THREEGATE", 1),
		"a header":           strings.Replace(two, "APPROVER-----\n", "APPROVER-----\nA: b\n\n", 1),
	} {
		if a, err := approval.Split([]byte(file)); !errors.Is(err, approval.ErrSignature) {
			t.Errorf("%s: %v, %q", name, err, a)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte("-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n" +
		"-----BEGIN THREEGATE APPROVER-----\nYm9i\n-----END THREEGATE APPROVER-----\n" +
		"-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		a, err := approval.Split(file)
		if err != nil && !reflect.DeepEqual(a, approval.Approval{}) {
			t.Fatalf("an error, and %q", a)
		}
		again, err2 := approval.Split(a.Join())
		if err == nil && (err2 != nil || len(again.Also) != len(a.Also) || !bytes.Equal(again.Plan, a.Plan)) {
			t.Fatalf("%q: %v, %q", a, err2, again)
		}
	})
}
