//go:build proof

package proof

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/threegate/tool-exec/gate/audit"
	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/openwop"
	"github.com/threegate/tool-exec/spool"
)

const origin = "logs.example.org/threegate/lab"

// key is one for each number.
func key(t *testing.T, n byte) (ed25519.PrivateKey, openwop.Signer) {
	t.Helper()
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
	public, err := ssh.NewPublicKey(private.Public())
	must(t, err)
	return private, openwop.Signer{Fingerprint: ssh.FingerprintSHA256(public), Public: private.Public().(ed25519.PublicKey),
		Sign: func(m []byte) ([]byte, error) { return ed25519.Sign(private, m), nil }}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// log is a node with a record.
type log struct {
	dir, checkpoints string
	cfg              *config.Node
}

func newLog(t *testing.T, events int) log {
	t.Helper()
	l := log{dir: filepath.Join(t.TempDir(), "node")}
	l.checkpoints = filepath.Join(l.dir, audit.DirCheckpoints)
	must(t, spool.Init(l.dir))
	must(t, os.Mkdir(l.checkpoints, 0o750))
	text := "version: 1\nnode: {origin: " + origin + "}\ninboxes: [{name: a, path: inbox/default}]\n"
	must(t, os.WriteFile(filepath.Join(l.dir, config.FileName), []byte(text), 0o640))
	var err error
	l.cfg, err = config.Load(l.dir)
	must(t, err)
	l.add(t, ledger.NodeStarted, events)
	return l
}

func (l log) add(t *testing.T, typ ledger.Type, n int) {
	t.Helper()
	r, err := ledger.Open(filepath.Join(l.dir, spool.DirLedger), ledger.Options{}, func(ledger.Event) {})
	must(t, err)
	must(t, r.Append(slices.Repeat([]ledger.Event{{Type: typ}}, n)...))
	must(t, r.Close())
}

// sign signs the record, and gives the last checkpoint.
func (l log) sign(t *testing.T) []byte {
	t.Helper()
	_, s := key(t, 1)
	n, _, err := audit.Sign(t.Context(), l.cfg, l.checkpoints, s)
	must(t, err)
	note, err := os.ReadFile(filepath.Join(l.checkpoints, fmt.Sprintf("cp-%012d.note", n)))
	must(t, err)
	return note
}

func vkey(t *testing.T) string {
	t.Helper()
	_, s := key(t, 1)
	k, err := audit.VerifierKey(origin, openwop.TrustedKey{Public: s.Public})
	must(t, err)
	return k
}

// program is one of those that others wrote.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../build/proof", name))
	must(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: make proof builds it", err)
	}
	return path
}

// tessera is what Tessera's fsck says of an exported log: it ends with 0 whatever it finds. With fewer workers than
// tiles it waits for ever once one of them found something.
func tessera(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "vkey")
	must(t, os.WriteFile(file, []byte(vkey(t)), 0o600))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, program(t, "tessera-fsck"), "--N=1000", "--storage_url", "file://"+dir+"/", "--public_key", file, "--ui=false",
		"--v=1", "--logtostderr")
	out, err := cmd.CombinedOutput()
	must(t, err)
	return string(out)
}

// TestTessera: Tessera's fsck accepts an exported log, also one that grew, and refuses one changed byte.
func TestTessera(t *testing.T) {
	for _, n := range []int{1, 255, 256, 257, 66_000} {
		l := newLog(t, n)
		l.sign(t)
		dir := t.TempDir()
		export := func() {
			t.Helper()
			_, err := audit.Export(t.Context(), l.cfg, l.checkpoints, dir)
			must(t, err)
			if said := tessera(t, dir); !strings.Contains(said, "Successfully fsck'd log") {
				t.Errorf("%d events: %s", n, said)
			}
		}
		export()
		l.add(t, ledger.NodeStopped, 300)
		l.sign(t)
		export()
		var tiles []string
		must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				tiles = append(tiles, path)
			}
			return err
		}))
		for _, tile := range []string{filepath.Join(dir, "checkpoint"), tiles[len(tiles)-1], filepath.Join(dir, "tile/entries/000")} {
			raw, err := os.ReadFile(tile)
			if os.IsNotExist(err) {
				continue
			}
			must(t, err)
			changed := bytes.Clone(raw)
			changed[len(changed)-9] ^= 1
			must(t, os.WriteFile(tile, changed, 0o600))
			if said := tessera(t, dir); !strings.Contains(said, "fsck failed") {
				t.Errorf("%d events: a changed byte of %s: %s", n, tile, said)
			}
			must(t, os.WriteFile(tile, raw, 0o600))
		}
	}
}

// witness is a litewitness that knows the log, at an address, and its key.
func witness(t *testing.T) (address, itsKey string) {
	t.Helper()
	dir := t.TempDir()
	private, s := key(t, 2)
	keys := agent.NewKeyring()
	must(t, keys.Add(agent.AddedKey{PrivateKey: &private}))
	socket, err := net.Listen("unix", filepath.Join(dir, "agent"))
	must(t, err)
	t.Cleanup(func() { _ = socket.Close() })
	go func() {
		for {
			c, err := socket.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(keys, c) }()
		}
	}()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address = free.Addr().String()
	must(t, free.Close())
	var said bytes.Buffer
	db := filepath.Join(dir, "db")
	cmd := exec.Command(program(t, "litewitness"), "-name", "witness.example.org/w", "-db", db, "-ssh-agent", filepath.Join(dir, "agent"),
		"-listen", address, "-key", s.Fingerprint)
	cmd.Stderr = &said
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			break
		} else if time.Since(begun) > time.Minute {
			t.Fatal(err)
		}
	}
	const empty = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
	out, err := exec.Command("sqlite3", db, fmt.Sprintf("INSERT INTO log VALUES ('%s', 0, '%s'); INSERT INTO key VALUES ('%s', '%s')",
		origin, empty, origin, vkey(t))).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, itsKey, _ = strings.Cut(said.String(), "vkey=")
	itsKey, _, _ = strings.Cut(itsKey, "\n")
	return address, strings.Trim(itsKey, `"`)
}

// asked is what the witness answers to the request of the log.
func (l log) asked(t *testing.T, address string, old int64) (int, []byte) {
	t.Helper()
	body, err := audit.WitnessRequest(t.Context(), l.cfg, l.checkpoints, old)
	must(t, err)
	res, err := http.Post("http://"+address+"/add-checkpoint", "", bytes.NewReader(body))
	must(t, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	must(t, err)
	return res.StatusCode, answer
}

// TestWitness: litewitness signs a record that goes on, and refuses one that was put back or written anew, also with the
// right key. What it signed is an anchor.
func TestWitness(t *testing.T) {
	l := newLog(t, 300)
	l.sign(t)
	address, itsKey := witness(t)
	if code, answer := l.asked(t, address, 0); code != http.StatusOK {
		t.Fatalf("%d %s", code, answer)
	}
	l.add(t, ledger.NodeStopped, 20)
	note := l.sign(t)
	code, answer := l.asked(t, address, 300)
	if code != http.StatusOK {
		t.Fatalf("%d %s", code, answer)
	}
	if code, answer := l.asked(t, address, 0); code != http.StatusConflict || strings.TrimSpace(string(answer)) != "320" {
		t.Errorf("a witness that has seen 320: %d %s", code, answer)
	}

	_, s := key(t, 1)
	keys, err := audit.ParseKeys([]byte(itsKey))
	must(t, err)
	keys.Signers = []openwop.TrustedKey{{Fingerprint: s.Fingerprint, Public: s.Public}}
	anchored := func(l log, anchor []byte) *audit.Report {
		t.Helper()
		a, err := audit.ParseAnchor(anchor)
		must(t, err)
		r, err := audit.Run(t.Context(), l.cfg, audit.Options{Keys: &keys, Checkpoints: l.checkpoints, Anchor: a})
		must(t, err)
		return r
	}
	anchor := append(bytes.Clone(note), answer...)
	if r := anchored(l, anchor); !r.Whole() || !slices.Equal(r.Witnesses, []string{"witness.example.org/w"}) {
		t.Errorf("%+v", r)
	}
	forged := bytes.Clone(anchor)
	forged[len(forged)-20] ^= 1
	if r := anchored(l, forged); r.Whole() {
		t.Error("a cosignature with a changed byte counts")
	}

	// A node that was put back and goes on, and a history written anew: both signed with the right key.
	for name, other := range map[string]log{"put back": newLog(t, 300), "written anew": newLog(t, 299)} {
		other.add(t, ledger.NodeReloaded, 40)
		other.sign(t)
		for _, old := range []int64{320, 300, 0} {
			code, answer := other.asked(t, address, old)
			if code == http.StatusOK {
				t.Errorf("%s, old %d: the witness signs it: %s", name, old, answer)
			}
		}
		if r := anchored(other, anchor); r.Whole() || r.Anchored {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
