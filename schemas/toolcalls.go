package schemas

// ToolCalls sums up the timeline of a run that called tools: see toolruntime/contract.
type ToolCalls struct {
	// SHA256 is that of the timeline as it was kept.
	SHA256 string `json:"sha256"`
	Calls  int    `json:"calls"`
	// Codes counts calls by their code, OK for those that succeeded.
	Codes map[string]int `json:"codes,omitempty"`
	// Fault says what is wrong with the timeline, if anything is. Calls and Codes tell of what comes before.
	Fault TimelineFault `json:"fault,omitempty"`
}

// TimelineFault is one of the constants below, or "".
type TimelineFault string

// What can be wrong with a timeline. A sound threegate-tools causes neither.
const (
	// TimelineCut: more was written than is kept.
	TimelineCut TimelineFault = "cut"
	// TimelineMalformed: a line is no entry as threegate-tools writes it.
	TimelineMalformed TimelineFault = "malformed"
)
