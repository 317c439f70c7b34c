package gate_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/gate/audit"
	"github.com/threegate/tool-exec/gate/openwop"
)

// zipped packs bytes as they are.
func zipped(t *testing.T, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(raw)
	must(t, errors.Join(err, z.Close()))
	return b.Bytes()
}

// changed is a case with another file of a name.
func changed(t *testing.T, file []byte, name string, change func([]byte) []byte) []byte {
	t.Helper()
	list := unpacked(t, file)
	i := slices.IndexFunc(list, func(p packed) bool { return p.name == name })
	if i < 0 {
		t.Fatalf("no %s", name)
	}
	list[i].data = change(list[i].data)
	return archive(t, list)
}

// indexed changes the index of a case.
func indexed(t *testing.T, file []byte, change func(*audit.Case)) []byte {
	t.Helper()
	return changed(t, file, "case.json", func(raw []byte) []byte {
		var c audit.Case
		must(t, json.Unmarshal(raw, &c))
		change(&c)
		raw, err := json.Marshal(c)
		must(t, err)
		return raw
	})
}

// TestHostileCaseFiles: what is no case file is refused before it is written, and none proves what is not so.
func TestHostileCaseFiles(t *testing.T) {
	a := newAudited(t)
	must(t, a.checkpoint(notary))
	file := a.proved(t, requestID(7))
	everybody := []person{operator, alice, carol}
	list := unpacked(t, file)
	deep := strings.Repeat("a/", 90)
	holes := map[string]string{"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "job/x",
		"GNU.sparse.realsize": "1099511627776"}
	odd := map[string][]byte{
		"no bytes":            nil,
		"no gzip":             []byte("case"),
		"no tar":              zipped(t, []byte(strings.Repeat("x", 2000))),
		"nothing":             zipped(t, make([]byte, 1024)),
		"cut":                 file[:len(file)/2],
		"cut at the end":      file[:len(file)-1],
		"index of two values": changed(t, file, "case.json", func(b []byte) []byte { return append(b, b...) }),
		"index of deep lists": changed(t, file, "case.json", func([]byte) []byte { return bytes.Repeat([]byte("["), 1<<20) }),
		"index with a key twice": changed(t, file, "case.json", func(b []byte) []byte {
			return bytes.Replace(b, []byte("{"), []byte(`{"job": "j0123456789abcdefghjkmnpqrs",`), 1)
		}),
		"another version":     indexed(t, file, func(c *audit.Case) { c.Version = 2 }),
		"a job of a path":     indexed(t, file, func(c *audit.Case) { c.Job = "../../etc" }),
		"events out of order": indexed(t, file, func(c *audit.Case) { slices.Reverse(c.Events) }),
		"an event twice":      indexed(t, file, func(c *audit.Case) { c.Events = append(c.Events, c.Events[len(c.Events)-1]) }),
		"endless events": indexed(t, file, func(c *audit.Case) {
			c.Events = make([]int64, 1_000_000)
			for i := range c.Events {
				c.Events[i] = int64(i + 1)
			}
		}),
	}
	for name, h := range map[string]*tar.Header{
		"a link":                        {Name: "job/link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		"a second name":                 {Name: "job/link", Typeflag: tar.TypeLink, Linkname: "case.json"},
		"a device":                      {Name: "job/null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3},
		"a pipe":                        {Name: "job/pipe", Typeflag: tar.TypeFifo},
		"a folder":                      {Name: "job/d/", Typeflag: tar.TypeDir},
		"a folder's place":              {Name: "job", Typeflag: tar.TypeReg},
		"a path elsewhere":              {Name: "../x", Typeflag: tar.TypeReg},
		"an absolute path":              {Name: "/tmp/x", Typeflag: tar.TypeReg},
		"a file twice":                  {Name: "case.json", Typeflag: tar.TypeReg},
		"a file twice, by another path": {Name: "job/../case.json", Typeflag: tar.TypeReg},
		"a long name":                   {Name: "job/" + strings.Repeat("a/", 5000) + "x", Typeflag: tar.TypeReg},
	} {
		odd[name] = archive(t, list, h)
	}
	many := make([]*tar.Header, 3000)
	for i := range many {
		many[i] = &tar.Header{Name: fmt.Sprintf("job/%d/%sx", i, deep), Typeflag: tar.TypeReg}
	}
	odd["folders without end"] = archive(t, list, many...)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	must(t, w.WriteHeader(&tar.Header{Name: "job/x", Typeflag: tar.TypeReg, Size: 1 << 40}))
	odd["a terabyte"] = zipped(t, b.Bytes())
	odd["a terabyte of holes"] = zipped(t, sparse(t, holes))
	for name, file := range odd {
		tmp := t.TempDir()
		keys, err := audit.ParseKeys([]byte(notary.public()))
		must(t, err)
		if r, err := audit.CheckCase(bytes.NewReader(file), tmp, keys, nil); err == nil {
			t.Errorf("%s is taken: %d findings", name, len(r.Findings))
		}
		if _, err := os.Lstat(filepath.Join(filepath.Dir(tmp), "x")); err == nil {
			t.Errorf("%s: a file lies elsewhere", name)
		}
	}

	other := a.proved(t, requestID(4))
	same := func(name string, from []byte) []byte {
		for _, p := range unpacked(t, from) {
			if p.name == name {
				return p.data
			}
		}
		t.Fatalf("no %s", name)
		return nil
	}
	wrong := map[string][]byte{
		"another request's name": indexed(t, file, func(c *audit.Case) { c.RequestID = requestID(4) }),
		"another job's name":     indexed(t, file, func(c *audit.Case) { c.Job = filepath.Base(a.job(t, requestID(4))) }),
		"another log's name":     indexed(t, file, func(c *audit.Case) { c.Origin = "logs.example.org/other" }),
		"the end left out":       indexed(t, file, func(c *audit.Case) { c.Events = c.Events[:1] }),
		"another result's statement": changed(t, file, "statement.sigstore.json", func([]byte) []byte {
			return same("statement.sigstore.json", other)
		}),
		"a file more": archive(t, append(slices.Clone(list), packed{"job/more", nil})),
	}
	for _, p := range list {
		if strings.HasSuffix(p.name, ".spicy") { // each has the proof of the next
			wrong["a proof of another event: "+p.name] = changed(t, file, p.name, func(b []byte) []byte {
				for _, q := range list {
					if strings.HasSuffix(q.name, ".spicy") && q.name != p.name {
						return q.data
					}
				}
				return b
			})
			break
		}
	}
	for name, file := range wrong {
		if r, err := checked(t, file, everybody...); err == nil && len(r.Findings) == 0 {
			t.Errorf("%s is believed: %+v", name, r)
		}
	}
}

// sparse is a tar of a file that is one hole.
func sparse(t *testing.T, records map[string]string) []byte {
	t.Helper()
	var pax bytes.Buffer
	for _, k := range slices.Sorted(maps.Keys(records)) {
		line := fmt.Sprintf(" %s=%s\n", k, records[k])
		n := len(line)
		for n != len(line)+len(fmt.Sprint(n)) {
			n = len(line) + len(fmt.Sprint(n))
		}
		fmt.Fprintf(&pax, "%d%s", n, line)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	must(t, w.WriteHeader(&tar.Header{Name: "PaxHeaders", Typeflag: tar.TypeReg, Size: int64(pax.Len())}))
	_, err := w.Write(pax.Bytes())
	must(t, err)
	ofHole := make([]byte, 512) // a map of no data
	copy(ofHole, "0\n")
	must(t, w.WriteHeader(&tar.Header{Name: "GNUSparseFile.0/job/x", Typeflag: tar.TypeReg, Size: int64(len(ofHole))}))
	_, err = w.Write(ofHole)
	must(t, errors.Join(err, w.Close()))
	raw := b.Bytes()
	raw[156] = tar.TypeXHeader
	sum := 0
	copy(raw[148:156], "        ")
	for _, c := range raw[:512] {
		sum += int(c)
	}
	copy(raw[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return raw
}

// TestCaseFilesOfOthers: a log of somebody else is not taken for the one whose key is trusted, also if both have a
// witness; a key counts no longer than it is trusted; and an order stands for no other decision.
func TestCaseFilesOfOthers(t *testing.T) {
	a := newAudited(t)
	must(t, a.checkpoint(notary))
	file := a.proved(t, requestID(7))
	check := func(trust string) *audit.CaseReport {
		t.Helper()
		keys, err := audit.ParseKeys([]byte(trust))
		must(t, err)
		r, err := audit.CheckCase(bytes.NewReader(file), t.TempDir(), keys, nil)
		must(t, err)
		return r
	}
	if r := check(notary.public()); len(r.Findings) > 0 {
		t.Fatalf("%+v", r)
	}
	vkey, err := audit.VerifierKey(a.cfg.LogOrigin(), openwop.TrustedKey{Public: notary.signer().Public})
	must(t, err)
	for name, trust := range map[string]string{"a stranger": mallory.public(), "a witness alone": mallory.public() + vkey + "\n",
		"a key of before": `until="3" ` + notary.public()} {
		if r := check(trust); len(r.Findings) == 0 {
			t.Errorf("%s is believed: %+v", name, r)
		}
	}
	// The checkpoint is of a new key, the statement of one that was stolen after it was given up.
	must(t, os.RemoveAll(filepath.Join(a.checkpoints(), "statements")))
	must(t, a.checkpoint(mallory))
	file = a.proved(t, requestID(7))
	if r := check(`until="3" ` + mallory.public() + notary.public()); len(r.Findings) == 0 {
		t.Errorf("a statement of a key of before is believed: %+v", r)
	}
}

// TestOneLogHasOneName: the signer does not sign under another name what it signed before.
func TestOneLogHasOneName(t *testing.T) {
	a := newAudited(t)
	a.cfg.Config.Node.Origin = "logs.example.org/of-somebody-else"
	if err := a.checkpoint(notary); !errors.Is(err, openwop.ErrBroken) || !strings.Contains(err.Error(), "node.origin") {
		t.Errorf("%v", err)
	}
}

// TestEventsLeftOut: a case without the events that say who approved a run, or who was allowed to, proves no run.
func TestEventsLeftOut(t *testing.T) {
	a := newAudited(t)
	must(t, a.checkpoint(notary))
	file, everybody := a.proved(t, requestID(7)), []person{operator, alice, carol}
	for what, leave := range map[string]func([]int64) []int64{
		"only the last": func(list []int64) []int64 { return list[len(list)-1:] },
		"not the first": func(list []int64) []int64 { return list[1:] },
	} {
		r, err := checked(t, indexed(t, file, func(c *audit.Case) { c.Events = leave(c.Events) }), everybody...)
		if must(t, err); len(r.Findings) == 0 && len(r.Unchecked) == 1 {
			t.Errorf("%s: nothing is found: %+v", what, r)
		}
	}
	if r, err := checked(t, file, everybody...); err != nil || len(r.Findings) > 0 {
		t.Errorf("the whole case: %v, %v", r.Findings, err)
	}
}
