// Package visitor is a command: what the tests of the container executor run inside
// sandboxes with network: allowlist. It is not part of the command hostile, whose
// binary must stay smaller than /out.
package visitor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain makes the test binary that command: as a test it would be no part of the program.
func TestMain(m *testing.M) {
	if len(os.Args) >= 2 && strings.HasPrefix(os.Args[1], "-test.") { // go test finds no tests
		os.Exit(m.Run())
	}
	command()
	os.Exit(0)
}

func command() {
	if len(os.Args) < 2 {
		os.Exit(64)
	}
	switch os.Args[1] {
	case "fetch":
		fetch(os.Args[2:])
	case "refetch":
		refetch(os.Args[2:])
	case "squat":
		squat(os.Args[2])
	case "direct":
		direct(os.Args[2:])
	default:
		os.Exit(64)
	}
}

func die(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// browser is an ordinary client: it takes the proxy from its environment and
// trusts /in/ca.pem.
func browser() *http.Client {
	pem, err := os.ReadFile("/in/ca.pem")
	die(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}}
}

func page(c *http.Client, url string) string {
	resp, err := c.Get(url)
	switch {
	case errors.Is(err, unix.ECONNREFUSED):
		return "refused"
	case err != nil:
		return "error " + err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "error " + err.Error()
	}
	return fmt.Sprint(resp.StatusCode, " ", strings.TrimSpace(string(body)))
}

// fetch gets pages.
func fetch(urls []string) {
	c := browser()
	for _, u := range urls {
		fmt.Println(u, page(c, u))
	}
}

// refetch gets a page, again and again: until it can't any more, and then until
// it can.
func refetch(a []string) {
	c := browser()
	for _, want := range []string{"200 ", "refused", "200 "} {
		for !strings.HasPrefix(page(c, a[0]), want) {
			time.Sleep(20 * time.Millisecond)
		}
		fmt.Println("got", want)
	}
}

// squat takes the proxy's port as soon as nobody has it, and keeps it for a while.
func squat(url string) {
	c := browser()
	fmt.Println("got", page(c, url))
	for {
		l, err := net.Listen("tcp4", "127.0.0.1:3128")
		if err == nil {
			defer l.Close()
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	fmt.Println("squatting")
	time.Sleep(time.Second)
}

// direct tries to reach addresses (network=address) past the proxy.
func direct(addresses []string) {
	for _, a := range addresses {
		network, address, _ := strings.Cut(a, "=")
		c, err := net.DialTimeout(network, address, 2*time.Second)
		if err == nil && strings.HasPrefix(network, "udp") {
			_, err = c.Write([]byte("x"))
		}
		var errno syscall.Errno
		switch {
		case err == nil:
			fmt.Println(a, "REACHED")
		case errors.As(err, &errno):
			fmt.Println(a, unix.ErrnoName(errno))
		default:
			fmt.Println(a, "error", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if _, err := net.DefaultResolver.LookupHost(ctx, "example.com"); err == nil {
		fmt.Println("dns REACHED")
	}
	for name, s := range map[string][3]int{
		"raw": {unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP}, "packet": {unix.AF_PACKET, unix.SOCK_RAW, 0},
		"netlink": {unix.AF_NETLINK, unix.SOCK_RAW, 0},
		"udp":     {unix.AF_INET, unix.SOCK_DGRAM, 0}, "vsock": {unix.AF_VSOCK, unix.SOCK_STREAM, 0},
		"mptcp": {unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP},
	} {
		if _, err := unix.Socket(s[0], s[1], s[2]); err == nil {
			fmt.Println(name, "REACHED")
		}
	}
}
