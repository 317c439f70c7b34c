package fetch

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/registry"
)

func call(t *testing.T, domains string, a curlArgs) (curlResult, *contract.Error) {
	t.Helper()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, "")
	}
	r, err := registry.Parse([]byte("version: 1\nnetwork: {allowed_domains: [" + domains + "]}"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Tool(r).Prepare(raw)
	if err != nil {
		return curlResult{}, contract.AsError(err)
	}
	out, err := c.Run(t.Context())
	if err != nil {
		return out.(curlResult), contract.AsError(err)
	}
	return out.(curlResult), nil
}

// server listens at 127.0.0.1, which a registry can list. Its names are private all the same.
func server(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	local := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Agent", r.UserAgent()+" "+r.Header.Get("X-Own"))
		fmt.Fprint(w, r.Method, "\xff")
	})
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/hops/{n}", func(w http.ResponseWriter, r *http.Request) {
		var n int
		fmt.Sscan(r.PathValue("n"), &n)
		to := fmt.Sprint("/hops/", n-1)
		if n == 1 {
			to = "/ok"
		}
		http.Redirect(w, r, to, http.StatusFound)
	})
	for path, to := range map[string]string{"/to-name": local + "/ok", "/to-private": "http://10.0.0.1/", "/to-meta": "http://169.254.169.254/",
		"/to-file": "file:///etc/passwd", "/to-user": strings.Replace(s.URL, "//", "//u:p@", 1) + "/ok"} {
		mux.Handle(path, http.RedirectHandler(to, http.StatusFound))
	}
	return s
}

func TestCurl(t *testing.T) {
	s := server(t)
	got, err := call(t, "127.0.0.1", curlArgs{Method: "GET", URL: s.URL + "/ok", Headers: map[string]string{"X-Own": "x"}, Timed: contract.Timed{TimeoutMS: 60_000}, MaxBytes: 100})
	if body, _ := base64.StdEncoding.DecodeString(got.BodyB64); err != nil || got.Status != 200 || string(body) != "GET\xff" ||
		got.Headers["x-agent"] != agent+" x" || got.Truncated {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := call(t, "127.0.0.1", curlArgs{Method: "HEAD", URL: s.URL + "/ok", Timed: contract.Timed{TimeoutMS: 60_000}, MaxBytes: 100}); err != nil || got.BodyB64 != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	got, err = call(t, "127.0.0.1", curlArgs{Method: "GET", URL: s.URL + "/endless", Timed: contract.Timed{TimeoutMS: 60_000}, MaxBytes: 1000})
	if err != nil || !got.Truncated || base64.StdEncoding.DecodedLen(len(got.BodyB64)) > 1002 {
		t.Errorf("endless: %v, %d, %v", got.Truncated, len(got.BodyB64), err)
	}
	got, err = call(t, "127.0.0.1", curlArgs{Method: "GET", URL: s.URL + "/hops/3", Timed: contract.Timed{TimeoutMS: 60_000}, MaxBytes: 1000})
	if err != nil || got.URL != s.URL+"/ok" {
		t.Errorf("three redirects: %+v, %v", got, err)
	}
}

func TestRefused(t *testing.T) {
	s := server(t)
	body := "x"
	for name, c := range map[string]struct {
		domains string
		args    curlArgs
		want    contract.Code
	}{
		"not listed":                    {"crates.io", curlArgs{URL: s.URL + "/ok"}, contract.Policy},
		"nothing listed":                {"", curlArgs{URL: s.URL + "/ok"}, contract.Policy},
		"POST":                          {"127.0.0.1", curlArgs{URL: s.URL + "/ok", Method: "POST"}, contract.Policy},
		"a body":                        {"127.0.0.1", curlArgs{URL: s.URL + "/ok", Body: &body}, contract.Policy},
		"a file":                        {"127.0.0.1", curlArgs{URL: "file:///etc/passwd"}, contract.Policy},
		"a user":                        {"127.0.0.1", curlArgs{URL: "http://u@127.0.0.1/"}, contract.Policy},
		"no url":                        {"127.0.0.1", curlArgs{URL: "http://a b/"}, contract.Validation},
		"Host":                          {"127.0.0.1", curlArgs{URL: s.URL + "/ok", Headers: map[string]string{"host": "x"}}, contract.Validation},
		"a header with a newline":       {"127.0.0.1", curlArgs{URL: s.URL + "/ok", Headers: map[string]string{"X": "a\nb"}}, contract.HTTP},
		"a name of a private address":   {"localhost", curlArgs{URL: strings.Replace(s.URL, "127.0.0.1", "localhost", 1)}, contract.Policy},
		"redirect to such a name":       {"127.0.0.1, localhost", curlArgs{URL: s.URL + "/to-name"}, contract.Policy},
		"redirect to a host not listed": {"127.0.0.1", curlArgs{URL: s.URL + "/to-name"}, contract.Policy},
		"redirect to a private address": {"127.0.0.1", curlArgs{URL: s.URL + "/to-private"}, contract.Policy},
		"redirect to a cloud's":         {"127.0.0.1", curlArgs{URL: s.URL + "/to-meta"}, contract.Policy},
		"redirect to a file":            {"127.0.0.1", curlArgs{URL: s.URL + "/to-file"}, contract.Policy},
		"redirect to a user":            {"127.0.0.1", curlArgs{URL: s.URL + "/to-user"}, contract.Policy},
		"four redirects":                {"127.0.0.1", curlArgs{URL: s.URL + "/hops/4"}, contract.Policy},
	} {
		if c.args.Method == "" {
			c.args.Method = "GET"
		}
		c.args.TimeoutMS, c.args.MaxBytes = 60_000, 1000
		if got, err := call(t, c.domains, c.args); err == nil || err.Code != c.want {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

// TestRedirects: what is sent is not redirected, and nothing leads from https to http.
func TestRedirects(t *testing.T) {
	r, err := registry.Parse([]byte("version: 1\nnetwork: {allowed_domains: [example.org]}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from, body, to string
		ok             bool
	}{
		{"http://example.org", "", "https://example.org", true},
		{"https://example.org", "", "https://example.org/x", true},
		{"https://example.org", "", "http://example.org", false},
		{"https://example.org", "x", "https://example.org/x", false},
	} {
		var body io.Reader
		if c.body != "" {
			body = strings.NewReader(c.body)
		}
		from, err1 := http.NewRequest("POST", c.from, body)
		to, err2 := http.NewRequest("GET", c.to, nil)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if err := client(r).CheckRedirect(to, []*http.Request{from}); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestPublic(t *testing.T) {
	for _, ip := range []string{"1.1.1.1", "93.184.215.14", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1"} {
		if !public(netip.MustParseAddr(ip)) {
			t.Errorf("%s is refused", ip)
		}
	}
	for _, ip := range []string{"127.0.0.1", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254",
		"100.100.100.200", "168.63.129.16", "192.0.0.192", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1",
		"::ffff:10.0.0.1", "::ffff:169.254.169.254", "::10.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::a00:1", "2002:a00:1::",
		"2001:0:a00:1::", "fe80::1", "fec0::1", "fd00:ec2::254", "ff02::1", "2606:4700::1%eth0"} {
		if public(netip.MustParseAddr(ip)) {
			t.Errorf("%s passes", ip)
		}
	}
}
