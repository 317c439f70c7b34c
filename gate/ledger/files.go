package ledger

import "fmt"

// Files that a node keeps in a job's folder, next to those of the spool.
const (
	FileAdmission = "admission.json" // what was checked and will run
	FileOutcome   = "outcome.json"   // how the run ended, and what was taken out of the sandbox
	FileResult    = "result.md"
	FileStagedIn  = "staged-in" // the folder of CORE's that the result was staged in
	FileStdout    = "stdout"
	FileStderr    = "stderr"
	DirOut        = "out"
	FileTimeline  = "timeline.jsonl" // of tool calls: see toolruntime/contract; only if the run told of them
	DirGiven      = "given"          // what the node puts into /in: the registry of a profile
	DirRecheck    = "recheck"        // of the second run: what it was given besides the inputs, and its streams
	FileSpans     = "spans.json"     // see schemas.Spans
	FileWithheld  = "withheld.json"  // what the result does not hold; only if something is withheld
	FileArtifacts = "artifacts.json" // of a rendering: which files go with it, and where they lie
	FileFilters   = "filters.json"   // what filters said; only if the node has filters

	// The streams as they are delivered, where that is not as they are.
	FileStdoutShown = FileStdout + ShownSuffix
	FileStderrShown = FileStderr + ShownSuffix
	ShownSuffix     = ".shown"
)

// ShownOutput is the file in a job's folder that holds the collected file number i as it is delivered, if a part of it
// is withheld.
func ShownOutput(i int) string { return fmt.Sprintf("output-%d%s", i, ShownSuffix) }
