// Words is a content filter for threegate: it withholds each line that holds one of the
// words of a list. It is an example of the protocol (docs/extending.md), and of use where
// names of the house must not leave.
//
//	words LIST          answers the question on its standard input
//	words LIST SOCKET   answers all questions on a Unix socket
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strings"
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
	if len(os.Args) != 2 && len(os.Args) != 3 {
		log.Fatal("usage: words LIST [SOCKET]")
	}
	list, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	words := bytes.Fields(bytes.ToLower(list))
	if len(os.Args) == 2 {
		if err := reply(os.Stdin, os.Stdout, words); err != nil {
			log.Fatal(err)
		}
		return
	}
	l, err := net.Listen("unix", os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go func() {
			defer c.Close()
			if err := reply(c, c, words); err != nil {
				log.Print(err)
			}
		}()
	}
}

// reply answers one question.
func reply(r io.Reader, w io.Writer, words [][]byte) error {
	var q question
	if err := json.NewDecoder(r).Decode(&q); err != nil {
		return fmt.Errorf("read the question: %w", err)
	}
	text := q.Base64
	if q.Text != "" {
		text = []byte(q.Text)
	}
	a := answer{Version: 1, SHA256: q.SHA256, Findings: []finding{}}
	at := 0
	for line := range bytes.Lines(text) {
		for _, word := range words {
			if bytes.Contains(bytes.ToLower(line), word) {
				to := at + len(bytes.TrimRight(line, "\r\n"))
				reason := "a word of the list: " + strings.ToValidUTF8(string(word), "?")
				a.Findings = append(a.Findings, finding{at, to, reason})
				break
			}
		}
		at += len(line)
	}
	return json.NewEncoder(w).Encode(a)
}
