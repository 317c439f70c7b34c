package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Hook is a program of the operator's that is told how requests ended (docs/extending.md): a command, or a web server.
type Hook struct {
	Name    string   `yaml:"name"`
	Command []string `yaml:"command,omitempty"`
	URL     string   `yaml:"url,omitempty"`
	// SecretFile holds what signs messages to URL.
	SecretFile string `yaml:"secret_file,omitempty"`
	// Answers are those that it is told; none means all.
	Answers []Answer `yaml:"answers,omitempty"`
	// Timeout bounds one try; 0 means DefaultHookTimeout.
	Timeout time.Duration `yaml:"timeout,omitempty"`
}

// Answer is how a request ended.
type Answer string

// The answers.
const (
	AnswerDelivered Answer = "delivered"
	AnswerRefused   Answer = "refused"        // the request is in quarantine
	AnswerWithheld  Answer = "result_refused" // its result is in quarantine
	AnswerCancelled Answer = "cancelled"      // a person ended the request before it ran
	AnswerRejected  Answer = "rejected"       // a person ended a quarantined item for good
	AnswerRecalled  Answer = "recalled"       // a person took back the result that CORE got
)

var answers = []Answer{AnswerDelivered, AnswerRefused, AnswerWithheld, AnswerCancelled, AnswerRejected,
	AnswerRecalled}

// DefaultHookTimeout is how long one try of a hook may take.
const DefaultHookTimeout = 30 * time.Second

// minSecret is the least length of a secret, in bytes.
const minSecret = 16

// Within bounds one try.
func (h Hook) Within() time.Duration {
	if h.Timeout > 0 {
		return h.Timeout
	}
	return DefaultHookTimeout
}

// Ready finds whether what the hook needs is there.
func (h Hook) Ready() error {
	if h.URL == "" {
		return nil
	}
	_, err := h.Secret()
	return err
}

// Secret reads what signs messages: the text of the file, or behind "whsec_" base64.
func (h Hook) Secret() ([]byte, error) {
	data, err := os.ReadFile(h.SecretFile)
	if err != nil {
		return nil, err
	}
	secret := []byte(strings.TrimSpace(string(data)))
	if coded, ok := strings.CutPrefix(string(secret), "whsec_"); ok {
		if secret, err = base64.StdEncoding.DecodeString(coded); err != nil {
			return nil, errors.New("secret_file: what follows whsec_ is not base64")
		}
	}
	if len(secret) < minSecret {
		return nil, fmt.Errorf("secret_file: the secret has %d bytes, %d are the least", len(secret), minSecret)
	}
	return secret, nil
}

// hooks verifies what is said about hooks, not that they answer.
func (c *checker) hooks() {
	const key = "hooks"
	names := map[string]bool{}
	for _, h := range c.Hooks {
		c.name(key, "hook", h.Name, names)
		switch {
		case (h.URL == "") == (len(h.Command) == 0):
			c.bad(key, fmt.Sprintf("hook %q needs either a command or a url", h.Name),
				"write command: [/path/of/program, argument], or url: https://host/path and secret_file")
		case h.URL != "" && !hookURL(h.URL):
			c.bad(key, fmt.Sprintf("hook %q: its url is not https, nor http on a loopback address", h.Name),
				"write https://host/path, without a user")
		case h.URL != "" && h.SecretFile == "":
			c.bad(key, fmt.Sprintf("hook %q has no secret_file", h.Name),
				"name a file with a secret of 16 bytes or more")
		case h.URL == "" && !filepath.IsAbs(h.Command[0]):
			c.bad(key, fmt.Sprintf("hook %q: %q is not an absolute path", h.Name, h.Command[0]),
				"write the whole path, from / on")
		}
		for _, a := range h.Answers {
			if !slices.Contains(answers, a) {
				c.bad(key, fmt.Sprintf("hook %q: there is no answer %q", h.Name, a),
					"the answers are delivered, refused, result_refused, cancelled, rejected")
			}
		}
		if h.Timeout != 0 {
			c.duration(key, h.Timeout, 100*time.Millisecond, 10*time.Minute)
		}
	}
}

func hookURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	a, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && err == nil && a.IsLoopback()
}
