package mcpserver

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/documents"
	"github.com/threegate/tool-exec/gate/ledger"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/spool/durable"
)

// States of a request, as CORE can see them.
const (
	stateDrafted     = "drafted"
	stateDeclined    = "declined"
	stateDelivered   = string(ledger.StateDelivered)
	stateRecalled    = string(ledger.StateRecalled)
	stateQuarantined = string(ledger.StateQuarantined)
	stateUnknown     = string(ledger.StateUnknown)
)

// meanings say what each state is.
var meanings = map[string]string{
	stateDrafted: "The draft lies in the folder of drafts. A person may be reading it, or have promoted it: " +
		"look again later.",
	stateDeclined:  "A person read the draft and does not approve it: reason says why. Draft another one.",
	stateDelivered: "The result is there: read_result.",
	stateRecalled: "A person took the result back: it is no answer any longer. Do not use it, nor what was made of " +
		"it; ask that person.",
	stateQuarantined: "No result comes, unless read_notice has the stage held: then a person decides, and another " +
		"answer follows. read_notice says why.",
	stateUnknown: "There is no draft, no result and no notice of that name. It may wait or run, if somebody else " +
		"drafted it; or there is none.",
}

// state is what CORE can see of a request. A result that a person took back is still there, and the notice tells.
func (d *desk) state(s *seen) string {
	switch {
	case s == nil:
		return stateUnknown
	case d.recalled(s):
		return stateRecalled
	case s.result != "":
		return stateDelivered
	case s.notice != "":
		return stateQuarantined
	case s.declined:
		return stateDeclined
	}
	return stateDrafted
}

// recalled says whether a person took the result of a request back.
func (d *desk) recalled(s *seen) bool {
	if s.notice == "" {
		return false
	}
	n, err := d.notice(s.notice)
	return err == nil && n.Stage == schemas.StageRecalled &&
		(s.result == "" || s.result == n.ResultID+spool.ResultSuffix)
}

var (
	resultName = regexp.MustCompile(`^TS-\d{8}-\d{6}Z-(.+)$`)
	noticeName = regexp.MustCompile(`^TN-([A-Za-z0-9][A-Za-z0-9._-]{0,199})\.json$`)
)

// requestOf is the id of the request that a result of that id answers, or "".
func requestOf(resultID string) string {
	m := resultName.FindStringSubmatch(resultID)
	if m == nil || spool.RequestStem(m[1]+".md") == "" {
		return ""
	}
	return m[1]
}

var (
	numbered  = regexp.MustCompile(`-[1-9]\d{0,3}$`)
	requestIs = regexp.MustCompile(`(?m)^request_id: "([A-Za-z0-9._-]+)"$`)
)

// headBytes is more than the front matter of a result has before its request_id.
const headBytes = 4 << 10

// requestIn is the id of the request that a result answers, if id is what its name says: a result that was issued again
// has a number behind that.
func (d *desk) requestIn(id, name string) string {
	if !numbered.MatchString(id) {
		return id
	}
	f, err := durable.OpenRegular(filepath.Join(d.Inbound, name))
	if err != nil {
		return id
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, headBytes))
	is := requestIs.FindSubmatch(head)
	if err != nil || is == nil {
		return id
	}
	if own := string(is[1]); strings.HasPrefix(id, own) && spool.RequestStem(own+".md") != "" {
		return own
	}
	return id
}

// noticeOf is what a notice of that name is about, or "".
func noticeOf(file string) string {
	m := noticeName.FindStringSubmatch(file)
	if m == nil || strings.Contains(m[1], "..") {
		return ""
	}
	return m[1]
}

var errID = errors.New("that is not an id: ids look like TR-20260209-160501Z-python-stats")

type listIn struct {
	State  string `json:"state,omitempty" jsonschema:"only those in this state"`
	Before string `json:"before,omitempty" jsonschema:"only ids that sort before this one: next of the last answer"`
	Limit  int    `json:"limit,omitempty" jsonschema:"at most so many (default and most: 100)"`
}

type listOut struct {
	Requests []listed `json:"requests"`
	Next     string   `json:"next" jsonschema:"if it is not empty there are more: give it as before"`
	Cut      bool     `json:"cut" jsonschema:"a folder holds more names than are looked at"`
}

type listed struct {
	RequestID string `json:"request_id"`
	State     string `json:"state"`
	ResultID  string `json:"result_id"`
}

const maxListed = 100

func (d *desk) listRequests(_ context.Context, _ []byte, in listIn) (*mcp.CallToolResult, listOut, error) {
	out := listOut{Requests: []listed{}}
	if in.Limit < 0 {
		return nil, out, errors.New("limit must be positive")
	}
	if in.Limit == 0 || in.Limit > maxListed {
		in.Limit = maxListed
	}
	all, err := d.survey()
	if err != nil {
		return nil, out, err
	}
	out.Cut = all.cut
	var ids []string
	for id, s := range all.requests {
		if (in.State == "" || d.state(s) == in.State) && (in.Before == "" || id < in.Before) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	if len(ids) > in.Limit {
		ids, out.Next = ids[:in.Limit], ids[in.Limit-1]
	}
	for _, id := range ids {
		s := all.requests[id]
		out.Requests = append(out.Requests, listed{id, d.state(s), strings.TrimSuffix(s.result, ".md")})
	}
	return nil, out, nil
}

type idIn struct {
	RequestID string `json:"request_id" jsonschema:"like TR-20260209-160501Z-python-stats"`
}

type statusOut struct {
	listed
	Meaning string `json:"meaning"`
	Reason  string `json:"reason" jsonschema:"declined: what the person said who read the draft"`
}

// maxRefusal bounds the file in which a person refuses a draft.
const maxRefusal = 64 << 10

func (d *desk) requestStatus(_ context.Context, _ []byte, in idIn) (*mcp.CallToolResult, statusOut, error) {
	s, err := d.look(in.RequestID)
	if err != nil {
		return nil, statusOut{}, err
	}
	out := statusOut{listed: listed{RequestID: in.RequestID, State: d.state(s)}}
	out.Meaning = meanings[out.State]
	if s != nil {
		out.ResultID = strings.TrimSuffix(s.result, ".md")
	}
	if out.State == stateDeclined {
		raw, err := readPlain(d.Drafts, in.RequestID+".md"+declinedSuffix, maxRefusal)
		if err == nil {
			out.Reason, err = documents.RefusalReason(raw)
		}
		if err != nil {
			out.Reason = "(it can't be read: ask)"
		}
	}
	return nil, out, nil
}

// look finds what CORE can see of a request; nil is nothing.
func (d *desk) look(id string) (*seen, error) {
	if spool.RequestStem(id+".md") == "" {
		return nil, errID
	}
	all, err := d.survey()
	if err != nil {
		return nil, err
	}
	return all.requests[id], nil
}

type noticeIn struct {
	Name string `json:"request_id" jsonschema:"the request's id, or what list_requests calls it"`
}

// maxNoticeBytes bounds a notice.
const maxNoticeBytes = 256 << 10

func (d *desk) readNotice(_ context.Context, _ []byte, in noticeIn) (*mcp.CallToolResult, schemas.Notice,
	error) {
	out := schemas.Notice{Rules: []schemas.NoticeRule{}}
	name := "TN-" + in.Name + ".json"
	if noticeOf(name) == "" {
		return nil, out, errID
	}
	if d.Notices == "" {
		return nil, out, errors.New("the node writes no notices (core_notices.enabled)")
	}
	n, err := d.notice(name)
	if err != nil {
		return nil, out, err
	}
	return nil, n, nil
}

// notice reads the notice in a file.
func (d *desk) notice(name string) (n schemas.Notice, err error) {
	raw, err := readPlain(d.Notices, name, maxNoticeBytes)
	if err != nil {
		return n, err
	}
	if err := schemas.DecodeStrict(raw, &n); err != nil || n.Version != schemas.NoticeVersion {
		return n, errors.New("the file is not a notice of a version that this program reads")
	}
	return n, nil
}

var (
	errNone    = errors.New("there is none: request_status says what is known of a request")
	errTooLong = errors.New("it is longer than this server reads")
)

// readPlain reads a file of a folder of CORE's.
func readPlain(dir, name string, limit int64) ([]byte, error) {
	p, err := bundle.OpenPlace(dir)
	if err != nil {
		return nil, unreadable(err)
	}
	defer p.Close()
	raw, err := p.Read(name, limit)
	return bounded(raw, err, limit)
}
