package openwop

// Capabilities is the discovery document. It names nothing that this node does not do: a family
// that is left out is one that it does not have.
type Capabilities struct {
	ProtocolVersion    string         `json:"protocolVersion"`
	SupportedEnvelopes []string       `json:"supportedEnvelopes"`
	SchemaVersions     map[string]int `json:"schemaVersions"`
	Limits             Limits         `json:"limits"`
	// SupportedTransports is empty: readers derive profiles from it, also when it is missing.
	SupportedTransports []string     `json:"supportedTransports"`
	ToolCatalog         *ToolCatalog `json:"toolCatalog,omitempty"`
	ToolHooks           *ToolHooks   `json:"toolHooks,omitempty"`

	// The following are never advertised. They are read from a document that others wrote.
	HTTPClient    *HTTPClient `json:"httpClient,omitempty"`
	TriggerBridge *Family     `json:"triggerBridge,omitempty"`
	Budget        *Family     `json:"budget,omitempty"`
	DeadLetter    *Family     `json:"deadLetter,omitempty"`
}

// Limits are those that a host enforces.
type Limits struct {
	ClarificationRounds int   `json:"clarificationRounds"`
	SchemaRounds        int   `json:"schemaRounds"`
	EnvelopesPerTurn    int   `json:"envelopesPerTurn"`
	MaxRunDurationMS    int64 `json:"maxRunDurationMs,omitempty"`
}

// Family is a group of capabilities.
type Family struct {
	Supported bool `json:"supported"`
}

// ToolCatalog licenses the reads of tools.
type ToolCatalog struct {
	Supported        bool     `json:"supported"`
	Sources          []Source `json:"sources"`
	SessionLifecycle bool     `json:"sessionLifecycle"`
}

// ToolHooks licenses the two events of a tool call.
type ToolHooks struct {
	Supported     bool `json:"supported"`
	PrePostEvents bool `json:"prePostEvents"`
}

// HTTPClient is that of packs.
type HTTPClient struct {
	Supported    bool    `json:"supported"`
	SafeFetch    *Family `json:"safeFetch,omitempty"`
	EgressPolicy *Family `json:"egressPolicy,omitempty"`
}

func (f *Family) on() bool { return f != nil && f.Supported }

// Licenses says whether a host with these capabilities may emit events of a type; if not, missing
// is the capability that it would need.
func (c *Capabilities) Licenses(t EventType) (ok bool, missing string) {
	switch t {
	case RunStarted, RunCompleted, RunFailed, NodeStarted, NodeCompleted, NodeFailed, ArtifactCreated:
		return true, ""
	case CapBreached:
		return c.Limits.MaxRunDurationMS > 0, "limits.maxRunDurationMs"
	case ToolCalled, ToolReturned:
		return c.ToolHooks != nil && c.ToolHooks.Supported && c.ToolHooks.PrePostEvents, "toolHooks.prePostEvents"
	case "tool.session.opened", "tool.session.closed":
		return c.ToolCatalog != nil && c.ToolCatalog.Supported && c.ToolCatalog.SessionLifecycle,
			"toolCatalog.sessionLifecycle"
	case "egress.decided": // a policy of the client that fetches safely
		h := c.HTTPClient
		return h != nil && h.Supported && h.SafeFetch.on() && h.EgressPolicy.on(), "httpClient.egressPolicy"
	case "trigger.subscription.state.changed", "trigger.delivery.attempted":
		return c.TriggerBridge.on(), "triggerBridge"
	case "budget.reserved", "budget.consumed", "budget.threshold.crossed", "budget.exhausted":
		return c.Budget.on(), "budget"
	case "run.dead_lettered":
		return c.DeadLetter.on(), "deadLetter"
	}
	return false, "a type of event that this node knows"
}
