package ledger

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ReadOn is Read of a record that may be damaged: wrong is told what is, and the reading goes on
// behind it. Both events between which the chain breaks are given to each: one of them was changed,
// or what was between them is gone. It returns the last sequence number and hash, and an error if the
// record can't be read at all.
func ReadOn(dir string, each func(Event) error, wrong func(error)) (int64, string, error) {
	segs, err := segments(dir)
	r := replayed{prev: zeroHash}
	for i, seg := range segs {
		if err == nil {
			err = readOn(seg, &r, i == len(segs)-1, each, wrong)
		}
	}
	return r.seq, r.prev, err
}

func readOn(path string, r *replayed, last bool, each func(Event) error, wrong func(error)) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read ledger: %w", err)
	}
	defer f.Close()
	report := func(err error) {
		wrong(damage{fmt.Errorf("ledger %s: event %d: %w", filepath.Base(path), r.seq+1, err)})
	}
	br := bufio.NewReaderSize(f, maxLineBytes)
	for {
		line, err := br.ReadSlice('\n')
		long := err
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = br.ReadSlice('\n')
		}
		switch {
		case errors.Is(err, io.EOF):
			if (len(line) > 0 || long != err) && !last {
				report(errors.New("is only half a line"))
			}
			return nil
		case err != nil:
			return fmt.Errorf("ledger %s: after event %d: %w", filepath.Base(path), r.seq, err)
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		e, err := parse(line)
		if long != nil {
			err = long
		}
		if err != nil {
			report(err)
			r.seq, r.prev = r.seq+1, "" // nobody knows what the next one must follow
			continue
		}
		if r.prev == "" {
			r.prev = e.Prev
		}
		if err := e.follows(r.seq+1, r.prev); err != nil {
			report(err)
		}
		if err := each(e); err != nil {
			return err
		}
		sum := sha256.Sum256(line)
		r.seq, r.prev = e.Seq, hex.EncodeToString(sum[:])
	}
}
