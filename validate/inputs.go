package validate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/document"
)

// Inputs compares the declared inputs of req with the files that came along:
// files maps the path of each ("/in/...") to the SHA-256 of its claimed bytes
// in small hex digits. Every difference blocks.
func Inputs(req *schemas.Request, files map[string]string, p Policy) []schemas.Finding {
	rep := document.NewReport(nil)
	declared := map[string]bool{}
	if req != nil {
		for _, in := range req.Inputs {
			declared[in.Path] = true
			got, ok := files[in.Path]
			switch {
			case !ok:
				rep.Whole("request.inputs.missing", "the input "+document.Quote(in.Path)+" did not come along with the request", "put the file into the request's .inputs folder; threegate promote does so")
			case got != in.SHA256:
				rep.Whole("request.inputs.hash", fmt.Sprintf("the input %s is not the file that was approved: its SHA-256 is %s, declared is %s", document.Quote(in.Path), document.Quote(got), document.Quote(in.SHA256)),
					"review the file that is there and approve the request again: threegate approve")
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if !declared[path] {
			rep.Whole("request.inputs.extra", "the file "+document.Quote(path)+" came along and is not declared", "declare it with its hash and have the request approved again, or remove it")
		}
	}
	return p.judge(rep.Findings())
}
