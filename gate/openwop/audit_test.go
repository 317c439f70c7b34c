package openwop_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/openwop"
	wire "github.com/threegate/tool-exec/schemas/openwop"
)

// key is one for each number.
func key(n byte) (ed25519.PrivateKey, openwop.TrustedKey) {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
	return private, openwop.TrustedKey{Fingerprint: "key " + string('0'+n), Public: private.Public().(ed25519.PublicKey)}
}

// signer is the Signer of a key.
func signer(n byte) openwop.Signer {
	private, public := key(n)
	return openwop.Signer{Fingerprint: public.Fingerprint, Public: public.Public,
		Sign: func(m []byte) ([]byte, error) { return ed25519.Sign(private, m), nil }}
}

// tried signs what no checkpoint signs yet.
func tried(dir string, cps []openwop.SignedCheckpoint, n byte) ([]openwop.SignedCheckpoint, error) {
	made := cps
	m := openwop.NewMaker(cps, signer(n), func(cp openwop.SignedCheckpoint) error {
		made = append(made, cp)
		return nil
	})
	if err := ledger.Lines(dir, m.Next); err != nil {
		return made, err
	}
	return made, m.End()
}

func sign(t *testing.T, dir string, cps []openwop.SignedCheckpoint, n byte) []openwop.SignedCheckpoint {
	t.Helper()
	made, err := tried(dir, cps, n)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func numbered(n int) []ledger.Event {
	return slices.Repeat([]ledger.Event{{Type: ledger.NodeStarted}}, n)
}

func verify(t *testing.T, dir string, cps []openwop.SignedCheckpoint, keys []openwop.TrustedKey, from, to int64) openwop.Verified {
	t.Helper()
	checker := openwop.NewChecker(cps, keys, from, to)
	if err := ledger.Lines(dir, func(line []byte) error { checker.Next(line); return nil }); err != nil {
		t.Fatal(err)
	}
	v := checker.End()
	raw, err := wire.Schema("audit-verify-result")
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("doc.json", parsed(t, raw)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("doc.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(v.AuditVerifyResult)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(parsed(t, doc)); err != nil {
		t.Errorf("%v: %s", err, doc)
	}
	return v
}

// merkle is the rule once more, written another way.
func merkle(leaves []string) string {
	if len(leaves) == 1 {
		return leaves[0]
	}
	half := 1
	for half*2 < len(leaves) {
		half *= 2
	}
	sum := sha256.Sum256([]byte(merkle(leaves[:half]) + merkle(leaves[half:])))
	return hex.EncodeToString(sum[:])
}

// A reader who knows the profile's text only comes to the same roots: the hash of an entry is that
// of its canonical JSON, whatever the spelling that he has it in.
func TestRootsByTheText(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 7, 999, 1000, 1001, 2500} {
		dir := record(t, numbered(n)...)
		cps := sign(t, dir, nil, 1)
		if want := (n + openwop.CheckpointEvery - 1) / openwop.CheckpointEvery; len(cps) != want {
			t.Errorf("%d entries: %d checkpoints, want %d", n, len(cps), want)
		}
		var hashes []string
		if _, _, err := ledger.Read(dir, func(e ledger.Event) error {
			spelled, err := json.MarshalIndent(e, "", "  ")
			if err != nil {
				return err
			}
			canonical := jsontext.Value(spelled)
			err = canonical.Canonicalize()
			sum := sha256.Sum256(canonical)
			hashes = append(hashes, hex.EncodeToString(sum[:]))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		_, public := key(1)
		var p int64
		for _, cp := range cps {
			root := merkle(hashes[p:cp.AtSequence])
			raw, _ := hex.DecodeString(root)
			sig, err := base64.StdEncoding.DecodeString(cp.Signature)
			if cp.MerkleRoot != root || err != nil || !ed25519.Verify(public.Public, raw, sig) {
				t.Errorf("%d entries: the checkpoint at %d is not by the text", n, cp.AtSequence)
			}
			p = cp.AtSequence
		}
	}
}

// segment is the one file of a record.
func segment(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "events-*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	return files[0]
}

// edit changes the lines of a record.
func edit(t *testing.T, dir string, change func(lines []string) []string) {
	t.Helper()
	file := segment(t, dir)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := change(slices.Collect(strings.Lines(string(raw))))
	if err := os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// rechain writes the record anew from a line on, so that its chain is whole again.
func rechain(lines []string) []string {
	prev := strings.Repeat("0", 64)
	for i, l := range lines {
		var e map[string]any
		_ = json.Unmarshal([]byte(l), &e)
		e["prev"] = prev
		raw, _ := json.Marshal(e) // sorted
		sum := sha256.Sum256(raw)
		prev = hex.EncodeToString(sum[:])
		lines[i] = string(raw) + "\n"
	}
	return lines
}

func TestVerify(t *testing.T) {
	_, one := key(1)
	_, two := key(2)
	oneUntil := one
	oneUntil.Until = 2000
	changed := func(l string) string { return strings.Replace(l, "node.started", "node.stopped", 1) }
	for _, c := range []struct {
		name        string
		record      func(lines []string) []string
		cps         func(cps []openwop.SignedCheckpoint) []openwop.SignedCheckpoint
		keys        []openwop.TrustedKey
		from, to    int64
		chain, good bool
		anomaly     int64 // the first
	}{
		{name: "whole", chain: true, good: true},
		{name: "an entry was changed", record: func(l []string) []string { l[9] = changed(l[9]); return l }, anomaly: 11},
		{name: "the last was changed", record: func(l []string) []string { l[2499] = changed(l[2499]); return l }},
		{name: "one was removed", record: func(l []string) []string { return slices.Delete(l, 9, 10) }, anomaly: 10},
		{name: "one was put in", record: func(l []string) []string { return slices.Insert(l, 9, l[9]) }, anomaly: 11},
		{name: "two were swapped", record: func(l []string) []string { l[8], l[9] = l[9], l[8]; return l }, anomaly: 9},
		{name: "one is no JSON", record: func(l []string) []string { l[9] = "hello\n"; return l }, anomaly: 10},
		{name: "all was written anew", record: func(l []string) []string { l[9] = changed(l[9]); return rechain(l) }},
		{name: "the end was cut off", record: func(l []string) []string { return l[:2400] }},
		{name: "another spelling", record: func(l []string) []string { l[9] = strings.Replace(l[9], ":", ": ", 1); return l },
			anomaly: 11},
		{name: "trap: the change lies outside of what was asked for", from: 2001, to: 2500,
			record: func(l []string) []string { l[9] = changed(l[9]); return l }, chain: true, good: true},
		{name: "a checkpoint is missing", cps: func(c []openwop.SignedCheckpoint) []openwop.SignedCheckpoint {
			return slices.Delete(c, 0, 1)
		}},
		{name: "a checkpoint was moved", cps: func(c []openwop.SignedCheckpoint) []openwop.SignedCheckpoint {
			c[0].AtSequence = 999
			return c
		}},
		{name: "two were swapped", cps: func(c []openwop.SignedCheckpoint) []openwop.SignedCheckpoint {
			c[0], c[1] = c[1], c[0]
			return c
		}},
		{name: "a root was changed", cps: func(c []openwop.SignedCheckpoint) []openwop.SignedCheckpoint {
			c[0].MerkleRoot = c[1].MerkleRoot
			return c
		}},
		{name: "a signature is of another root", cps: func(c []openwop.SignedCheckpoint) []openwop.SignedCheckpoint {
			c[0].Signature = c[1].Signature
			return c
		}},
		{name: "a signature is damaged", cps: func(c []openwop.SignedCheckpoint) []openwop.SignedCheckpoint {
			c[0].Signature = "!"
			return c
		}},
		{name: "an unknown key", keys: []openwop.TrustedKey{two}},
		{name: "no key", keys: []openwop.TrustedKey{}},
		{name: "a key under another's name", keys: []openwop.TrustedKey{{Fingerprint: one.Fingerprint, Public: two.Public}, two}},
		{name: "the key was changed", keys: []openwop.TrustedKey{oneUntil, two}, chain: true, good: true},
		{name: "the old key signs on", keys: []openwop.TrustedKey{{Fingerprint: one.Fingerprint, Public: one.Public, Until: 1999}, two}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := record(t, numbered(2500)...)
			cps := sign(t, dir, nil, 1)[:2] // up to 2000
			cps = sign(t, dir, cps, 2)      // the key was changed then
			if len(cps) != 3 {
				t.Fatal(len(cps))
			}
			if c.record != nil {
				edit(t, dir, c.record)
			}
			if c.cps != nil {
				cps = c.cps(cps)
			}
			if c.keys == nil {
				c.keys = []openwop.TrustedKey{one, two}
			}
			v := verify(t, dir, cps, c.keys, max(c.from, 1), c.to)
			if v.ChainValid != c.chain || v.CheckpointsValid != c.good {
				t.Errorf("chain %v, checkpoints %v: %+v", v.ChainValid, v.CheckpointsValid, v)
			}
			if c.anomaly > 0 && (len(v.Anomalies) == 0 || v.Anomalies[0].AtSeq != c.anomaly) {
				t.Errorf("anomalies: %+v", v.Anomalies)
			}
		})
	}
}

// What came after the last checkpoint is told of; a broken chain is not signed over.
func TestSign(t *testing.T) {
	dir := record(t, numbered(10)...)
	cps := sign(t, dir, nil, 1)
	if again := sign(t, dir, cps, 1); len(again) != len(cps) {
		t.Errorf("nothing new, and signed: %+v", again)
	}
	_, public := key(1)
	edit(t, dir, func(lines []string) []string {
		return rechain(append(lines, strings.Replace(lines[9], `"seq":10`, `"seq":11`, 1)))
	})
	if v := verify(t, dir, cps, []openwop.TrustedKey{public}, 1, 0); v.Entries != 11 || v.Signed != 10 || !v.ChainValid {
		t.Errorf("%+v", v)
	}
	edit(t, dir, func(lines []string) []string { return slices.Delete(lines, 3, 4) })
	if made, err := tried(dir, cps, 1); !errors.Is(err, openwop.ErrBroken) || len(made) != len(cps) {
		t.Errorf("%v, %v", made, err)
	}
	edit(t, dir, func(lines []string) []string { return rechain(lines) })
	if made, err := tried(dir, cps, 1); !errors.Is(err, openwop.ErrBroken) || len(made) != len(cps) {
		t.Errorf("another history is signed: %v, %v", made, err)
	}
	empty := record(t)
	if v := verify(t, empty, nil, nil, 1, 0); !v.ChainValid || v.Entries != 0 {
		t.Errorf("an empty record: %+v", v)
	}
	if _, err := tried(empty, cps, 1); !errors.Is(err, openwop.ErrBroken) {
		t.Errorf("a record that is gone: %v", err)
	}
}
