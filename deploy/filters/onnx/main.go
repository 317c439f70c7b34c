// Onnx is a content filter for threegate (docs/extending.md): it classifies each line of a text
// by an ONNX model and withholds those of one label. It is a module of its own, so that the
// gate does not carry what it needs.
//
//	onnx [-label INJECTION] [-threshold 0.5] MODEL SOCKET
//
// MODEL is a folder with one .onnx file, tokenizer.json and config.json, as models for text
// classification are published.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"sync"

	"github.com/knights-analytics/hugot"
	"github.com/knights-analytics/hugot/pipelines"
)

type question struct {
	SHA256 string `json:"sha256"`
	Text   string `json:"text"`
	Base64 []byte `json:"base64"`
}

type finding struct {
	From   int    `json:"from"`
	To     int    `json:"to"`
	Reason string `json:"reason"`
}

type answer struct {
	Version  int       `json:"version"`
	SHA256   string    `json:"sha256"`
	Findings []finding `json:"findings"`
}

func main() {
	log.SetFlags(0)
	label := flag.String("label", "INJECTION", "the label of what is withheld")
	threshold := flag.Float64("threshold", 0.5, "the least score of that label that counts")
	flag.Parse()
	if flag.NArg() != 2 {
		log.Fatal("usage: onnx [-label INJECTION] [-threshold 0.5] MODEL SOCKET")
	}
	c, err := load(flag.Arg(0), *label, float32(*threshold))
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("unix", flag.Arg(1))
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(c.serve(l))
}

// classifier finds lines of one label.
type classifier struct {
	label     string
	threshold float32

	mu    sync.Mutex // one batch at a time: the backend uses all processors for it
	lines *pipelines.TextClassificationPipeline
}

// load reads the model in a folder, for hugot's backend in pure Go.
func load(model, label string, threshold float32) (*classifier, error) {
	session, err := hugot.NewGoSession()
	if err != nil {
		return nil, err
	}
	p, err := hugot.NewPipeline(session, hugot.TextClassificationConfig{ModelPath: model, Name: "lines",
		Options: []hugot.TextClassificationOption{pipelines.WithSoftmax(), pipelines.WithMultiLabel()}})
	if err != nil {
		return nil, fmt.Errorf("load the model of %s: %w", model, err)
	}
	return &classifier{label: label, threshold: threshold, lines: p}, nil
}

func (c *classifier) serve(l net.Listener) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			if err := c.reply(conn, conn); err != nil {
				log.Print(err) // without an answer the gate asks again
			}
		}()
	}
}

// reply answers one question.
func (c *classifier) reply(r io.Reader, w io.Writer) error {
	var q question
	if err := json.NewDecoder(r).Decode(&q); err != nil {
		return fmt.Errorf("read the question: %w", err)
	}
	text := q.Base64
	if q.Text != "" {
		text = []byte(q.Text)
	}
	found, err := c.find(text)
	if err != nil {
		return fmt.Errorf("classify: %w", err)
	}
	return json.NewEncoder(w).Encode(answer{Version: 1, SHA256: q.SHA256, Findings: found})
}

// batch is how many lines are classified at once.
const batch = 32

// find classifies the lines of a text. A line of blanks has no label.
func (c *classifier) find(text []byte) ([]finding, error) {
	found := []finding{}
	var places []finding
	var lines []string
	flush := func() error {
		if len(lines) == 0 {
			return nil
		}
		scores, err := c.scores(lines)
		if err != nil {
			return err
		}
		for i, s := range scores {
			if s >= c.threshold {
				places[i].Reason = fmt.Sprintf("the model says %s, %.2f", c.label, s)
				found = append(found, places[i])
			}
		}
		places, lines = places[:0], lines[:0]
		return nil
	}
	at := 0
	for line := range bytes.Lines(text) {
		if words := bytes.TrimSpace(bytes.ToValidUTF8(line, []byte(" "))); len(words) > 0 {
			places = append(places, finding{From: at, To: at + len(bytes.TrimRight(line, "\r\n"))})
			lines = append(lines, string(words))
		}
		at += len(line)
		if len(lines) == batch {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	return found, flush()
}

// scores are how likely each line has the label.
func (c *classifier) scores(lines []string) ([]float32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out, err := c.lines.RunPipeline(lines)
	if err != nil {
		return nil, err
	}
	scores := make([]float32, len(lines))
	for i, labels := range out.ClassificationOutputs {
		for _, l := range labels {
			if l.Label == c.label {
				scores[i] = l.Score
			}
		}
	}
	return scores, nil
}
