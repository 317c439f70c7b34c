package monty

import "github.com/threegate/tool-exec/executors/monty/wire"

// The pinned interpreter. Its image is deploy/images/recipes/monty.
const (
	// Version is what `monty --version` prints after "monty-runtime ".
	Version = wire.MontyVersion
	// BinaryPath is where the image has it.
	BinaryPath = "/usr/bin/monty"
)
