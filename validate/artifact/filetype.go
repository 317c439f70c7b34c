package artifact

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/text"
)

// headSize is how many bytes of a file's beginning newDetector wants, or all of a shorter file.
const headSize = 4 << 10

// shown is a type that a file shows.
type shown struct {
	// name is one of schemas.ArtifactTypes.
	name string
	// media is the media type of its content, for people.
	media string
	// why is empty or says what shows it.
	why string
}

// byMedia maps media types to our types. What is not in it counts as the type that it is
// a kind of, then by its first half.
var byMedia = byWord("", map[string]string{
	schemas.ArtifactProgram: `application/x-elf application/vnd.microsoft.portable-executable application/x-mach-binary
			application/x-java-applet application/wasm application/x-ms-installer application/x-bytecode.python
			application/java-archive application/vnd.android.package-archive application/vnd.debian.binary-package
			application/x-rpm application/x-chrome-extension application/x-shockwave-flash application/vnd.ms-htmlhelp
			application/x-os2-hlp application/vnd.nintendo.snes.rom`,
	schemas.ArtifactScript: `text/x-shellscript text/x-python text/x-perl text/x-ruby text/x-lua text/x-tcl text/x-php
			text/javascript application/postscript`,
	schemas.ArtifactArchive: `application/zip application/gzip application/x-tar application/x-bzip2`,
	schemas.ArtifactSealed: `application/x-xz application/zstd application/x-7z-compressed application/vnd.rar
			application/lzip application/vnd.ms-cab-compressed application/x-installshield application/x-cpio
			application/x-archive application/x-xar application/zlib application/pkcs7-signature`,
	schemas.ArtifactOffice: `application/vnd.openxmlformats-officedocument.wordprocessingml.document
			application/vnd.openxmlformats-officedocument.spreadsheetml.sheet
			application/vnd.openxmlformats-officedocument.presentationml.presentation
			application/vnd.ms-visio.drawing.main+xml application/vnd.oasis.opendocument.text
			application/vnd.oasis.opendocument.spreadsheet application/vnd.oasis.opendocument.presentation
			application/vnd.oasis.opendocument.graphics application/vnd.oasis.opendocument.formula
			application/vnd.oasis.opendocument.chart application/vnd.sun.xml.calc application/x-ole-storage
			application/vnd.lotus-1-2-3 application/vnd.wordperfect application/onenote text/rtf`,
	schemas.ArtifactLauncher: `application/x-ms-shortcut`,
	schemas.ArtifactHTML:     `text/html application/xhtml+xml`,
	schemas.ArtifactSVG:      `image/svg+xml`,
	schemas.ArtifactPDF:      `application/pdf application/vnd.fdf application/vnd.adobe.xfdf`,
	schemas.ArtifactDatabase: `application/vnd.sqlite3 application/vnd.apache.parquet application/x-dbf
			application/x-msaccess`,
	schemas.ArtifactText: `text/plain`,
})

// ofMedia is the type of a media type of the library's.
func ofMedia(m *mimetype.MIME) string {
	for t := m; t != nil; t = t.Parent() {
		media, _, _ := strings.Cut(t.String(), ";")
		if name := byMedia[media]; name != "" {
			return name
		}
		switch kind, _, _ := strings.Cut(media, "/"); kind {
		case "image":
			return schemas.ArtifactImage
		case "audio", "video":
			return schemas.ArtifactMedia
		case "font":
			return schemas.ArtifactFont
		}
	}
	return schemas.ArtifactData
}

// byName are the types that a name adds, by its ending.
var byName = byWord(".", map[string]string{
	schemas.ArtifactScript: `sh bash zsh ksh csh fish command bat cmd ps1 psm1 vbs vbe jse wsf wsh php phtml asp aspx jsp
			applescript scpt ps`,
	schemas.ArtifactProgram: `exe com dll scr pif cpl msi sys jar class war so dylib ko apk deb rpm appimage pyc pyo
			xpi crx whl chm swf`,
	schemas.ArtifactLauncher: `desktop directory kdelnk lnk url website webloc inetloc ftploc afploc mailloc fileloc
			terminal workflow hta scf reg inf gadget msc jnlp xbap appref-ms application settingcontent-ms
			search-ms searchconnector-ms library-ms theme themepack diagcab rdp ica iqy slk dqy oqy mht mhtml`,
	schemas.ArtifactSealed:      `lz4 lzma squashfs sqsh lzh lha arj ace`,
	schemas.ArtifactObject:      `pkl pickle joblib dill rds rdata ser marshal`,
	schemas.ArtifactNotebook:    `ipynb`,
	schemas.ArtifactOfficeMacro: `docm dotm xlsm xltm xlam pptm potm ppam ppsm xll`,
	schemas.ArtifactSource: `py js mjs cjs ts tsx jsx rb pl pm lua tcl r jl go rs c h cc cpp hpp java kt swift cs scala
			sql m hs ml clj ex erl dart`,
	schemas.ArtifactHTML: `html htm xhtml xht shtml`,
	schemas.ArtifactSVG:  `svg svgz`,
})

// xmlNames end names of what a browser reads as XML, whatever it begins with.
var xmlNames = strings.Fields(".xml .xsl .xslt .rdf .rss .atom .mml .xul")

// byWord maps each word of lists, behind prefix, to the name of its list.
func byWord(prefix string, lists map[string]string) map[string]string {
	m := map[string]string{}
	for name, list := range lists {
		for _, word := range strings.Fields(list) {
			m[prefix+word] = name
		}
	}
	return m
}

// detector tells the types of one file, whose windows it is given in order.
type detector struct {
	// shown are the types that the file shows so far, that of its beginning first.
	shown []shown
	// media is the media type of the file's beginning.
	media string
	// xml says that its name has a browser read it as XML.
	xml bool
	// cells and format say that it has what a notebook has.
	cells, format bool
	// unpacked is how many bytes of a PDF's objects were unpacked.
	unpacked int
}

// newDetector begins with what the name and the beginning of a file show.
func newDetector(name string, head []byte) *detector {
	m := mimetype.Detect(head)
	d := &detector{}
	d.media, _, _ = strings.Cut(m.String(), ";")
	main := ofMedia(m)
	// The library knows these by two bytes, with which text may begin too.
	if _, readable := text.Readable(head); readable && main != schemas.ArtifactText &&
		(d.media == "application/vnd.microsoft.portable-executable" || d.media == "application/zlib") {
		main, d.media = schemas.ArtifactText, "text/plain"
	}
	d.add(main, "")
	d.head(head)
	ending := strings.ToLower(path.Ext(name))
	d.xml = slices.Contains(xmlNames, ending)
	if add := byName[ending]; add != "" {
		d.add(add, "by its name")
	}
	if strings.EqualFold(path.Base(name), "vbaProject.bin") {
		d.add(schemas.ArtifactOfficeMacro, "it holds macros")
	}
	return d
}

// add notes a type once.
func (d *detector) add(name, why string) {
	if !d.is(name) {
		d.shown = append(d.shown, shown{name, d.media, why})
	}
}

// is says whether the file is of one of the types.
func (d *detector) is(names ...string) bool {
	return slices.ContainsFunc(d.shown, func(s shown) bool { return slices.Contains(names, s.name) })
}

// heads are what a beginning shows that the library does not tell.
var heads = []struct {
	name, why string
	re        *regexp.Regexp
}{
	{schemas.ArtifactScript, "a #! line", regexp.MustCompile(`^(?:\xef\xbb\xbf)?\s*#![ \t]*/\S`)},
	{schemas.ArtifactScript, "the first line of a batch file", regexp.MustCompile(`(?i)^\s*@echo off\b`)},
	{schemas.ArtifactScript, "code of a server's", regexp.MustCompile(`(?i)^\s*(?:<\?php|<\?=|<%@)`)},
	{schemas.ArtifactLauncher, "a section that a desktop acts on",
		regexp.MustCompile(`(?i)^(?:\xef\xbb\xbf)?(?:\s|[#;][^\n]*\n)*(?:\[(?:desktop entry|internetshortcut|autorun` +
			`|\.shellclassinfo)\]|regedit4|windows registry editor)`)},
	{schemas.ArtifactLauncher, "an application in HTML", regexp.MustCompile(`(?i)<hta:application`)},
	{schemas.ArtifactSealed, "it is packed in a way that is not read",
		regexp.MustCompile(`^(?s:\x04\x22\x4d\x18|\x02\x21\x4c\x18|\x1f[\x9d\xa0]|\x5d\x00\x00.{2}(?:\xff{8}|.{5}\x00{3})` +
			`|hsqs.{24}\x04\x00|sqsh.{24}\x00[\x03\x04]|..-lh[\da-z]-|\xff\x06\x00\x00sNaPpY)`)},
	{schemas.ArtifactObject, "a pickle",
		regexp.MustCompile(`^(?s:\x80[\x04\x05]\x95|\x80[\x02-\x05][c}\](XUCBKJMGN)\x85-\x8e\x94]|[\]}]q\x00)`)},
	{schemas.ArtifactObject, "a pickle in letters",
		regexp.MustCompile(`^(?:c[\w.]+\n[\w.]+\n(?:p\d+\n)?\((?:S['"]|V[^\n]*\n[pt]|[IFL]\d|t[Rp]|[ld]p?\d|c[\w.]+\n[\w.]+\n|N[tp])|\((?:[ld]p[01]\n|[ldt]\.|i[\w.]+\n[\w.]+\n))`)},
	{schemas.ArtifactObject, "an array of Python objects",
		regexp.MustCompile(`^\x93NUMPY(?s:.{2,6})\{[^}]*'descr':[^}]*'\|?O`)},
	{schemas.ArtifactObject, "stored objects of Java's", regexp.MustCompile(`^\xac\xed\x00\x05`)},
	{schemas.ArtifactObject, "stored objects of Ruby's", regexp.MustCompile(`^\x04\x08[\[{"oIiu:]`)},
	{schemas.ArtifactObject, "stored objects of R's", regexp.MustCompile(`^(?:RD[AX][23]\n|[XBA]\n\x00\x00\x00[\x02\x03])`)},
}

// maxPDFPrefix is how far into a file readers look for the beginning of a PDF.
const maxPDFPrefix = 1024

// head looks at the file's beginning.
func (d *detector) head(head []byte) {
	latin := make([]byte, 0, 2*headSize) // the patterns are about bytes
	for _, c := range head[:min(len(head), headSize)] {
		latin = utf8.AppendRune(latin, rune(c))
	}
	for _, h := range heads {
		if h.re.Match(latin) {
			d.add(h.name, h.why)
		}
	}
	if what := Program(head); what != "" {
		d.add(schemas.ArtifactProgram, what)
	}
	if bytes.Contains(head[:min(len(head), maxPDFPrefix)], []byte("%PDF-")) {
		d.add(schemas.ArtifactPDF, "")
	}
}
