package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// maxDomains bounds a node's list.
const maxDomains = 1000

// maxQuoted bounds what an error repeats of an entry.
const maxQuoted = 80

// Ports that an entry without a port allows.
const (
	portHTTP  = 80
	portHTTPS = 443
)

// ErrDomain is in every error of ParseDomains.
var ErrDomain = errors.New("allowed domain")

// Allowlist is a parsed list of domains. The zero value allows nothing. It is
// immutable and may be shared.
type Allowlist struct {
	exact, below map[string]ports
}

// ports of one host.
type ports []uint16

// ParseDomains reads a node's allowed domains. An entry is a host name
// ("example.com"), a suffix ("*.example.com": every name below it, not itself,
// and none below a public suffix where anybody can register one), or a public IP
// address, each with an optional ":port"; without one the ports
// 80 and 443 are meant. Names may be written in Unicode, in any case and with a
// trailing dot. All faults are reported, joined; each names its entry and wraps
// ErrDomain.
func ParseDomains(entries []string) (Allowlist, error) {
	a := Allowlist{exact: map[string]ports{}, below: map[string]ports{}}
	var errs []error
	if len(entries) > maxDomains {
		return Allowlist{}, fmt.Errorf("%w: there are %d entries, more than %d", ErrDomain, len(entries), maxDomains)
	}
	for i, entry := range entries {
		if err := a.add(entry); err != nil {
			errs = append(errs, fmt.Errorf("%w %d, %s: %w", ErrDomain, i+1, quote(entry), err))
		}
	}
	if len(errs) > 0 {
		return Allowlist{}, errors.Join(errs...)
	}
	return a, nil
}

// judge says whether a canonical endpoint may be reached, by its name alone: its
// addresses are judged later. The cause is empty if it may.
func (a Allowlist) decide(e endpoint) Cause {
	cause := CauseUnlistedHost
	look := func(p ports, ok bool) {
		switch {
		case !ok:
		case slices.Contains(p, e.port):
			cause = ""
		case cause != "":
			cause = CauseUnlistedPort
		}
	}
	p, ok := a.exact[e.host]
	look(p, ok)
	if isAddress(e.host) {
		return cause
	}
	public, _ := publicsuffix.PublicSuffix(e.host)
	for rest := e.host; len(rest) > len(public); {
		_, rest, _ = strings.Cut(rest, ".")
		p, ok := a.below[rest]
		look(p, ok)
	}
	return cause
}

func isAddress(host string) bool { _, err := netip.ParseAddr(host); return err == nil }

func (a Allowlist) add(entry string) error {
	switch {
	case entry == "":
		return errors.New("is empty; write a host name, such as example.com")
	case strings.Contains(entry, "://"):
		return errors.New("has a scheme; write the host alone, such as example.com or example.com:8443")
	case strings.ContainsAny(entry, "/?#"):
		return errors.New("has a path; only a whole host can be allowed")
	case strings.Contains(entry, "@"):
		return errors.New("has a user name; write the host alone")
	case entry == "*":
		return errors.New("would allow every host; name the hosts, or a suffix such as *.example.com")
	case strings.HasPrefix(entry, "."):
		return fmt.Errorf("begins with a dot; write %s for all names below it", quote("*"+entry))
	case strings.Count(entry, ":") > 1 && !strings.HasPrefix(entry, "["):
		return errors.New("has several colons; write an IPv6 address in brackets, such as [2001:4860:4860::8888]")
	}
	if addr, port, ok, err := parseAddressEntry(entry); ok {
		if err != nil {
			return err
		}
		allow(a.exact, addr.String(), port)
		return nil
	}
	host, portText, hasPort := strings.Cut(entry, ":")
	port := uint16(0)
	if hasPort {
		var err error
		if port, err = parsePort(portText); err != nil {
			return fmt.Errorf("port %s is %w", quote(portText), err)
		}
	}
	name, below := strings.CutPrefix(host, "*.")
	if strings.Contains(name, "*") {
		return errors.New(`has a "*" that is not the first label; only a suffix such as *.example.com can be written`)
	}
	name, err := entryName(name)
	if err != nil {
		return err
	}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return errors.New("is this machine itself, which no sandbox may reach; take it out")
	}
	if !below {
		allow(a.exact, name, port)
		return nil
	}
	if suffix, _ := publicsuffix.PublicSuffix(name); suffix == name {
		return fmt.Errorf("would allow every host below %s, where anybody can register one; name a domain, such as %s",
			quote(name), quote("*.example."+name))
	}
	allow(a.below, name, port)
	return nil
}

// allow adds the port, or the usual two.
func allow(m map[string]ports, host string, port uint16) {
	add := ports{port}
	if port == 0 {
		add = ports{portHTTP, portHTTPS}
	}
	m[host] = append(m[host], add...)
}

// parseAddressEntry reads an entry that is an IP address; ok says that it is one.
func parseAddressEntry(entry string) (addr netip.Addr, port uint16, ok bool, err error) {
	e, perr := parseEndpoint(entry, portHTTPS)
	if perr != nil {
		return addr, 0, strings.HasPrefix(entry, "["),
			fmt.Errorf("is not an address with an optional port, such as [2001:4860:4860::8888]:443: %w", perr)
	}
	if addr, err = netip.ParseAddr(e.host); err != nil {
		return addr, 0, false, nil
	}
	if err := checkAddress(addr); err != nil {
		return addr, 0, true, fmt.Errorf("%w; a sandbox reaches public addresses only", err)
	}
	if !strings.HasPrefix(entry, "[") && strings.Contains(entry, ":") || strings.Contains(entry, "]:") {
		port = e.port
	}
	return addr, port, true, nil
}

// names maps Unicode names as a lookup would; it refuses letters that a domain
// can't hold.
var names = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.CheckJoiners(true), idna.StrictDomainName(true),
	idna.Transitional(false))

func entryName(s string) (string, error) {
	mapped, err := names.ToASCII(s)
	if err != nil {
		return "", fmt.Errorf("is %w: letters, digits, hyphens and dots only, such as example.com", errName)
	}
	name, err := canonicalHost(mapped)
	if err != nil {
		return "", fmt.Errorf("is %w: letters, digits, hyphens and dots only, such as example.com", err)
	}
	if isAddress(name) { // full-width digits and the like
		return "", fmt.Errorf("is %w but an address in disguise", errName)
	}
	return name, nil
}

func quote(s string) string {
	if len(s) > maxQuoted {
		s = s[:maxQuoted]
	}
	return strconv.QuoteToASCII(s)
}
