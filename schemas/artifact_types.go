package schemas

// ArtifactType is a kind of file that may be among the artifacts of a result.
type ArtifactType struct {
	// Name is how a policy names it, in results.artifact_types.
	Name string
	// What says which files it means.
	What string
	// Delivered says that it is delivered unless a policy says otherwise.
	Delivered bool
}

// The names of artifact types.
const (
	ArtifactText        = "text"
	ArtifactSource      = "source"
	ArtifactHTML        = "html"
	ArtifactSVG         = "svg"
	ArtifactPDF         = "pdf"
	ArtifactImage       = "image"
	ArtifactMedia       = "media"
	ArtifactFont        = "font"
	ArtifactDatabase    = "database"
	ArtifactData        = "data"
	ArtifactScript      = "script"
	ArtifactProgram     = "program"
	ArtifactHTMLScript  = "html-script"
	ArtifactSVGScript   = "svg-script"
	ArtifactPDFAction   = "pdf-action"
	ArtifactOffice      = "office"
	ArtifactOfficeMacro = "office-macro"
	ArtifactArchive     = "archive"
	ArtifactSealed      = "sealed"
	ArtifactObject      = "object"
	ArtifactNotebook    = "notebook"
	ArtifactLauncher    = "launcher"
)

var artifactTypes = []ArtifactType{
	{ArtifactText, "text: plain, CSV, JSON, XML, Markdown, mail, logs", true},
	{ArtifactSource, "source code by its name (.py, .js, .c), without a #! line", true},
	{ArtifactHTML, "HTML that runs nothing", true},
	{ArtifactSVG, "an SVG drawing that runs nothing", true},
	{ArtifactPDF, "a PDF that does nothing by itself", true},
	{ArtifactImage, "an image", true},
	{ArtifactMedia, "sound or video", true},
	{ArtifactFont, "a font", true},
	{ArtifactDatabase, "a database or a table: SQLite, Parquet, dBase, Access", true},
	{ArtifactData, "bytes of no type that is known here, such as arrays of numbers", true},
	{ArtifactScript, "a script: a #! line, or a name that a shell or a desktop runs (.sh, .bat, .ps1)", false},
	{ArtifactProgram, "a program, also inside of another file: ELF, Windows, Java, WebAssembly, packages", false},
	{ArtifactHTMLScript, "HTML with a script, a handler or a frame; markup with declarations or a style sheet of its " +
		"own that a browser runs", false},
	{ArtifactSVGScript, "an SVG drawing with a script or a handler", false},
	{ArtifactPDFAction, "a PDF with JavaScript, a program to launch, a form of its own (XFA) or a file inside", false},
	{ArtifactOffice, "an office document: docx, xlsx, pptx, odt, rtf, doc, xls", false},
	{ArtifactOfficeMacro, "an office document with macros", false},
	{ArtifactArchive, "an archive or a compressed file that can be searched: zip, tar, gzip, bzip2", false},
	{ArtifactSealed, "a file that can't be searched: encrypted, or packed as xz, 7z, rar, zstd, lz4, LZMA, .Z or " +
		"squashfs", false},
	{ArtifactObject, "a stored object that runs code when it is read: Python pickles, Java, Ruby, R", false},
	{ArtifactNotebook, "a notebook of Jupyter's", false},
	{ArtifactLauncher, "a file that a desktop acts on: .desktop, .lnk, .url, .hta, .reg, .fileloc, .terminal", false},
}

// ArtifactTypes lists all types, those that are delivered by default first.
func ArtifactTypes() []ArtifactType { return append([]ArtifactType(nil), artifactTypes...) }

// DefaultArtifactTypes are the names of the types that are delivered unless a policy says otherwise.
func DefaultArtifactTypes() (names []string) {
	for _, t := range artifactTypes {
		if t.Delivered {
			names = append(names, t.Name)
		}
	}
	return names
}
