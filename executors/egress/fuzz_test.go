package egress

import (
	"bufio"
	"bytes"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// allows judges a host as a request names it, but without brackets.
func allows(a Allowlist, host string, port uint16) bool {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	e, err := parseEndpoint(host, port)
	return err == nil && a.decide(e) == ""
}

func FuzzAllows(f *testing.F) {
	for _, s := range []string{"one.example", "*.wild.example", "ONE.example.", "a:443", "[::1]:443", "127.1",
		"xn--a", "bücher.example", "8.8.8.8", "a.b.wild.example"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, entry, host string) {
		list, err := ParseDomains([]string{entry, "*.wild.example"})
		if err != nil {
			if !errors.Is(err, ErrDomain) || len(list.exact)+len(list.below) > 0 {
				t.Fatalf("%v %v", err, list)
			}
			return
		}
		if !allows(list, host, 443) {
			return
		}
		// What is allowed is in canonical form one of the entries or below a suffix.
		for i := range len(host) {
			if host[i] <= ' ' || host[i] >= 0x7f || strings.IndexByte("/@\\#?%[]", host[i]) >= 0 {
				t.Fatalf("%q is allowed by %q", host, entry)
			}
		}
		h := strings.ToLower(strings.TrimSuffix(host, "."))
		if addr, err := netip.ParseAddr(h); err == nil {
			if checkAddress(addr) != nil {
				t.Fatalf("the address %q is allowed by %q", host, entry)
			}
			return
		}
		if strings.HasSuffix(h, ".wild.example") {
			return
		}
		name, _, _ := strings.Cut(entry, ":")
		if name, err = entryName(strings.TrimPrefix(name, "*.")); err != nil {
			t.Fatal(err)
		}
		if below := strings.HasPrefix(entry, "*."); below && !strings.HasSuffix(h, "."+name) || !below && h != name {
			t.Fatalf("%q is allowed by %q", host, entry)
		}
	})
}

func FuzzTarget(f *testing.F) {
	for _, request := range []string{
		"GET http://one.example/a/../b?c=%20&d HTTP/1.1\r\nHost: one.example\r\n\r\n",
		"GET HTTP://ONE.Example.:8080/ HTTP/1.1\r\nhOST: \tone.example:8080 \r\n\r\n",
		"GET http://[2A00:0::1]/ HTTP/1.1\r\nHost: [2a00::1]\r\n\r\n",
		"GET http://one.example\\@two.example/ HTTP/1.1\r\nHost: one.example\r\n\r\n",
		"GET http://a:b@one.example/ HTTP/1.1\r\nHost: one.example\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: one.example\r\n\r\n",
		"CONNECT one.example:443 HTTP/1.1\r\nHost: two.example:443\r\n\r\n",
		"CONNECT [2A00:0::1]:443 HTTP/1.0\r\n\r\n",
		"CONNECT one.example:443/x HTTP/1.1\r\nHost: one.example:443\r\n\r\n",
	} {
		f.Add([]byte(request))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(in)))
		if err != nil {
			return
		}
		to, err := target(r)
		if err != nil {
			return
		}
		if again, err := parseEndpoint(to.String(), 0); err != nil || again != to {
			t.Fatalf("%v is not canonical: %v, %v", to, again, err)
		}
	})
}
