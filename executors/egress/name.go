package egress

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

const (
	maxNameBytes  = 253
	maxLabelBytes = 63
)

var (
	errName = errors.New("not a host name")
	errPort = errors.New("not a port between 1 and 65535")
)

// endpoint is a canonical host (a lower-case name without trailing dot, or an
// address as netip writes it) and a port.
type endpoint struct {
	host string
	port uint16
}

func (e endpoint) String() string { return net.JoinHostPort(e.host, strconv.Itoa(int(e.port))) }

// parseEndpoint reads host, host:port, [v6] or [v6]:port. Without a port it is
// defaultPort; if that is 0, a port must be given.
func parseEndpoint(s string, defaultPort uint16) (endpoint, error) {
	host, port, hasPort := s, "", false
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return endpoint{}, errName
		}
		host = s[1:end]
		if rest := s[end+1:]; rest != "" {
			if port, hasPort = strings.CutPrefix(rest, ":"); !hasPort {
				return endpoint{}, errName
			}
		}
		addr, err := netip.ParseAddr(host)
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return endpoint{}, errName
		}
		host = addr.String()
	} else {
		host, port, hasPort = strings.Cut(s, ":")
		var err error
		if host, err = canonicalHost(host); err != nil {
			return endpoint{}, err
		}
	}
	e := endpoint{host: host, port: defaultPort}
	if hasPort {
		var err error
		if e.port, err = parsePort(port); err != nil {
			return endpoint{}, err
		}
	}
	if e.port == 0 {
		return endpoint{}, errPort
	}
	return e, nil
}

// parsePort reads digits without a sign or leading zeros.
func parsePort(s string) (uint16, error) {
	if s == "" || s[0] == '0' || s[0] == '+' {
		return 0, errPort
	}
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return 0, errPort
	}
	return uint16(n), nil
}

// canonicalHost reads an ASCII host name or a dotted IPv4 address. Other ways to
// write an address (127.1, 0x7f000001, 017700000001) are not host names here:
// their last label is a number.
func canonicalHost(s string) (string, error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		if !addr.Is4() {
			return "", errName
		}
		return addr.String(), nil
	}
	s = strings.TrimSuffix(s, ".")
	if s == "" || len(s) > maxNameBytes {
		return "", errName
	}
	s = asciiLower(s)
	label := ""
	for rest, more := s, true; more; {
		label, rest, more = strings.Cut(rest, ".")
		if !validLabel(label) {
			return "", errName
		}
	}
	if isNumber(label) {
		return "", errName
	}
	return s, nil
}

func validLabel(l string) bool {
	if l == "" || len(l) > maxLabelBytes || l[0] == '-' || l[len(l)-1] == '-' {
		return false
	}
	for i := range len(l) {
		if c := l[i]; c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// isNumber says whether programs could take the last label for part of an address.
func isNumber(l string) bool {
	if hex, ok := strings.CutPrefix(l, "0x"); ok && strings.Trim(hex, "0123456789abcdef") == "" {
		return true
	}
	return strings.Trim(l, "0123456789") == ""
}

// asciiLower folds ASCII letters only: no other letter may become one.
func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
