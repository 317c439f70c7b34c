package egress_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/executors/egress"
)

func TestParseDomains(t *testing.T) {
	for _, entry := range []string{
		"example.com", "EXAMPLE.com.", "*.example.com", "example.com:8443", "*.example.com:8443",
		"xn--bcher-kva.example", "bücher.example", "BÜCHER.example",
		"8.8.8.8", "8.8.8.8:53", "[2001:4860:4860::8888]", "[2001:4860:4860::8888]:443", "a", "1.example",
		"alice.github.io", "*.alice.github.io", "*.amazonaws.com", "a-b.example",
	} {
		if _, err := egress.ParseDomains([]string{entry}); err != nil {
			t.Errorf("%s: %v", entry, err)
		}
	}
	for entry, why := range map[string]string{
		"":                        "is empty",
		"*":                       "every host",
		"*.":                      "not a host name",
		"*.com":                   "every host below",
		"*.co.uk":                 "every host below",
		"*.internal":              "every host below",
		"*.github.io":             "anybody can register",
		"*.workers.dev":           "anybody can register",
		"*.s3.amazonaws.com:443":  "anybody can register",
		"*.*.example":             "first label",
		"a.*.example":             "first label",
		"*a.example":              "first label",
		".example.com":            `write "*.example.com"`,
		"https://example.com":     "scheme",
		"example.com/":            "path",
		"example.com?x":           "path",
		"u@example.com":           "user name",
		"example.com:":            "port",
		"example.com:0":           "port",
		"example.com:65536":       "port",
		"example.com:+80":         "port",
		"example.com:080":         "port",
		"example.com:http":        "port",
		"exa mple.com":            "not a host name",
		"exa_mple.com":            "not a host name",
		"-a.example":              "not a host name",
		"a-.example":              "not a host name",
		"a..example":              "not a host name",
		"example.com..":           "not a host name",
		"exa\x00mple.com":         "not a host name",
		"xn--a.example":           "not a host name",
		"localhost":               "this machine itself",
		"*.localhost":             "this machine itself",
		"127.0.0.1":               "loopback",
		"10.1.2.3:80":             "private",
		"169.254.169.254":         "metadata",
		"[::1]":                   "loopback",
		"[fd00:ec2::254]":         "metadata",
		"[::ffff:8.8.8.8]":        "IPv4-mapped",
		"[fe80::1%eth0]":          "not an address",
		"[8.8.8.8]":               "not an address",
		"2001:4860:4860::8888":    "brackets",
		"127.1":                   "not a host name",
		"0x7f000001":              "not a host name",
		"2130706433":              "not a host name",
		"1.2.3.4.5":               "not a host name",
		"\uff11.2.3.4":            "address in disguise",
		"a.0x1f":                  "not a host name",
		strings.Repeat("a", 64):   "not a host name",
		strings.Repeat("a.", 128): "not a host name",
	} {
		a, err := egress.ParseDomains([]string{"fine.example", entry})
		if !errors.Is(err, egress.ErrDomain) || !strings.Contains(err.Error(), why) ||
			!strings.Contains(err.Error(), strconv.QuoteToASCII(entry[:min(len(entry), 80)])) || !strings.Contains(err.Error(), "2, ") {
			t.Errorf("%q: %v, want one with %q", entry, err, why)
		}
		if !reflect.DeepEqual(a, egress.Allowlist{}) {
			t.Errorf("%q: an error and a list", entry)
		}
	}
	_, err := egress.ParseDomains([]string{"a/", "b.example", "c:"})
	if err == nil || strings.Count(err.Error(), "allowed domain") != 2 {
		t.Errorf("all faults at once: %v", err)
	}
	if _, err := egress.ParseDomains(make([]string, 100_000)); err == nil {
		t.Error("too many entries")
	}
	if _, err := egress.ParseDomains(nil); err != nil {
		t.Errorf("no entries: %v", err)
	}
}

// allows asks a proxy for a host, whose name is not found if it is allowed.
func (s *sandbox) allows(t *testing.T, host string, port uint16) bool {
	t.Helper()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	answer := s.raw(t, fmt.Sprintf("CONNECT %s:%d HTTP/1.1\r\nHost: x\r\n\r\n", host, port))
	return strings.HasPrefix(answer, "HTTP/1.1 502 ")
}

// listing is a proxy for these domains, of which no name is found and no address answers.
func listing(t *testing.T, domains ...string) *sandbox {
	t.Helper()
	n := &internet{}
	s := &sandbox{internet: n, ns: namespace(t)}
	var err error
	s.proxy, err = egress.Open(egress.Config{Domains: domains, LogPath: filepath.Join(t.TempDir(), "log"), Resolver: n,
		Dial: func(context.Context, netip.AddrPort) (net.Conn, error) { return nil, errors.New("nobody answers") }})
	must(t, err)
	t.Cleanup(func() { s.proxy.Close() })
	must(t, s.proxy.ListenIn(s.ns))
	return s
}

func TestAllows(t *testing.T) {
	s := listing(t, "one.example", "*.wild.example", "deep.wild.example:8443", "bücher.example",
		"ports.example:8080", "ports.example:9090", "8.8.8.8", "[2001:4860:4860::8888]:443")
	for _, tt := range []struct {
		host string
		port uint16
		want bool
	}{
		{"one.example", 443, true}, {"one.example", 80, true}, {"ONE.EXAMPLE", 443, true},
		{"one.example.", 443, true}, {"one.example", 8080, false}, {"one.example", 22, false},
		{"a.one.example", 443, false}, {"example", 443, false}, {"xone.example", 443, false},
		{"one.example.evil.example", 443, false}, {"one.examplex", 443, false},
		{"wild.example", 443, false}, {"a.wild.example", 443, true}, {"a.b.wild.example", 443, true},
		{"awild.example", 443, false}, {"a.wild.example.evil", 443, false},
		{"deep.wild.example", 8443, true}, {"deep.wild.example", 443, true}, {"other.wild.example", 8443, false},
		{"xn--bcher-kva.example", 443, true}, {"bücher.example", 443, false}, // on the wire a name is ASCII
		{"ports.example", 8080, true}, {"ports.example", 9090, true}, {"ports.example", 443, false},
		{"ports.example", 80, false},
		{"8.8.8.8", 443, true}, {"8.8.4.4", 443, false}, {"8.8.2056", 443, false}, {"134744072", 443, false},
		{"::ffff:8.8.8.8", 443, false},
		{"2001:4860:4860::8888", 443, true}, {"2001:4860:4860:0::8888", 443, true},
		{"2001:4860:4860::8888", 80, false}, {"2001:4860:4860::8844", 443, false},
		{"", 443, false}, {".", 443, false}, {"one.example", 0, false}, {"one.example\x00", 443, false},
		// letters that fold to ASCII ones elsewhere
		{"one.exa\u1d0dple", 443, false}, {"\u212bone.example", 443, false}, {"one\u3002example", 443, false},
		{"one\uff0eexample", 443, false},
	} {
		if got := s.allows(t, tt.host, tt.port); got != tt.want {
			t.Errorf("%s %d: %v", tt.host, tt.port, got)
		}
	}
}

// A suffix does not reach below a public suffix that lies below it.
func TestSuffixEndsAtPublicSuffixes(t *testing.T) {
	s := listing(t, "*.amazonaws.com", "mine.s3.amazonaws.com", "*.alice.github.io")
	for host, want := range map[string]bool{
		"sts.amazonaws.com": true, "evil.s3.amazonaws.com": false, "mine.s3.amazonaws.com": true,
		"a.alice.github.io": true, "evil.github.io": false,
	} {
		if got := s.allows(t, host, 443); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}

// listed says why an address can't be an allowed domain.
func listed(a string) error {
	if strings.Contains(a, ":") {
		a = "[" + a + "]"
	}
	_, err := egress.ParseDomains([]string{a})
	return err
}

func TestCheckAddress(t *testing.T) {
	for _, a := range []string{"8.8.8.8", "1.1.1.1", "11.0.0.1", "93.184.216.34", "172.15.255.255", "172.32.0.0",
		"100.63.255.255", "100.128.0.0", "192.0.1.0", "198.17.255.255",
		"198.20.0.0", "223.255.255.255", "169.253.255.255", "168.63.129.17", "2001:4860:4860::8888",
		"2606:4700::1111", "2a00::1", "2001:200::1"} {
		if err := listed(a); err != nil {
			t.Errorf("%v", err)
		}
	}
	for a, what := range map[string]string{
		"0.0.0.0": "unspecified", "0.1.2.3": "unspecified", "10.0.0.0": "private", "10.255.255.255": "private",
		"172.16.0.0": "private", "172.31.255.255": "private", "192.168.1.1": "private",
		"127.0.0.1": "loopback", "127.255.255.254": "loopback", "169.254.0.1": "link-local",
		"169.254.169.254": "metadata", "169.254.170.2": "metadata", "168.63.129.16": "metadata",
		"100.64.0.0": "carrier", "100.100.100.200": "carrier", "100.127.255.255": "carrier",
		"192.0.0.192": "metadata", "192.0.0.170": "protocols",
		"192.0.2.1": "documentation", "198.51.100.1": "documentation", "203.0.113.1": "documentation",
		"198.18.0.1": "benchmarking", "198.19.255.255": "benchmarking",
		"192.88.99.1": "6to4", "224.0.0.1": "multicast", "239.255.255.255": "multicast", "240.0.0.1": "reserved",
		"255.255.255.255": "broadcast",
		"::":              "unspecified", "::1": "loopback", "fe80::1": "link-local", "febf::1": "link-local",
		"fec0::1": "site-local", "fc00::1": "unique-local", "fd00:ec2::254": "metadata", "fdff::1": "unique-local",
		"ff02::1": "multicast", "ff0e::1": "multicast", "::ffff:8.8.8.8": "IPv4-mapped",
		"::ffff:127.0.0.1": "IPv4-mapped", "::8.8.8.8": "IPv4-compatible", "::ffff:0:8.8.8.8": "IPv4-translated",
		"64:ff9b::8.8.8.8": "NAT64", "64:ff9b:1::1": "NAT64", "2002:7f00:1::": "6to4", "2001::1": "Teredo",
		"2001:0:1::1": "Teredo", "2001:2::1": "benchmarking",
		"2001:10::1": "protocols", "2001:20::1": "protocols", "2001:1ff::1": "protocols",
		"2001:db8::1": "documentation", "3fff::1": "documentation", "3fff:fff::1": "documentation",
		"100::1":  "discard",
		"5f00::1": "reserved", "4000::1": "reserved", "e000::1": "reserved",
	} {
		err := listed(a)
		if !errors.Is(err, egress.ErrDomain) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v, want one with %q", a, err, what)
		}
	}
}

// The ends of every range that is no public host, written out, and their neighbours
// that are public.
func TestAddressRanges(t *testing.T) {
	for _, r := range []struct{ first, last, before, after string }{
		{"0.0.0.0", "0.255.255.255", "", "1.0.0.0"},
		{"10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"},
		{"100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"},
		{"127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"},
		{"168.63.129.16", "168.63.129.16", "168.63.129.15", "168.63.129.17"},
		{"169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"},
		{"172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"},
		{"192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"},
		{"192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"},
		{"192.31.196.0", "192.31.196.255", "192.31.195.255", "192.31.197.0"},
		{"192.52.193.0", "192.52.193.255", "192.52.192.255", "192.52.194.0"},
		{"192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"},
		{"192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"},
		{"192.175.48.0", "192.175.48.255", "192.175.47.255", "192.175.49.0"},
		{"198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"},
		{"198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"},
		{"203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"},
		{"224.0.0.0", "255.255.255.255", "223.255.255.255", ""},
		{"::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""},
		{"2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2000:ffff::1", "2001:200::"},
		{"2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db7::1", "2001:db9::"},
		{"2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:ffff::1", "2003::"},
		{"2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", "2620:4f:7fff::1", "2620:4f:8001::"},
		{"3ffe::", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3ffd::1", ""},
		{"3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "", "3fff:1000::"},
		{"4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""},
	} {
		for _, a := range []string{r.first, r.last} {
			if err := listed(a); !errors.Is(err, egress.ErrDomain) {
				t.Errorf("%s is taken for a public host", a)
			}
		}
		for _, a := range []string{r.before, r.after} {
			if a == "" {
				continue // another such range
			}
			if err := listed(a); err != nil {
				t.Errorf("a public host is refused: %v", err)
			}
		}
	}
}
