package gate_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/threegate/tool-exec/gate/audit"
	"github.com/threegate/tool-exec/gate/fsck"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/orders"
	"github.com/threegate/tool-exec/gate/seal"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate/approval"
)

// Attacks that work on any file or event.

func overwriting(path func(*testing.T, *audited) string, to string) func(*testing.T, *audited) {
	return func(t *testing.T, a *audited) { must(t, os.WriteFile(path(t, a), []byte(to), 0o600)) }
}

func removing(path func(*testing.T, *audited) string) func(*testing.T, *audited) {
	return func(t *testing.T, a *audited) { must(t, os.RemoveAll(path(t, a))) }
}

func replacing(path func(*testing.T, *audited) string, old, with string) func(*testing.T, *audited) {
	return func(t *testing.T, a *audited) { replaceIn(t, path(t, a), old, with) }
}

func replaceIn(t *testing.T, file, old, with string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	must(t, err)
	if !bytes.Contains(raw, []byte(old)) {
		t.Fatalf("%s has no %q", file, old)
	}
	must(t, os.WriteFile(file, bytes.ReplaceAll(raw, []byte(old), []byte(with)), 0o600))
}

// in is a file of the job of a request.
func in(k int, name string) func(*testing.T, *audited) string {
	return func(t *testing.T, a *audited) string { return filepath.Join(a.job(t, requestID(k)), name) }
}

// at is the n-th path that matches a pattern.
func at(pattern string, n int) func(*testing.T, *audited) string {
	return func(t *testing.T, a *audited) string {
		found := a.glob(pattern)
		if len(found) <= n {
			t.Fatalf("%s: %v", pattern, found)
		}
		return found[n]
	}
}

// raw changes lines of the record, and leaves the chain as it is.
func raw(change func(lines []string) []string) func(*testing.T, *audited) {
	return func(t *testing.T, a *audited) { a.setLines(t, change(a.lines(t))) }
}

// forging changes events of a type, of the job of a request if k is not negative, and makes the chain anew.
func forging(typ ledger.Type, k int, change func(event)) func(*testing.T, *audited) {
	return func(t *testing.T, a *audited) {
		found := false
		a.forge(t, func(events []event) []event {
			for _, e := range events {
				if e["type"] == string(typ) && (k < 0 || e["requestId"] == requestID(k)) {
					found = true
					change(e)
				}
			}
			return events
		})
		if !found {
			t.Fatalf("no %s of %d", typ, k)
		}
	}
}

// dropping removes events, and makes the chain anew.
func dropping(drop func(event) bool) func(*testing.T, *audited) {
	return func(t *testing.T, a *audited) {
		a.forge(t, func(events []event) []event { return slices.DeleteFunc(events, drop) })
	}
}

func of(typ ledger.Type) func(event) bool {
	return func(e event) bool { return e["type"] == string(typ) }
}

// inserting puts a made-up event behind the one of a number, or at the end.
func inserting(after int, e event) func(*testing.T, *audited) {
	return func(t *testing.T, a *audited) {
		a.forge(t, func(events []event) []event {
			if after == 0 {
				after = len(events)
			}
			made := maps.Clone(e)
			made["time"] = events[after-1]["time"]
			return slices.Insert(events, after, made)
		})
	}
}

// resealed changes a job's folder, and both its seal and the record's so that they fit.
func resealed(k int, change func(t *testing.T, dir string)) func(*testing.T, *audited) {
	return func(t *testing.T, a *audited) {
		dir := a.job(t, requestID(k))
		change(t, dir)
		sum := reseal(t, dir)
		a.forge(t, func(events []event) []event {
			for _, e := range events {
				if e["runId"] == filepath.Base(dir) && e["seal"] != nil {
					e["seal"] = sum
				}
			}
			return events
		})
	}
}

func reseal(t *testing.T, dir string) string {
	t.Helper()
	data, sum, err := seal.Make(dir, true)
	must(t, errors.Join(err, os.WriteFile(filepath.Join(dir, seal.File), data, 0o600)))
	return sum
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// madeUp adds a job that never was to the end, whole and with a chain that fits: the last one under other ids. Its
// signature file is what sign makes.
func madeUp(sign func(request []byte) []byte, change func(admitted event)) func(*testing.T, *audited) {
	return func(t *testing.T, a *audited) {
		old := a.job(t, requestID(8))
		id := filepath.Base(old)
		id = id[:14] + map[bool]string{true: "1", false: "0"}[id[14] == '0'] + id[15:]
		dir := filepath.Join(filepath.Dir(old), id)
		copyNode(t, old, dir)
		request := filepath.Join(dir, spool.FileRequest)
		was, err := os.ReadFile(request)
		must(t, err)
		now := bytes.ReplaceAll(was, []byte(requestID(8)), []byte(requestID(8)+"9"))
		swap := []string{requestID(8), requestID(8) + "9", filepath.Base(old), id, hexSum(was), hexSum(now)}
		for _, name := range []string{spool.FileRequest, spool.FileClaim, ledger.FileAdmission, ledger.FileResult} {
			file := filepath.Join(dir, name)
			text, err := os.ReadFile(file)
			must(t, err)
			if name == ledger.FileResult {
				swap = append(swap, hexSum(text), hexSum([]byte(strings.NewReplacer(swap...).Replace(string(text)))))
			}
			must(t, os.WriteFile(file, []byte(strings.NewReplacer(swap...).Replace(string(text))), 0o600))
		}
		if sign != nil {
			must(t, os.WriteFile(filepath.Join(dir, spool.FileSignature), sign(now), 0o600))
		}
		sum := reseal(t, dir)
		a.forge(t, func(events []event) []event {
			var more []event
			for _, e := range events {
				if e["runId"] != filepath.Base(old) {
					continue
				}
				text, err := json.Marshal(e)
				must(t, err)
				made := event{}
				must(t, json.Unmarshal([]byte(strings.NewReplacer(swap...).Replace(string(text))), &made))
				if made["seal"] != nil {
					made["seal"] = sum
				}
				made["time"] = events[len(events)-1]["time"]
				if made["type"] == string(ledger.DeliveryAttempted) {
					change(made)
				}
				more = append(more, made)
			}
			return append(events, more...)
		})
	}
}

func signedBy(p person) func([]byte) []byte {
	return func(request []byte) []byte { return p.sign(approval.Namespace, request) }
}

func approvedBy(approver any) func(event) {
	return func(e event) { e["approvers"] = []any{approver}; delete(e, "planSha256") }
}

// rename puts another id into the records of a job.
func (a *audited) rename(dir, old, id string) error {
	for _, name := range []string{spool.FileClaim, "reasons.json"} {
		file := filepath.Join(dir, name)
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, bytes.ReplaceAll(text, []byte(old), []byte(id)), 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// swapped exchanges two paths.
func swapped(one, two func(*testing.T, *audited) string) func(*testing.T, *audited) {
	return func(t *testing.T, a *audited) {
		x, y := one(t, a), two(t, a)
		must(t, errors.Join(os.Rename(x, x+"x"), os.Rename(y, x), os.Rename(x+"x", y)))
	}
}

// all does one after the other.
func all(steps ...func(*testing.T, *audited)) func(*testing.T, *audited) {
	return func(t *testing.T, a *audited) {
		for _, step := range steps {
			step(t, a)
		}
	}
}

// resigned has mallory sign anew all that checkpoints signed.
func resigned(t *testing.T, a *audited) {
	must(t, errors.Join(os.RemoveAll(a.checkpoints()), a.checkpoint(mallory)))
}

// signedAgain has the right key sign what it should not: its folder was emptied, too.
func signedAgain(t *testing.T, a *audited) {
	must(t, errors.Join(os.RemoveAll(a.checkpoints()), a.checkpoint(notary)))
}

// tampering is one way to change a node.
type tampering struct {
	name string
	do   func(*testing.T, *audited)
	// want is the check that finds it, and says what it must name. Without one nothing finds it, and unfound is why.
	want fsck.Check
	says string
}

const (
	checkpoints = audit.DirCheckpoints
	done        = "orders/done/"
)

var anEnd = event{"type": "quarantine.rejected", "runId": "j0123456789abcdefghjkmnpqrs", "by": "alice"}

var exitCode = func(e event) { e["exitCode"] = 7 }

var tamperings = []tampering{
	// The record, by whoever does not know how it is chained.
	{"an event is changed", raw(func(l []string) []string {
		l[5] = strings.Replace(l[5], `"seq"`, `"attempt":9,"seq"`, 1)
		return l
	}), fsck.CheckLedger, "event"},
	{"an event is removed", raw(func(l []string) []string { return slices.Delete(l, 5, 6) }), fsck.CheckLedger, "event 6"},
	{"an event comes twice", raw(func(l []string) []string { return slices.Insert(l, 5, l[5]) }), fsck.CheckLedger, "event 7"},
	{"two events are swapped", raw(func(l []string) []string { l[5], l[6] = l[6], l[5]; return l }), fsck.CheckLedger, "event 6"},
	{"a line is no event", raw(func(l []string) []string { l[5] = "hello\n"; return l }), fsck.CheckLedger, "event 6"},
	{"an event is spelled otherwise", raw(func(l []string) []string {
		l[5] = strings.Replace(l[5], ":", ": ", 1)
		return l
	}), fsck.CheckLedger, "event 7"},
	{"the first events are cut off", raw(func(l []string) []string { return l[8:] }), fsck.CheckLedger, "event 1"},
	{"the record is emptied", raw(func([]string) []string { return nil }), audit.CheckAnchor, "anchor"},
	{"the record is removed", removing(at("ledger/events-*", 0)), audit.CheckAnchor, "anchor"},
	{"the record is a pipe that nobody writes to", func(t *testing.T, a *audited) {
		file := a.one(t, "ledger/events-*")
		must(t, errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600)))
	}, fsck.CheckLedger, "pipe"},
	{"the record is a link to one without end", func(t *testing.T, a *audited) {
		file := a.one(t, "ledger/events-*")
		must(t, errors.Join(os.Remove(file), os.Symlink("/dev/zero", file)))
	}, fsck.CheckLedger, "link"},
	{"the signed end is cut off", raw(func(l []string) []string { return l[:30] }), audit.CheckCheckpoint, "no such event"},

	// The record, with a chain that was made anew: what checkpoints sign.
	{"how a run ended", forging(ledger.RunCompleted, 7, exitCode), audit.CheckCheckpoint, "other events"},
	{"when a run ended", forging(ledger.RunCompleted, 7, func(e event) { e["wallMs"] = 9 }), audit.CheckCheckpoint, "other events"},
	{"who approved", forging(ledger.DeliveryAttempted, 7, approvedBy(event{"name": "mallory", "how": "named"})),
		audit.CheckCheckpoint, "other events"},
	{"who asked", forging(ledger.DeliveryAttempted, 7, func(e event) { e["requester"] = "mallory" }), fsck.CheckApproval, "mallory"},
	{"nobody asked or approved", forging(ledger.DeliveryAttempted, 7, func(e event) { delete(e, "requester"); delete(e, "approvers") }),
		fsck.CheckApproval, "does not say who"},
	{"with which key", forging(ledger.DeliveryAttempted, 7, func(e event) {
		e["approvers"].([]any)[0].(event)["fingerprint"] = "SHA256:x"
	}), fsck.CheckApproval, "SHA256:x"},
	{"which plan", forging(ledger.DeliveryAttempted, 7, func(e event) { e["planSha256"] = strings.Repeat("0", 64) }),
		fsck.CheckApproval, "plan"},
	{"which inputs", forging(ledger.DeliveryAttempted, 7, func(e event) { delete(e, "inputs") }), fsck.CheckApproval, "inputs"},
	{"when it was", forging(ledger.ResultDelivered, 1, func(e event) { e["time"] = "2026-02-09T16:20:00Z" }), fsck.CheckTime, "earlier"},
	{"what was refused never came", dropping(func(e event) bool { return e["requestId"] == requestID(2) }),
		fsck.CheckRecord, "no verdict"},
	{"a job never was", all(dropping(func(e event) bool { return e["requestId"] == requestID(7) }), removing(in(7, ""))),
		audit.CheckCheckpoint, "other events"},
	{"a refusal is made up", inserting(10, event{"type": "order.refused", "order": strings.Repeat("0", 64)}), audit.CheckCheckpoint,
		"other events"},
	{"a rejection is made up", inserting(10, anEnd), audit.CheckCheckpoint, "other events"},
	{"a prune is made up, and the job removed", func(t *testing.T, a *audited) {
		dir := a.job(t, requestID(7))
		inserting(0, event{"type": "archive.pruned", "jobs": []any{filepath.Base(dir)}, "by": "alice", "reason": "by rule"})(t, a)
		must(t, os.RemoveAll(dir))
		resigned(t, a)
	}, audit.CheckCheckpoint, "not among those that are trusted"},
	{"a prune is not on record", dropping(of(ledger.ArchivePruned)), fsck.CheckLost, "no folder holds it"},
	{"an order is not on record", dropping(of(ledger.QuarantineRejected)), fsck.CheckRecord, "no event tells of this order"},
	{"an order and its event are gone", all(dropping(of(ledger.QuarantineRejected)), removing(func(t *testing.T, a *audited) string {
		return filepath.Join(a.dir, done)
	})), audit.CheckCheckpoint, "other events"},
	{"who gave an order", forging(ledger.QuarantineRejected, -1, func(e event) { e["by"] = "mallory" }), audit.CheckCheckpoint,
		"other events"},
	{"the node's start", dropping(of(ledger.NodeStarted)), audit.CheckCheckpoint, "other events"},
	{"the image of a run", forging(ledger.RunStarted, 7, func(e event) { e["image"] = "sha256:0" }), audit.CheckCheckpoint,
		"other events"},
	{"a seal", forging(ledger.ResultDelivered, 7, func(e event) { e["seal"] = strings.Repeat("0", 64) }), fsck.CheckSeal, "seal.json"},

	// The same, signed anew.
	{"another key signs another history", all(forging(ledger.RunCompleted, 7, exitCode), resigned), audit.CheckCheckpoint,
		"not among those that are trusted"},
	{"another key signs under the name of the right one", func(t *testing.T, a *audited) {
		resigned(t, a)
		for _, file := range a.glob(checkpoints + "/*.json") {
			replaceIn(t, file, mallory.signer().Fingerprint, notary.signer().Fingerprint)
		}
	}, audit.CheckCheckpoint, "its signature is not of its key"},
	{"the right key signs another history", all(forging(ledger.RunCompleted, 7, exitCode), signedAgain), audit.CheckAnchor, "anchor"},
	{"the right key signs a fork", func(t *testing.T, a *audited) {
		a.back(t, a.before)
		a.at(4 * time.Hour)
		a.request(requestID(11), "fail")
		a.until(t)
		must(t, a.checkpoint(notary))
	}, audit.CheckAnchor, "anchor"},

	// The whole node.
	{"the node is put back", func(t *testing.T, a *audited) { a.back(t, a.before) }, audit.CheckAnchor, "anchor"},
	{"the node is put back, and goes on", func(t *testing.T, a *audited) {
		a.back(t, a.before)
		a.request(requestID(11), "ok")
		a.until(t)
	}, audit.CheckAnchor, "anchor"},
	{"the node is emptied", func(t *testing.T, a *audited) {
		for _, dir := range []string{spool.DirArchive, spool.DirQuarantine, spool.DirLedger, spool.DirOrders, spool.DirSpool,
			spool.DirCoreInbound, checkpoints} {
			must(t, os.RemoveAll(filepath.Join(a.dir, dir)))
		}
		fresh := mustWorld(t, scenario{name: "fresh", word: "ok"})
		for _, dir := range []string{spool.DirArchive, spool.DirQuarantine, spool.DirLedger, spool.DirOrders, spool.DirSpool,
			spool.DirCoreInbound} {
			copyNode(t, filepath.Join(fresh.dir, dir), filepath.Join(a.dir, dir))
		}
	}, audit.CheckAnchor, "anchor"},

	// Checkpoints.
	{"all checkpoints are dropped", removing(func(_ *testing.T, a *audited) string { return a.checkpoints() }), audit.CheckCheckpoint,
		"no checkpoint"},
	{"the last checkpoints are dropped", all(removing(at(checkpoints+"/*.note", 1)), removing(at(checkpoints+"/*.json", 1))),
		audit.CheckCheckpoint, "old"},
	{"an OpenWOP checkpoint is dropped", removing(at(checkpoints+"/*.json", 0)), audit.CheckCheckpoint, "other entries"},
	{"a checkpoint is no checkpoint", overwriting(at(checkpoints+"/*.note", 1), "hello"), audit.CheckCheckpoint, "no checkpoint"},
	{"two checkpoints are swapped", swapped(at(checkpoints+"/*.note", 0), at(checkpoints+"/*.note", 1)), audit.CheckCheckpoint,
		"it is about event"},
	{"the root of a checkpoint", func(t *testing.T, a *audited) {
		file := at(checkpoints+"/*.note", 1)(t, a)
		text, err := os.ReadFile(file)
		must(t, err)
		lines := strings.Split(string(text), "\n")
		lines[2] = "AAAA" + lines[2][4:]
		must(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600))
	}, audit.CheckCheckpoint, "other events"},
	{"the signature of a checkpoint", func(t *testing.T, a *audited) {
		file := at(checkpoints+"/*.note", 1)(t, a)
		text, err := os.ReadFile(file)
		must(t, err)
		text[len(text)-20] ^= 1
		must(t, os.WriteFile(file, text, 0o600))
	}, audit.CheckCheckpoint, "checkpoint at event"},
	{"the origin of a checkpoint", replacing(at(checkpoints+"/*.note", 1), "crash", "trash"), audit.CheckCheckpoint, "trash"},

	// Folders of jobs.
	{"a stream", overwriting(in(7, "stdout"), "x"), fsck.CheckFiles, "stdout"},
	{"a stream and the outcome that has its digest", func(t *testing.T, a *audited) {
		file := in(7, "stdout")(t, a)
		was, err := os.ReadFile(file)
		must(t, errors.Join(err, os.WriteFile(file, []byte("x"), 0o600)))
		replaceIn(t, in(7, ledger.FileOutcome)(t, a), hexSum(was), hexSum([]byte("x")))
	}, fsck.CheckSeal, "stdout"},
	{"a stream, the outcome and the seal", func(t *testing.T, a *audited) {
		file := in(7, "stdout")(t, a)
		was, err := os.ReadFile(file)
		must(t, errors.Join(err, os.WriteFile(file, []byte("x"), 0o600)))
		replaceIn(t, in(7, ledger.FileOutcome)(t, a), hexSum(was), hexSum([]byte("x")))
		reseal(t, filepath.Dir(file))
	}, fsck.CheckSeal, "seal.json"},
	{"what was admitted, its seal and the record", resealed(7, func(t *testing.T, dir string) {
		replaceIn(t, filepath.Join(dir, ledger.FileAdmission), "python", "pythin")
	}), audit.CheckCheckpoint, "other events"},
	{"what was admitted", replacing(in(7, ledger.FileAdmission), "python", "pythin"), fsck.CheckSeal, "admission.json"},
	{"an output", overwriting(in(7, "out/d/x.csv"), "x"), fsck.CheckFiles, "out/d/x.csv"},
	{"an output more", overwriting(in(7, "out/more"), "x"), fsck.CheckStray, "out/more"},
	{"an output less", removing(in(7, "out/d/x.csv")), fsck.CheckFiles, "out/d/x.csv"},
	{"an archived result", overwriting(in(7, ledger.FileResult), "x"), fsck.CheckDigest, "result.md"},
	{"an input", overwriting(in(7, "inputs/x.csv"), "x"), fsck.CheckFiles, "inputs/x.csv"},
	{"a request", replacing(in(7, spool.FileRequest), "Fault matrix", "False matrix"), fsck.CheckFiles, "request.md"},
	{"the reasons of a refusal", replacing(in(2, "reasons.json"), "sec.shell", "sec.shall"), fsck.CheckReasons, "reasons.json"},
	{"a refused request", replacing(in(2, spool.FileRequest), "Fault matrix", "False matrix"), fsck.CheckFiles, "request.md"},
	{"a job is removed", removing(in(7, "")), fsck.CheckLost, "no folder holds it"},
	{"a job lies twice", func(t *testing.T, a *audited) {
		dir := a.job(t, requestID(7))
		copyNode(t, dir, filepath.Join(a.dir, "spool/finished", filepath.Base(dir)))
	}, fsck.CheckPlace, "too"},
	{"a job lies in another month", func(t *testing.T, a *audited) {
		dir := a.job(t, requestID(7))
		must(t, errors.Join(os.MkdirAll(filepath.Join(a.dir, "archive/2001/01"), 0o700),
			os.Rename(dir, filepath.Join(a.dir, "archive/2001/01", filepath.Base(dir)))))
	}, fsck.CheckPlace, "another month"},
	{"a refused request becomes a delivered one", func(t *testing.T, a *audited) {
		dir := a.job(t, requestID(2))
		must(t, os.Rename(dir, filepath.Join(filepath.Dir(a.job(t, requestID(7))), filepath.Base(dir))))
	}, fsck.CheckRecord, "quarantine"},
	{"two jobs are swapped", swapped(in(7, ""), in(4, "")), fsck.CheckFiles, "of job"},
	{"two refused items are swapped", swapped(in(2, ""), in(6, "")), fsck.CheckFiles, "of job"},
	{"a job is made up in the archive", func(t *testing.T, a *audited) {
		copyNode(t, a.job(t, requestID(7)), filepath.Join(filepath.Dir(a.job(t, requestID(7))), "j0123456789abcdefghjkmnpqrs"))
	}, fsck.CheckRecord, "no verdict"},

	// Approvals and signers.
	{"a signature file is removed", removing(in(7, spool.FileSignature)), fsck.CheckApproval, "request.sig"},
	{"a signature file is another request's", func(t *testing.T, a *audited) {
		sig, err := os.ReadFile(in(4, spool.FileSignature)(t, a))
		must(t, errors.Join(err, os.WriteFile(in(7, spool.FileSignature)(t, a), sig, 0o600)))
	}, fsck.CheckSignature, "did not sign it"},
	{"a text of signers is changed", overwriting(at("ledger/signers/*", 0), "x"), fsck.CheckApproval, "was changed"},
	{"a text of signers is removed", removing(at("ledger/signers/*", 0)), fsck.CheckApproval, "missing"},
	{"signers are swapped on record", forging(ledger.NodeStarted, -1, func(e event) {
		e["node"].(event)["signersSha256"] = []any{hexSum([]byte(operator.line() + alice.line()))}
	}), fsck.CheckSignature, "carol"},
	{"a job is made up at the end, approved by name", madeUp(nil, approvedBy(event{"name": "operator", "how": "named"})),
		fsck.CheckSignature, "without a signature"},
	{"a job is made up at the end, with another job's signature", madeUp(nil, func(event) {}), fsck.CheckSignature, "did not sign it"},
	{"a job is made up at the end, signed by nobody who may", madeUp(signedBy(mallory), approvedBy(event{"name": "operator",
		"how": "signature", "fingerprint": mallory.signer().Fingerprint})), fsck.CheckSignature, "not listed"},
	{"a job is made up at the end, and its signer allowed", func(t *testing.T, a *audited) {
		text := []byte(strings.Replace(mallory.line(), "mallory", "operator", 1))
		must(t, os.WriteFile(filepath.Join(a.dir, spool.DirSigners, hexSum(text)), text, 0o600))
		inserting(0, event{"type": "node.reloaded", "node": event{"version": "", "configSha256": strings.Repeat("0", 64), "format": 1,
			"signersSha256": []any{hexSum(text)}}})(t, a)
		madeUp(signedBy(mallory), approvedBy(event{"name": "operator", "how": "signature",
			"fingerprint": mallory.signer().Fingerprint}))(t, a)
	}, fsck.CheckSignature, "signers that you gave"},

	// CORE's folders.
	{"a visible result", replacing(at("core-inbound/TS-*-7.md", 0), "python", "pythin"), fsck.CheckDigest, "-7.md"},
	{"an artifact", overwriting(at("core-inbound/TS-*-7.artifacts/d/x.csv", 0), "x"), fsck.CheckResult, "x.csv"},
	{"an artifact more", overwriting(func(t *testing.T, a *audited) string {
		return at("core-inbound/TS-*-7.artifacts", 0)(t, a) + "/more"
	}, "x"), fsck.CheckResult, "more"},
	{"a result of nobody", overwriting(func(_ *testing.T, a *audited) string {
		return filepath.Join(a.cfg.CoreInbound.Path, "TS-20260209-160501Z-other.md")
	}, "x"), fsck.CheckResult, "other.md"},
	{"a notice", overwriting(at("core-notices/TN-*", 0), "{}"), fsck.CheckNotice, "TN-"},
	{"a notice of nobody", overwriting(func(_ *testing.T, a *audited) string {
		return filepath.Join(a.cfg.CoreNotices.Path, "TN-TR-20260209-160501Z-other.json")
	}, "{}"), fsck.CheckNotice, "other.json"},

	// Orders.
	{"the words of an order", replacing(at(done+"*.json", 0), "as I say", "as he say"), fsck.CheckRecord, "order"},
	{"an order is removed", removing(at(done+"*.json", 0)), fsck.CheckRecord, "order"},
	{"the answer to an order", overwriting(at(done+"*.answer", 0), "{}"), fsck.CheckRecord, "answer"},
	{"the signature of an order is removed", removing(at(done+"*.sig", 0)), fsck.CheckRecord, "signature of an order is gone"},
	{"the signature of an order is another's", func(t *testing.T, a *audited) {
		sig, err := os.ReadFile(at(done+"*.sig", 1)(t, a))
		must(t, errors.Join(err, os.WriteFile(at(done+"*.sig", 0)(t, a), sig, 0o600)))
	}, fsck.CheckRecord, "signature of an order was replaced"},
	{"an order is made up at the end", func(t *testing.T, a *audited) {
		item := filepath.Base(a.job(t, requestID(9)))
		o := orders.Order{Version: 1, Name: "or-1999999999999999999", Kind: orders.Reject, Subject: item, By: "alice", Reason: "no",
			OrderedUTC: a.end}
		b, err := json.MarshalIndent(o, "", "  ")
		must(t, err)
		answer := orders.Answer{Order: o.Name, SHA256: hexSum(b), AnsweredUTC: a.end}
		text, err := answer.Bytes()
		must(t, errors.Join(err, os.WriteFile(filepath.Join(a.dir, done, hexSum(b)+".json"), b, 0o600),
			os.WriteFile(filepath.Join(a.dir, done, hexSum(b)+".answer"), text, 0o600)))
		inserting(0, event{"type": "quarantine.rejected", "runId": item, "requestId": requestID(9), "order": hexSum(b), "answerSha256": hexSum(text), "by": "alice"})(t, a)
	}, fsck.CheckSignature, "no signature"},

	{"an order stands for another decision", func(t *testing.T, a *audited) {
		order := func(kind orders.Kind) string {
			for _, file := range a.glob(done + "*.json") {
				b, err := os.ReadFile(file)
				must(t, err)
				if o, err := orders.Decode(b); err == nil && o.Kind == kind {
					return hexSum(b)
				}
			}
			t.Fatalf("no %s", kind)
			return ""
		}
		a.forge(t, func(events []event) []event {
			named := map[any]event{}
			for _, e := range events {
				named[e["order"]] = e
			}
			one, two := named[order(orders.Reject)], named[order(orders.Release)]
			for _, key := range []string{"order", "signatureSha256", "answerSha256"} {
				one[key], two[key] = two[key], one[key]
			}
			return events
		})
	}, fsck.CheckRecord, "says something else"},
	{"an order stands for two decisions", forging(ledger.QuarantineReleased, -1, func(e event) {
		e["order"] = hexSum([]byte("one"))
	}), fsck.CheckRecord, "name one order"},

	// Times.
	{"the end is earlier than what came before", forging(ledger.ResultDelivered, 8, func(e event) {
		e["time"] = "2026-02-09T16:20:00Z"
	}), fsck.CheckTime, "earlier"},
	{"the end lies in the future", forging(ledger.NodeStopped, -1, func(e event) { e["time"] = "2099-02-09T16:20:00Z" }),
		fsck.CheckTime, "future"},

	// What nothing finds: docs/checking.md says why of each.
	{"the last events are cut off with their jobs, back to the anchor", func(t *testing.T, a *audited) {
		a.back(t, a.anchored)
	}, "", ""},
	{"an earlier checkpoint is dropped, and later ones are there", removing(at(checkpoints+"/*.note", 0)), "", ""},
	{"the time of an event that no checkpoint signs yet", forging(ledger.NodeStopped, -1, func(e event) {
		if at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(e["time"])); err == nil && time.Since(at) < time.Hour {
			e["time"] = at.Add(time.Minute).Format(time.RFC3339Nano)
		}
	}), "", ""},
	{"a refused request is made up at the end", func(t *testing.T, a *audited) {
		old := a.job(t, requestID(9))
		id := filepath.Base(old)
		id = id[:14] + map[bool]string{true: "1", false: "0"}[id[14] == '0'] + id[15:]
		dir := filepath.Join(filepath.Dir(old), id)
		copyNode(t, old, dir)
		must(t, errors.Join(os.Remove(filepath.Join(dir, seal.File)), a.rename(dir, filepath.Base(old), id)))
		sum := reseal(t, dir)
		a.forge(t, func(events []event) []event {
			for _, e := range slices.Clone(events) {
				if e["runId"] == filepath.Base(old) {
					made := maps.Clone(e)
					made["runId"], made["seal"], made["time"] = id, sum, events[len(events)-1]["time"]
					delete(made, "notice")
					events = append(events, made)
				}
			}
			return events
		})
	}, "", ""},
	{"the times of files", func(t *testing.T, a *audited) {
		must(t, os.Chtimes(in(7, "stdout")(t, a), time.Unix(0, 0), time.Unix(0, 0)))
	}, "", ""},
	{"a job whose end no checkpoint signs yet, with its seal and its event", resealed(8, func(t *testing.T, dir string) {
		replaceIn(t, filepath.Join(dir, ledger.FileAdmission), "python", "pythin")
	}), "", ""},
}

// TestTamperings: the one command finds and names what can be found, and the documents list the rest.
func TestTamperings(t *testing.T) {
	sound := newAudited(t)
	doc, err := os.ReadFile("../docs/checking.md")
	must(t, err)
	found := 0
	for _, c := range tamperings {
		t.Run(c.name, func(t *testing.T) {
			a := sound.copied(t)
			c.do(t, a)
			r := a.verdict(t)
			if c.want == "" {
				if !r.Whole() || !strings.Contains(string(doc), "- "+c.name) {
					t.Errorf("it is found, or docs/checking.md has no line of it: %+v", r.Findings)
				}
				return
			}
			if !slices.ContainsFunc(r.Findings, func(f fsck.Finding) bool {
				return f.Check == c.want && strings.Contains(f.Where+" "+f.What, c.says)
			}) {
				t.Errorf("want %s %q: %+v", c.want, c.says, r.Findings)
				return
			}
			found++
		})
	}
	if len(tamperings) < 63 || found < 58 {
		t.Errorf("%d of %d are found", found, len(tamperings))
	}
	t.Logf("%d of %d are found", found, len(tamperings))
}
