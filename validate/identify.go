package validate

import "github.com/threegate/tool-exec/validate/document"

// RequestID reads the id that a request names, also of one that Request
// refuses, so that a refusal can be found by it. It is "" unless it is well
// formed; nothing is said of the rest of the document.
func RequestID(raw []byte, p Policy) string {
	doc, _ := document.Parse(raw, p.MaxRequestBytes)
	if doc == nil || doc.Front == nil {
		return ""
	}
	id, ok := doc.Front.String(document.NewReport(nil), "request_id")
	if !ok || len(id) > maxRequestID || !safeID.MatchString(id) {
		return ""
	}
	return id
}
