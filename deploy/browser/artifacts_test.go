//go:build browser

package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threegate/tool-exec/validate"
	"github.com/threegate/tool-exec/validate/content"
)

const (
	act  = `document.documentElement.setAttribute("ran","1")`
	xml  = `<?xml version="1.0"?>`
	svg  = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">`
	page = `<!doctype html><html><head><meta charset="utf-8"><title>x</title></head><body>`
)

// acting are files that run script in a browser.
var acting = map[string]string{
	"script.html":      page + "<script>" + act + "</script>",
	"module.html":      page + `<script type=module>` + act + "</script>",
	"handler.html":     page + `<img src=x onerror='` + act + `'>`,
	"capitals.html":    page + `<IMG SRC=x OnError='` + act + `'>`,
	"slash.html":       page + `<img/src="x"onerror='` + act + `'>`,
	"load.html":        `<body onload='` + act + `'>`,
	"toggle.html":      page + `<details open ontoggle='` + act + `'>x</details>`,
	"srcdoc.html":      page + `<iframe srcdoc="<script>parent.` + strings.ReplaceAll(act, `"`, "&quot;") + `</script>">`,
	"inline-svg.html":  page + `<svg><animate attributeName=x dur=1s onbegin='` + act + `'>`,
	"svg-script.html":  page + `<svg><script>` + act + `</script></svg>`,
	"noscript.html":    page + `<noscript><p title="</noscript><img src=x onerror=` + "document.title=1" + `>">`,
	"style.html":       page + `<style><!-- </style><script>` + act + `</script> --></style>`,
	"textarea.html":    page + `<textarea><img title="</textarea><img src=x onerror=document.title=1>"></textarea>`,
	"comment.html":     page + `<!--><img src=x onerror=document.title=1>-->`,
	"nul.html":         page + "<scr\x00ipt>1</scr\x00ipt><img src=x one\x00rror=1><img src=x onerror=document.title=1>",
	"utf16.html":       "\xff\xfe" + wide(page+"<script>"+act+"</script>"),
	"script.svg":       svg + "<script>" + act + "</script></svg>",
	"prefix.svg":       `<s:svg xmlns:s="http://www.w3.org/2000/svg"><s:script>` + act + `</s:script></s:svg>`,
	"load.svg":         `<svg xmlns="http://www.w3.org/2000/svg" onload='` + act + `'/>`,
	"begin.svg":        svg + `<animate attributeName="x" dur="1s" onbegin='` + act + `'/></svg>`,
	"foreign.svg":      svg + `<foreignObject><script xmlns="http://www.w3.org/1999/xhtml">` + act + `</script></foreignObject></svg>`,
	"entity.svg":       `<!DOCTYPE svg [<!ENTITY s "` + strings.ReplaceAll(act, `"`, "'") + `">]>` + svg + "<script>&s;</script></svg>",
	"script.xml":       xml + `<r><x:script xmlns:x="http://www.w3.org/1999/xhtml">` + act + `</x:script></r>`,
	"script.rss":       xml + `<rss><x:script xmlns:x="http://www.w3.org/1999/xhtml">` + act + `</x:script></rss>`,
	"script.xhtml":     `<html xmlns="http://www.w3.org/1999/xhtml"><head><script>` + act + `</script></head></html>`,
	"drawing.xml":      xml + svg + "<script>" + act + "</script></svg>",
	"default.xml":      `<!DOCTYPE x [<!ATTLIST x xmlns CDATA "http://www.w3.org/1999/xhtml" onload CDATA "1">]><script xmlns="http://www.w3.org/1999/xhtml">` + act + `</script>`,
	"script.shtml":     "<p>x<script>" + act + "</script>",
	"escape.html":      `<meta charset="iso-2022-jp"><p>x<scr` + "\x1b(B" + `ipt>` + act + `</script>`,
	"late-script.html": page + strings.Repeat("<p>a row of it</p>\n", 40000) + "<script>" + act + "</script>",
}

// quiet are everyday files, which are delivered.
var quiet = map[string]string{
	"report.html":  page + `<h1>Sales</h1><p>a<b>b</b></p><a href="https://example.org/">a</a><table><tr><td>1</td></tr></table>`,
	"data.html":    page + `<script type="application/ld+json">{"a":1}</script>`,
	"plot.svg":     svg + `<path d="M0 0L9 9"/><image xlink:href="data:image/png;base64,iVBO"/></svg>`,
	"feed.rss":     xml + `<rss version="2.0"><channel><title>x</title></channel></rss>`,
	"build.xml":    xml + `<build><script>` + act + `</script></build>`,
	"styled.xml":   xml + `<?xml-stylesheet href="a.css" type="text/css"?><x/>`,
	"code.js":      act,
	"notes.md":     "# Notes\n\n<script>" + act + "</script>\n",
	"notes.txt":    "A tag: <script>" + act + "</script>\n",
	"table.csv":    "a,b\n<script>" + act + "</script>,2\n",
	"data.json":    `{"a":"<script>` + "1" + `</script>"}`,
	"russian.html": `<meta charset="windows-1251"><p>` + "\xcf\xf0\xe8" + `</p>`,
}

// names are those that the contents are tried under, too, whatever they promise.
var names = strings.Fields("x.txt x.md x.csv x.json x.xml x.xsl x.rss x.atom x.mml x.svg x.html x.htm x.xhtml x.shtml " +
	"x.log x.js x.css x.pdf x.png x.bin x.unknown x.svgz x.mht x")

func wide(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteString(s[i:i+1] + "\x00")
	}
	return b.String()
}

// delivered says whether a file goes out under the default policy.
func delivered(t *testing.T, file string) bool {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	v, err := validate.Artifact(filepath.Base(file), f, info.Size(), validate.DefaultPolicy(time.Time{}))
	if err != nil {
		t.Fatal(err)
	}
	return v.Tier == content.Note
}

// TestNothingDeliveredRuns: what runs script when it is opened is not delivered. That the browser runs the acting files
// shows that script would be seen.
func TestNothingDeliveredRuns(t *testing.T) {
	c, dir := Start(t), t.TempDir()
	opened, ran := 0, 0
	try := func(file string) (out, runs bool) {
		out, what := delivered(t, file), c.Runs("file://"+file)
		if opened++; what != "" {
			ran++
		}
		if out && what != "" {
			t.Errorf("%s is delivered, and the browser ran %s", filepath.Base(file), what)
		}
		return out, what != ""
	}
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for name, text := range acting {
		if out, runs := try(write(name, text)); out || !runs {
			t.Errorf("%s: delivered %v, runs %v", name, out, runs)
		}
	}
	for name, text := range quiet {
		if out, _ := try(write(name, text)); !out {
			t.Errorf("%s is withheld", name)
		}
	}
	markup, err := filepath.Glob("testdata/*")
	if err != nil || len(markup) != 6 {
		t.Fatal(markup, err)
	}
	for _, file := range markup {
		file, _ = filepath.Abs(file)
		launcher := slices.Contains([]string{".fileloc", ".terminal"}, filepath.Ext(file))
		if out, runs := try(file); out || runs == launcher {
			t.Errorf("%s: delivered %v, runs %v", filepath.Base(file), out, runs)
		}
	}
	for _, text := range []string{acting["script.html"], acting["script.svg"], acting["script.xml"], acting["utf16.html"],
		"<!-- x -->\n" + acting["inline-svg.html"]} {
		for _, name := range names {
			try(write(fmt.Sprintf("%d-%s", opened, name), text))
		}
	}
	for _, charset := range strings.Fields("utf-7 utf-16 iso-2022-jp iso-2022-kr hz-gb-2312 gb18030 big5 euc-jp " +
		"shift_jis windows-1251 x-user-defined replacement cp037") {
		for _, text := range []string{"+ADw-script+AD4-1+ADw-/script+AD4-", "<scr\x1b(Bipt>1</scr\x1b(Bipt>", "~{<script>1</script>~}",
			"\xbcscript\xbe1\xbc/script\xbe", "<\x0escript>1</script>", "\x4c\xa2\x83\x99\x89\x97\xa3\x6e", "\x8f<script>1</script>"} {
			try(write(fmt.Sprintf("%d-charset.html", opened), `<meta charset="`+charset+`"><p>`+text))
		}
	}
	t.Logf("%d files opened, %d ran script, none of those is delivered", opened, ran)
}
