package node

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/journal"
)

// journalFields are the attributes of log lines that are fields of their own in systemd's journal,
// so that journalctl finds all lines of a request: THREEGATE_REQUEST=TR-... for "request".
var journalFields = []string{"request", "job", "result", "inbox"}

// journald is a handler of log lines that writes to systemd's journal. A line's text is that of slog's text
// handler, without what the journal itself keeps: time and level.
type journald struct {
	level  slog.Level
	text   func(io.Writer) slog.Handler
	fields []slog.Attr
	send   func(text string, p journal.Priority, fields map[string]string) error
	// instead takes the lines that the journal does not.
	instead slog.Handler
}

func newJournald(level slog.Level, instead slog.Handler) *journald {
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
			return slog.Attr{}
		}
		return a
	}}
	return &journald{level: level, text: func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, o) },
		send: journal.Send, instead: instead}
}

func (h *journald) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

func (h *journald) Handle(ctx context.Context, r slog.Record) error {
	fields := map[string]string{}
	note := func(a slog.Attr) bool {
		if v := a.Value.String(); slices.Contains(journalFields, a.Key) && v != "" {
			fields["THREEGATE_"+strings.ToUpper(a.Key)] = v
		}
		return true
	}
	for _, a := range h.fields {
		note(a)
	}
	r.Attrs(note)
	var text bytes.Buffer
	err := h.text(&text).Handle(ctx, r)
	if err == nil {
		err = h.send(strings.TrimSuffix(text.String(), "\n"), priority(r.Level), fields)
	}
	if err != nil {
		return h.instead.Handle(ctx, r)
	}
	return nil
}

func (h *journald) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.text = func(w io.Writer) slog.Handler { return h.text(w).WithAttrs(attrs) }
	with.fields = slices.Concat(h.fields, attrs)
	with.instead = h.instead.WithAttrs(attrs)
	return &with
}

func (h *journald) WithGroup(name string) slog.Handler {
	with := *h
	with.text = func(w io.Writer) slog.Handler { return h.text(w).WithGroup(name) }
	with.instead = h.instead.WithGroup(name)
	return &with
}

func priority(l slog.Level) journal.Priority {
	switch {
	case l >= slog.LevelError:
		return journal.PriErr
	case l >= slog.LevelWarn:
		return journal.PriWarning
	case l >= slog.LevelInfo:
		return journal.PriInfo
	}
	return journal.PriDebug
}
