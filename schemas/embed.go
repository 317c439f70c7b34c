package schemas

import (
	_ "embed"
	"slices"
)

var (
	//go:embed json/tool-request.schema.json
	requestJSONSchema []byte
	//go:embed json/tool-result.schema.json
	resultJSONSchema []byte
	//go:embed json/notice.schema.json
	noticeJSONSchema []byte
	//go:embed docs/notice.md
	noticeDoc []byte
	//go:embed docs/tool-request.md
	requestDoc []byte
	//go:embed docs/tool-result.md
	resultDoc []byte
)

// RequestJSONSchema is the JSON Schema (draft 2020-12) of a request's front matter.
func RequestJSONSchema() []byte { return slices.Clone(requestJSONSchema) }

// ResultJSONSchema is the JSON Schema (draft 2020-12) of a result's front matter.
func ResultJSONSchema() []byte { return slices.Clone(resultJSONSchema) }

// RequestDoc is the normative text about requests, in Markdown.
func RequestDoc() []byte { return slices.Clone(requestDoc) }

// ResultDoc is the normative text about results, in Markdown.
func ResultDoc() []byte { return slices.Clone(resultDoc) }

// NoticeJSONSchema is the JSON Schema (draft 2020-12) of a notice to CORE.
func NoticeJSONSchema() []byte { return slices.Clone(noticeJSONSchema) }

// NoticeDoc is the text about notices to CORE, in Markdown.
func NoticeDoc() []byte { return slices.Clone(noticeDoc) }
