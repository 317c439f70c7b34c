package audit

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/gate/openwop"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

// ErrUnsigned says that a record has no checkpoint.
var ErrUnsigned = errors.New("the record has no checkpoint")

// VerifierKey is the public key of a signer as tools of logs have it: origin+hash+key.
func VerifierKey(origin string, k openwop.TrustedKey) (string, error) {
	vkey, err := note.NewEd25519VerifierKey(origin, k.Public)
	if err == nil {
		_, err = note.NewVerifier(vkey)
	}
	return vkey, err
}

// newest is the last checkpoint in dir.
func newest(dir string) (Checkpoint, error) {
	var damaged error
	f, err := readFolder(dir, func(file string, wrong error) {
		damaged = errors.Join(damaged, fmt.Errorf("%s is no checkpoint: %w", file, wrong))
	})
	if err = errors.Join(err, damaged); err == nil && len(f.notes) == 0 {
		err = fmt.Errorf("%w in %s", ErrUnsigned, dir)
	}
	if err != nil {
		return Checkpoint{}, err
	}
	return f.notes[len(f.notes)-1].Checkpoint, nil
}

// signedTree reads the record of a node up to a checkpoint, and gives each line to each. A record that is not what the
// checkpoint signs gives an error that matches openwop.ErrBroken.
func signedTree(ctx context.Context, cfg *config.Node, c Checkpoint, each func(n int64, line []byte) error) (*tree,
	error) {
	t := &tree{}
	end := errors.New("enough")
	err := ledger.Lines(filepath.Join(cfg.Dir, spool.DirLedger), func(line []byte) error {
		if t.size == c.N {
			return end
		}
		return errors.Join(t.add(line), each(t.size-1, line), ctx.Err())
	})
	if err != nil && !errors.Is(err, end) {
		return nil, err
	}
	return t, t.still(noted{c, "the checkpoint"})
}

// tileHeight and tileWidth are those of c2sp.org/tlog-tiles.
const (
	tileHeight = 8
	tileWidth  = 1 << tileHeight
)

// Export writes the record of a node, up to its last checkpoint in checkpoints, as a log of files into the folder to
// (c2sp.org/tlog-tiles): checkpoint, tile/LEVEL/N and tile/entries/N. What lies there of an earlier export is kept. It
// returns how many events the log has.
func Export(ctx context.Context, cfg *config.Node, checkpoints, to string) (int64, error) {
	c, err := newest(checkpoints)
	if err != nil {
		return 0, err
	}
	var bundle bytes.Buffer
	t, err := signedTree(ctx, cfg, c, func(n int64, line []byte) error {
		_ = binary.Write(&bundle, binary.BigEndian, uint16(len(line))) // a buffer
		bundle.Write(line)
		if width := n%tileWidth + 1; width == tileWidth || n == c.N-1 {
			tile := tlog.Tile{H: tileHeight, L: 0, N: n / tileWidth, W: int(width)}
			err := writeTile(to, strings.Replace(tilePath(tile), "tile/0/", "tile/entries/", 1), bundle.Bytes())
			bundle.Reset()
			return err
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for _, tile := range tlog.NewTiles(tileHeight, 0, c.N) {
		data, err := tlog.ReadTileData(tile, t)
		if err == nil {
			err = writeTile(to, tilePath(tile), data)
		}
		if err != nil {
			return 0, err
		}
	}
	return c.N, durable.ReplaceFile(to, "checkpoint", c.Note, 0o644)
}

// tilePath is the path of a tile: those of this library name the height, too.
func tilePath(t tlog.Tile) string {
	return strings.Replace(t.Path(), fmt.Sprintf("tile/%d/", tileHeight), "tile/", 1)
}

// writeTile writes a file of a log, which never changes once it is there.
func writeTile(to, name string, data []byte) error {
	dir := filepath.Join(to, filepath.FromSlash(path.Dir(name)))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	err := durable.WriteFile(dir, path.Base(name), data, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// WitnessRequest asks a witness that has seen the first old events to sign the last checkpoint: the body of a request
// add-checkpoint of c2sp.org/tlog-witness.
func WitnessRequest(ctx context.Context, cfg *config.Node, checkpoints string, old int64) ([]byte, error) {
	c, err := newest(checkpoints)
	if err != nil {
		return nil, err
	}
	if old < 0 || old > c.N {
		return nil, fmt.Errorf("the last checkpoint signs %d events, not %d", c.N, old)
	}
	t, err := signedTree(ctx, cfg, c, func(int64, []byte) error { return nil })
	if err != nil {
		return nil, err
	}
	body := fmt.Appendf(nil, "old %d\n", old)
	if old > 0 && old < c.N {
		proof, err := tlog.ProveTree(c.N, old, t)
		if err != nil {
			return nil, err
		}
		for _, h := range proof {
			body = fmt.Appendf(body, "%s\n", base64.StdEncoding.EncodeToString(h[:]))
		}
	}
	return append(append(body, '\n'), c.Note...), nil
}
