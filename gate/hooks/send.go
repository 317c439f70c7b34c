package hooks

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/threegate/tool-exec/gate/config"
)

// unprivileged starts a command as nobody, who can gain no rights. The shell stays as the first process, so that the
// signal that the node's death sends it (setpriv keeps that) ends all, also what took the signal from itself.
var unprivileged = []string{"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs",
	"--inh-caps=-all", "--bounding-set=-all", "--pdeathsig=keep", "--", "/bin/sh", "-c", `"$@"; exit $?`, "sh"}

// maxSaid is how many bytes of what a command says about its failure are logged.
const maxSaid = 300

// runCommand gives a command the message. Exit code 0 says that it took it. All that it started ends with it.
func runCommand(ctx context.Context, command []string, body []byte) error {
	args := append(unprivileged[1:len(unprivileged):len(unprivileged)], command...)
	cmd := exec.CommandContext(ctx, unprivileged[0], args...)
	cmd.Env, cmd.Dir, cmd.Stdin = []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}, "/", bytes.NewReader(body)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL,
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC}
	cmd.WaitDelay = time.Second
	var said bounded
	cmd.Stderr = &said
	err := cmd.Run()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errors.New("it took too long")
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return fmt.Errorf("%s: %w%s", command[0], err, said.line())
	}
	return nil
}

// bounded keeps the first bytes that are written to it.
type bounded struct{ b []byte }

func (s *bounded) Write(p []byte) (int, error) {
	s.b = append(s.b, p[:min(len(p), maxSaid-len(s.b))]...)
	return len(p), nil
}

// line is the first line, for people.
func (s *bounded) line() string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(s.b)), "\n")
	if line == "" {
		return ""
	}
	return ": " + strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, line)
}

// client follows no redirect and uses no proxy: the message goes where the operator said.
var client = &http.Client{
	Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// post sends the message to a web server, signed as the specification Standard Webhooks says. A status from 200 to 299
// says that it took it. Of its answer nothing else is read.
func post(ctx context.Context, h config.Hook, id string, body []byte, now time.Time) error {
	secret, err := h.Secret()
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("its url is none")
	}
	stamp := strconv.FormatInt(now.Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "threegate")
	req.Header.Set("webhook-id", id)
	req.Header.Set("webhook-timestamp", stamp)
	req.Header.Set("webhook-signature", "v1,"+signature(secret, id, stamp, body))
	res, err := client.Do(req)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err // without the address, which may hold a secret
		}
		return err
	}
	if err := res.Body.Close(); err != nil {
		return err
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return fmt.Errorf("it answered with status %d", res.StatusCode)
	}
	return nil
}

// signature is an HMAC-SHA256 over id, time and body, in base64.
func signature(secret []byte, id, stamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%s.%s", id, stamp, body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
