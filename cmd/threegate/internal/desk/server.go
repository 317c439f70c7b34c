package desk

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/gate/view"
)

//go:embed pages
var files embed.FS

// policy lets a page have its own style sheet, and nothing else.
const policy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// server answers with pages. One page is made at a time: each reads on in the record.
type server struct {
	node  *config.Node
	token [sha256.Size]byte
	root  string // what the path of each page begins with
	now   func() time.Time
	pages *template.Template
	mux   *http.ServeMux

	mu     sync.Mutex
	agenda *view.Agenda
	trend  *trend
}

func newServer(node *config.Node, token string, now func() time.Time) *server {
	s := &server{node: node, token: sha256.Sum256([]byte(token)), root: "/" + token + "/", now: now,
		agenda: view.NewAgenda(node, lastResults), trend: newTrend(node), mux: http.NewServeMux()}
	s.pages = template.Must(template.New("").Funcs(template.FuncMap{
		"at":  func(parts ...string) string { return s.root + strings.Join(parts, "") },
		"ago": func(t time.Time) string { return ago(now(), t) },
	}).ParseFS(files, "pages/*.html"))
	s.page("GET /{$}", "today.html", s.today)
	s.page("GET /quarantine", "quarantine.html", s.quarantine)
	s.page("GET /item/{item}", "story.html", s.item)
	s.page("GET /request/{request}", "story.html", s.request)
	s.page("GET /node", "node.html", s.status)
	s.mux.HandleFunc("GET /style.css", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, files, "pages/style.css")
	})
	return s
}

// ServeHTTP answers only below the token. To all others there is nothing here.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	token, rest, below := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	given := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(given[:], s.token[:]) != 1 || !below {
		http.Error(w, "there is nothing here", http.StatusNotFound)
		return
	}
	r.URL.Path = "/" + rest
	s.mux.ServeHTTP(w, r)
}

// page is what every page shows, and its own content.
type page struct {
	Title   string
	Node    string
	Serving bool
	At      string // which page of the navigation it is
	Now     time.Time
	Content any
}

// errNotFound is that the node knows nothing of the name.
var errNotFound = errors.New("the node knows nothing of this name")

func (s *server) page(pattern, name string, content func(*http.Request) (page, error)) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		p, err := content(r)
		s.mu.Unlock()
		status := http.StatusOK
		if err != nil {
			status = http.StatusInternalServerError
			if errors.Is(err, errNotFound) || errors.Is(err, fs.ErrNotExist) {
				status = http.StatusNotFound
			}
			name, p = "error.html", page{Title: "This can't be shown", Content: visible(err.Error())}
		}
		p.Node, p.Now, p.Serving = visible(s.node.Node.Name), s.now().UTC(), s.serving()
		var b bytes.Buffer
		if err := s.pages.ExecuteTemplate(&b, name, p); err != nil {
			http.Error(w, "the page can't be made", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		_, _ = w.Write(b.Bytes()) // who left does not hear it
	})
}

// refuse answers what is not addressed to this server.
func refuse(w http.ResponseWriter, status int, why string) { http.Error(w, why, status) }
