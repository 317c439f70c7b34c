package loopback_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/threegate/tool-exec/gate/loopback"
)

// connections is how many a door has at once.
const connections = 64

// TestConnectionsTakeNoRequestsSeat: who makes connections, as many as they like, ends no request that is answered.
func TestConnectionsTakeNoRequestsSeat(t *testing.T) {
	l, err := loopback.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	begun, answer := make(chan bool), make(chan bool)
	door := loopback.Door{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		begun <- true
		<-answer
		_, _ = io.WriteString(w, "whole")
	})}
	served := make(chan error, 1)
	go func() { served <- door.Serve(t.Context(), l) }()
	asked := make(chan error, 1)
	go func() {
		r, err := http.Get("http://" + l.Addr().String())
		if err == nil {
			var body []byte
			body, err = io.ReadAll(r.Body)
			if err == nil && string(body) != "whole" {
				err = errors.New(string(body))
			}
		}
		asked <- err
	}()
	<-begun
	var all []net.Conn
	for range 3 * connections {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		all = append(all, c)
	}
	for _, c := range all[:connections] { // until the door has taken all of them in
		_, _ = c.Read(make([]byte, 1))
	}
	close(answer)
	if err := <-asked; err != nil {
		t.Error(err)
	}
}

// TestRequestsKeepNobodyOut: a client that comes while every seat is taken by a request that does not end gets an answer.
func TestRequestsKeepNobodyOut(t *testing.T) {
	l, err := loopback.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan bool)
	door := loopback.Door{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hold" {
			begun <- true
			<-r.Context().Done()
		}
	})}
	served := make(chan error, 1)
	go func() { served <- door.Serve(t.Context(), l) }()
	for range connections {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "GET /hold HTTP/1.1\r\nHost: "+l.Addr().String()+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		<-begun
	}
	r, err := http.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
}
