// Package fetch has the tool curl: it asks an allowed host for a document, over HTTP or HTTPS. git_pull asks so, too.
//
// It runs in the sandbox only, behind the gate's proxy, which judges every host again. Without a
// proxy it connects to no private address, whatever a name resolves to.
package fetch

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

const (
	rule         = "sec.network.allowlist"
	defaultTime  = 15 * time.Second
	maxBody      = 5 << 20
	maxRedirects = 3
	maxHeader    = 64 << 10
	agent        = "tool-runtime-sdk/1.0"
)

type curlArgs struct {
	Method  string            `json:"method,omitempty" jsonschema:"GET or HEAD: the registry has no key that allows more"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    *string           `json:"body,omitempty" jsonschema:"null: neither GET nor HEAD has one"`
	contract.Timed
	MaxBytes int64 `json:"max_bytes,omitempty" jsonschema:"of the body; what is longer is cut off while it is read"`
}

type curlResult struct {
	Status int `json:"status"`
	// Headers have lower-case names; a header that came several times is joined by commas.
	Headers map[string]string `json:"headers"`
	BodyB64 string            `json:"body_b64"`
	// Truncated says that the body is longer than max_bytes.
	Truncated bool `json:"truncated"`
	// URL is where the last redirect led.
	URL string `json:"url"`
}

// Tool is curl under a registry.
func Tool(r *registry.Registry) contract.Tool {
	defaults := curlArgs{Method: "GET", Timed: contract.Timed{TimeoutMS: defaultTime.Milliseconds()}, MaxBytes: maxBody}
	return contract.Policed(contract.NewTool("curl", "gets a document from an allowed host", defaultTime, defaults,
		func(ctx context.Context, a curlArgs) (curlResult, error) { return get(ctx, r, a) },
		contract.Length("url", 1, 8192), contract.Between("max_bytes", 1, maxBody),
		contract.Between("timeout_ms", 1, 10*60*1000)).Reads(), func(a curlArgs) error {
		u, err := url.Parse(a.URL)
		if err != nil {
			return nil // Check says so
		}
		return Allowed(r, u)
	})
}

// Check says what is wrong with a request before it is sent.
func (a curlArgs) Check() error {
	_, err := a.request(context.Background())
	return err
}

// ownHeaders are headers that describe the connection, not the request.
var ownHeaders = regexp.MustCompile(`(?i)^(host|connection|content-length|transfer-encoding|upgrade|te|trailer|` +
	`keep-alive|proxy-.*|expect)$`)

// request is what a call sends.
func (a curlArgs) request(ctx context.Context) (*http.Request, error) {
	if a.Method != http.MethodGet && a.Method != http.MethodHead || a.Body != nil {
		return nil, contract.Refuse(rule, "curl sends GET and HEAD without a body only").
			WithHint("leave body out; method is GET or HEAD")
	}
	req, err := http.NewRequestWithContext(ctx, a.Method, a.URL, nil)
	if err != nil {
		return nil, contract.Errorf(contract.Validation, "the url can't be parsed").WithHint("write https://HOST/PATH")
	}
	req.Header.Set("User-Agent", agent)
	for name, v := range a.Headers {
		if ownHeaders.MatchString(name) {
			return nil, contract.Errorf(contract.Validation, "the header %q can't be set", name).
				WithHint("leave it out: it describes the connection")
		}
		req.Header.Set(name, v)
	}
	return req, nil
}

func get(ctx context.Context, r *registry.Registry, a curlArgs) (curlResult, error) {
	req, err := a.request(ctx)
	if err != nil {
		return curlResult{}, err
	}
	resp, err := Do(r, req)
	if err != nil {
		return curlResult{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, a.MaxBytes+1))
	if err != nil {
		return curlResult{}, Failure(ctx, err)
	}
	out := curlResult{Status: resp.StatusCode, Headers: map[string]string{}, URL: resp.Request.URL.Redacted()}
	if out.Truncated = int64(len(body)) > a.MaxBytes; out.Truncated {
		body = body[:a.MaxBytes]
	}
	for name, values := range resp.Header {
		out.Headers[strings.ToLower(name)] = strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")
	}
	out.BodyB64 = base64.StdEncoding.EncodeToString(body)
	return out, nil
}

// Do sends a request. It is held to the registry, and so is each that a redirect leads to: three at most, and none of a
// request with a body or from https to http. The caller closes the answer's body, and bounds what it reads.
func Do(r *registry.Registry, req *http.Request) (*http.Response, error) {
	if err := Allowed(r, req.URL); err != nil {
		return nil, err
	}
	resp, err := client(r).Do(req)
	if err != nil {
		return nil, Failure(req.Context(), err)
	}
	return resp, nil
}

// Failure is the error of a call for one of sending a request or reading its answer.
func Failure(ctx context.Context, err error) error {
	var known *contract.Error
	if errors.As(err, &known) {
		return known
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return contract.Errorf(contract.HTTP, "%v", err)
}

// Allowed holds a URL, and each that a redirect leads to, to the registry.
func Allowed(r *registry.Registry, u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return contract.Refuse(rule, "the scheme %q is not http or https", u.Scheme).
			WithHint("write the whole address, such as https://example.org/x")
	case u.User != nil:
		return contract.Refuse(rule, "the url names a user").
			WithHint("leave user and password out: nobody can log in")
	case !r.AllowsHost(u.Hostname()):
		return contract.Refuse(rule, "the host %q is not in network.allowed_domains", u.Hostname()).
			WithHint(allowed(r))
	}
	return nil
}

// allowed says which hosts are.
func allowed(r *registry.Registry) string {
	if len(r.Network.AllowedDomains) == 0 {
		return "the registry allows no host: its key is network.allowed_domains"
	}
	return contract.Shorten("these hosts are allowed: "+strings.Join(r.Network.AllowedDomains, ", "), 1000)
}

func client(r *registry.Registry) *http.Client {
	proxy := httpproxy.FromEnvironment().ProxyFunc()
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  func(req *http.Request) (*url.URL, error) { return proxy(req.URL) },
			DialContext:            dialer(r),
			DisableCompression:     true,
			DisableKeepAlives:      true,
			ForceAttemptHTTP2:      false,
			MaxResponseHeaderBytes: maxHeader,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			from := via[len(via)-1]
			switch {
			case len(via) > maxRedirects:
				return contract.Refuse(rule, "more than %d redirects", maxRedirects)
			case via[0].Body != nil:
				return contract.Refuse(rule, "a redirect of what was sent, to %q", req.URL.Hostname())
			case from.URL.Scheme == "https" && req.URL.Scheme == "http":
				return contract.Refuse(rule, "a redirect from https to http, at %q", from.URL.Hostname())
			}
			return Allowed(r, req.URL)
		},
	}
}

// special are ranges that lead to services of a network's own, or to IPv4 addresses that are hidden in others.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), // of providers, with their metadata
	netip.MustParsePrefix("168.63.129.16/32"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("::/96"),
	netip.MustParsePrefix("::ffff:0:0:0/96"), netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("fec0::/10"),
}

// public says whether an address is that of a host that anybody can reach.
func public(ip netip.Addr) bool {
	ip = ip.Unmap()
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && ip.Zone() == "" &&
		!slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// dialer refuses addresses that are not public, after the name was resolved. The proxy's own
// address, and one that the registry lists as an address, are allowed.
func dialer(r *registry.Registry) func(ctx context.Context, network, addr string) (net.Conn, error) {
	proxies := httpproxy.FromEnvironment()
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		_, parseErr := netip.ParseAddr(host)
		trusted := parseErr == nil && r.AllowsHost(host) || isProxy(proxies.HTTPProxy, addr) ||
			isProxy(proxies.HTTPSProxy, addr)
		d := net.Dialer{Control: func(_, resolved string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(resolved)
			if err != nil {
				return err
			}
			if !trusted && !public(to.Addr()) {
				return contract.Refuse(rule, "%q resolves to %s, which is not a public address", host, to.Addr())
			}
			return nil
		}}
		return d.DialContext(ctx, network, addr)
	}
}

func isProxy(proxy, addr string) bool {
	u, err := url.Parse(proxy)
	return proxy != "" && err == nil && u.Host == addr
}
