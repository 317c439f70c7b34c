// Package hooks tells programs of the operator's how requests ended: a command, or a web server. What drives it is the
// ledger, read like any other reader does, with a durable position for each hook. So each final answer is told at
// least once, whatever crashes, and no hook can delay the gate. docs/extending.md describes it.
//
// What is told holds ids, digests and constants, as the ledger does. The answers of hooks are hostile.
package hooks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

const (
	version = 1
	// pollEvery is how often the record is looked at.
	pollEvery = time.Second
	// firstWait and mostWait are between tries of one answer, giveUp is how long it is tried.
	firstWait = time.Second
	mostWait  = 5 * time.Minute
	giveUp    = 24 * time.Hour
	// stepBack is how many events are told again if the record lost some in a crash that were told: more than
	// are written at once.
	stepBack    = 1000
	maxPosition = 4 << 10
)

// Message is what a hook is told: its standard input, or the body of a POST.
type Message struct {
	Version int `json:"hook_version"`
	// ID is the same whenever one answer is told again.
	ID            string        `json:"id"`
	Node          string        `json:"node"`
	Seq           int64         `json:"seq"` // of the event
	Time          time.Time     `json:"time"`
	Answer        config.Answer `json:"answer"`
	RequestID     string        `json:"request_id,omitempty"`
	RequestSHA256 string        `json:"request_sha256,omitempty"`
	Job           string        `json:"job,omitempty"`
	ResultID      string        `json:"result_id,omitempty"`
	ResultSHA256  string        `json:"result_sha256,omitempty"`
	Seal          string        `json:"seal,omitempty"`
	Rules         []string      `json:"rules,omitempty"`
}

// answerOf is the final answer that an event is, or "".
func answerOf(e ledger.Event) config.Answer {
	switch ledger.Announces(e) {
	case spool.StateRequestRefused:
		if ledger.Cancels(e) {
			return config.AnswerCancelled
		}
		return config.AnswerRefused
	case spool.StateDelivered:
		return config.AnswerDelivered
	case spool.StateResultRefused:
		return config.AnswerWithheld
	}
	switch {
	case ledger.Rejects(e):
		return config.AnswerRejected
	case ledger.Reissues(e):
		return config.AnswerDelivered
	case ledger.Recalls(e):
		return config.AnswerRecalled
	}
	return ""
}

// Start begins to tell the hooks of a node, those that wait first. stop ends that; an answer that was not told whole
// is told again after the next Start.
func Start(ctx context.Context, cfg *config.Node, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // also while the node drains
	var all sync.WaitGroup
	for _, h := range cfg.Hooks {
		t := &teller{hook: h, dir: cfg.Dir, node: cfg.Node.Name, log: log.With("hook", h.Name), poll: pollEvery,
			first: firstWait, most: mostWait, giveUp: giveUp}
		all.Go(func() { t.run(ctx) })
	}
	return func() { cancel(); all.Wait() }
}

// teller tells one hook.
type teller struct {
	hook                      config.Hook
	dir, node                 string
	log                       *slog.Logger
	poll, first, most, giveUp time.Duration
}

func (t *teller) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := t.follow(ctx)
		if ctx.Err() == nil {
			t.log.Error("the hook is held up, will be tried again", "error", err)
			sleep(ctx, t.poll)
		}
	}
}

// position is the last answer that was told.
type position struct {
	Version int   `json:"position_version"`
	Seq     int64 `json:"seq"`
	// Digest is that of the event: after a crash another one may have its number.
	Digest string `json:"digest"`
}

func (t *teller) file() string { return "hook." + t.hook.Name + ".json" }

func (t *teller) ledger() string { return filepath.Join(t.dir, spool.DirLedger) }

// follow tells one answer after the other until ctx ends.
func (t *teller) follow(ctx context.Context) error {
	if err := t.hook.Ready(); err != nil {
		return err
	}
	from, err := t.begin()
	if err != nil {
		return err
	}
	record := ledger.Follow(t.ledger())
	for {
		err := record.Read(func(e ledger.Event) error {
			if e.Seq <= from {
				return nil
			}
			return t.tell(ctx, e)
		})
		if err != nil {
			return err
		}
		sleep(ctx, t.poll)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// begin is the number of the last event that needs not be told. A hook that is new begins at the end of the record.
func (t *teller) begin() (int64, error) {
	var p position
	data, err := durable.ReadRegular(filepath.Join(t.dir, t.file()), maxPosition)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = ledgerEnd(t.ledger(), &p)
		if err == nil {
			err = t.save(p)
		}
		return p.Seq, err
	case err != nil:
		return 0, err
	}
	if err := schemas.DecodeStrict(data, &p); err != nil || p.Version != version {
		return 0, fmt.Errorf("%s can't be read; remove it, and the hook is told of what comes from then on", t.file())
	}
	known := p.Seq == 0
	last, _, err := ledger.Read(t.ledger(), func(e ledger.Event) error {
		known = known || e.Seq == p.Seq && digest(e) == p.Digest
		return nil
	})
	if err == nil && !known {
		t.log.Warn("the record lost events that the hook was told of; some are told again")
		p.Seq = max(0, min(p.Seq, last)-stepBack)
	}
	return p.Seq, err
}

func ledgerEnd(dir string, p *position) error {
	_, _, err := ledger.Read(dir, func(e ledger.Event) error {
		p.Seq, p.Digest = e.Seq, digest(e)
		return nil
	})
	return err
}

func digest(e ledger.Event) string {
	data, _ := json.Marshal(e) // it was read from JSON
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (t *teller) save(p position) error {
	p.Version = version
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return durable.ReplaceFile(t.dir, t.file(), append(data, '\n'), 0o600)
}

// tell tells the hook of an event, if it is an answer that it wants: until it took it, or for a day. Then the position
// is moved on.
func (t *teller) tell(ctx context.Context, e ledger.Event) error {
	answer := answerOf(e)
	if answer == "" || len(t.hook.Answers) > 0 && !slices.Contains(t.hook.Answers, answer) {
		return nil
	}
	m := Message{Version: version, ID: fmt.Sprintf("%s-%d", t.node, e.Seq), Node: t.node, Seq: e.Seq, Time: e.Time,
		Answer: answer, RequestID: e.RequestID, RequestSHA256: e.RequestSHA256, Job: e.RunID, ResultID: e.ResultID,
		ResultSHA256: e.ResultSHA256, Seal: e.Seal, Rules: e.Rules}
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	began, wait := time.Now(), t.first
	for {
		err := t.once(ctx, m.ID, append(body, '\n'))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			break
		}
		if time.Since(began) >= t.giveUp {
			t.log.Error("the hook took an answer at no try, and is not told of it any more", "id", m.ID, "error", err)
			break
		}
		t.log.Warn("the hook did not take an answer", "id", m.ID, "error", err, "again_in", wait)
		sleep(ctx, wait)
		wait = min(2*wait, t.most)
	}
	return t.save(position{Seq: e.Seq, Digest: digest(e)})
}

// once tells the hook one time.
func (t *teller) once(ctx context.Context, id string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, t.hook.Within())
	defer cancel()
	if len(t.hook.Command) > 0 {
		return runCommand(ctx, t.hook.Command, body)
	}
	return post(ctx, t.hook, id, body, time.Now())
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
