package artifact

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/threegate/tool-exec/schemas"
)

// maxToken bounds one piece of markup, such as an image inside of a page.
const maxToken = 16 << 20

// hasMarkup says whether the file is one that a browser would read, so that markup is to
// look at it.
func (d *detector) hasMarkup() bool {
	return d.is(schemas.ArtifactHTML, schemas.ArtifactSVG) || d.xml || strings.HasSuffix(d.media, "xml")
}

// markup reads the whole file, twice, and looks for what a browser would run. It returns the charset that
// the file declares and in which it says something else than in UTF-8, or nil, and an error of reading.
func (d *detector) markup(open func() (io.Reader, error)) (charset encoding.Encoding, err error) {
	asHTML := d.is(schemas.ArtifactHTML) && d.media != "application/xhtml+xml"
	m := page{browser: asHTML || d.is(schemas.ArtifactSVG)}
	// What stands in a title or a style sheet is text or markup: that depends on what is around it.
	for _, m.titles = range []bool{false, true} {
		r, err := open()
		if err == nil {
			err = m.read(r)
		}
		if errors.Is(err, html.ErrBufferExceeded) {
			m.why, m.browser, err = "a piece of its markup is too long to be looked at", true, nil
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case m.why == "" || !m.browser:
	case d.is(schemas.ArtifactSVG):
		d.add(schemas.ArtifactSVGScript, m.why)
	default:
		d.add(schemas.ArtifactHTMLScript, m.why)
	}
	return m.charset, nil
}

// page looks for what runs in HTML or XML.
type page struct {
	// titles says that what stands in titles, style sheets and the like is markup too.
	titles bool
	// browser says that a browser would take it for more than data.
	browser bool
	why     string
	charset encoding.Encoding
}

// actors are the elements that run something or load it.
var actors = map[string]string{
	"script": "it holds a script", "iframe": "it holds a frame", "frame": "it holds a frame",
	"object": "it holds an object", "embed": "it holds an object", "applet": "it holds an applet",
	"portal": "it holds a frame", "handler": "it holds a handler", "listener": "it holds a handler",
}

// namespaces make a browser run what stands in XML.
var namespaces = []string{"http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg"}

// transforms is the namespace of style sheets that make other markup.
const transforms = "http://www.w3.org/1999/XSL/Transform"

// dataScripts are types of scripts that are only data.
var dataScripts = []string{"application/json", "application/ld+json"}

func (m *page) read(r io.Reader) error {
	z := html.NewTokenizer(r)
	z.SetMaxBuf(maxToken)
	for m.why == "" || !m.browser {
		switch z.Next() {
		case html.ErrorToken:
			if err := z.Err(); !errors.Is(err, io.EOF) {
				return err
			}
			return nil
		case html.StartTagToken, html.SelfClosingTagToken:
			m.element(z.Token())
			if m.titles {
				z.NextIsNotRawText()
			}
		case html.DoctypeToken:
			if bytes.IndexByte(z.Raw(), '[') >= 0 { // they can give any element a script, or make it one
				m.runs("it has declarations of its own")
			}
		case html.CommentToken:
			m.instruction(strings.ToLower(string(z.Raw())))
		}
	}
	return nil
}

// instruction judges what XML says to those who read it.
func (m *page) instruction(s string) {
	switch {
	case strings.HasPrefix(s, "<?xml-stylesheet") && !cssSheet.MatchString(s):
		m.runs("it asks for a style sheet that may run")
	case strings.HasPrefix(s, "<?xml-stylesheet"):
		m.found("it asks for a style sheet that may run")
	case strings.HasPrefix(s, "<?xml"):
		m.declares(s, inXML)
	}
}

var (
	cssSheet = regexp.MustCompile(`\stype\s*=\s*["']text/css["']`)
	// inXML and inMeta find the charset that markup declares.
	inXML  = regexp.MustCompile(`\sencoding\s*=\s*["']\s*([^\s"']+)`)
	inMeta = regexp.MustCompile(`\bcharset\s*=\s*["']?\s*([^\s"'/>;&]+)`)
)

// declares notes the charset that s declares in a form. One in which ASCII means itself hides nothing, and
// text that reads as text in UTF-16 was decoded before.
func (m *page) declares(s string, form *regexp.Regexp) {
	label := form.FindStringSubmatch(s)
	if label == nil {
		return
	}
	e, err := htmlindex.Get(label[1])
	if err != nil {
		m.runs("its charset is not known")
		return
	}
	_, bytewise := e.(*charmap.Charmap)
	if name, _ := htmlindex.Name(e); bytewise || strings.HasPrefix(name, "utf-") {
		return
	}
	if m.charset != nil && m.charset != e {
		m.runs("it declares several charsets")
	}
	m.charset = e
}

// runs is found for what makes a browser take any markup for more than data.
func (m *page) runs(why string) {
	m.found(why)
	m.browser = true
}

func (m *page) found(why string) {
	if m.why == "" {
		m.why = why
	}
}

// element judges one element with its attributes.
func (m *page) element(t html.Token) {
	name := local(t.Data)
	if name == "meta" {
		m.declares(strings.ToLower(t.String()), inMeta)
	}
	why, kind := actors[name], ""
	for _, a := range t.Attr {
		key, value := local(a.Key), squeeze(a.Val)
		switch {
		case len(key) > 2 && strings.HasPrefix(key, "on"):
			m.found("it holds a handler, " + key)
		case strings.HasPrefix(value, "javascript:"), strings.HasPrefix(value, "vbscript:"),
			strings.HasPrefix(value, "data:text/html"), strings.HasPrefix(value, "data:image/svg"),
			strings.HasPrefix(value, "data:application/x"), strings.HasPrefix(value, "data:text/xml"):
			m.found("it holds an address that runs")
		case key == "srcdoc":
			m.found("it holds a frame")
		case key == "http-equiv" && value == "refresh":
			m.found("it loads another page")
		case key == "rel" && (value == "import" || value == "modulepreload" || value == "manifest"):
			m.found("it loads code")
		case key == "attributename" && (strings.HasPrefix(value, "on") || strings.HasSuffix(value, "href")):
			m.found("it changes a handler or an address")
		case key == "type":
			kind = value
		}
		m.browser = m.browser || slices.Contains(namespaces, strings.TrimSpace(a.Val))
		if strings.TrimSpace(a.Val) == transforms {
			m.runs("it is a style sheet that may run")
		}
	}
	if why != "" && !(name == "script" && slices.Contains(dataScripts, kind)) {
		m.found(why)
	}
}

// local is a name without the prefix of its namespace.
func local(name string) string { return strings.ToLower(name[strings.LastIndexByte(name, ':')+1:]) }

// squeeze is the beginning of a value as a browser reads an address: in small letters,
// without blanks and controls.
func squeeze(value string) string {
	var b strings.Builder
	for i := 0; i < len(value) && b.Len() < 64; i++ {
		if c := value[i]; c > ' ' && c != 0x7f {
			b.WriteByte(c)
		}
	}
	return strings.ToLower(b.String())
}
