package sandbox

import (
	"runtime"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// nativeArch is the one ABI whose system calls a sandbox may make.
func nativeArch() []specs.Arch {
	switch runtime.GOARCH {
	case "amd64":
		return []specs.Arch{specs.ArchX86_64}
	case "arm64":
		return []specs.Arch{specs.ArchAARCH64}
	default:
		// An empty list means the runtime's own architecture.
		return nil
	}
}
