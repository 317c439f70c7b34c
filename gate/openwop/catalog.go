package openwop

import (
	"time"

	"github.com/threegate/tool-exec/gate/config"
	"github.com/threegate/tool-exec/schemas/openwop"
)

// The tools of a node, after ToolPrefix and NodeTypePrefix.
const (
	toolERA   = "era"
	toolMonty = "monty"
)

// outOfBand is part of each description: "always" alone means an interrupt of the protocol's.
const outOfBand = " Each request is a file that a person approved before; nothing in this protocol can approve, " +
	"start or change one."

// Descriptors are the tools that a node has, era before monty. The list is never nil.
func Descriptors(c *config.Node) []openwop.ToolDescriptor {
	tools := []openwop.ToolDescriptor{}
	add := func(name, title, description string, egress openwop.Egress) {
		tools = append(tools, openwop.ToolDescriptor{ToolID: openwop.ToolPrefix + name,
			Source: openwop.SourceHostExtension, SafetyTier: openwop.TierExec, Title: title,
			Description: description + outOfBand, Egress: egress, Approval: openwop.ApprovalAlways,
			ReplayPolicy: openwop.ReplayNonDeterministic})
	}
	egress := openwop.EgressNone
	if len(c.Network.AllowedDomains) > 0 {
		egress = openwop.EgressHostOwned
	}
	if len(c.Backends.ERA.Languages) > 0 {
		add(toolERA, "Run a command in a language image", "Runs one command in a fresh container.", egress)
	}
	if c.Backends.Monty.Image != "" {
		add(toolMonty, "Run a program in Monty", "Runs one program of a Python subset in a fresh container.",
			openwop.EgressNone)
	}
	return tools
}

// Discover is a node's discovery document: what this build does, and nothing else.
func Discover(c *config.Node) *openwop.Capabilities {
	return &openwop.Capabilities{
		ProtocolVersion:    openwop.ProtocolVersion,
		SupportedEnvelopes: []string{}, SchemaVersions: map[string]int{}, SupportedTransports: []string{},
		Limits: openwop.Limits{
			MaxRunDurationMS: (time.Duration(c.Limits.TimeSec) * time.Second).Milliseconds()},
		ToolCatalog: &openwop.ToolCatalog{Supported: true, Sources: []openwop.Source{openwop.SourceHostExtension}},
		ToolHooks:   &openwop.ToolHooks{Supported: true, PrePostEvents: true},
	}
}
