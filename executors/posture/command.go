package posture

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// Words after the mode's own.
const (
	ArgNetworked = "networked"  // Sandbox.Networked
	ArgOwnKernel = "own-kernel" // Sandbox.OwnKernel
	ArgUnmapped  = "unmapped"   // Sandbox.Unmapped
	argNothing   = "nothing"    // for a technique that executes this program
)

// Main is the payload: it writes a [Finding] a line to stdout and returns the
// exit code: 0 if nothing worked, 1 if something did, 2 on wrong usage.
func Main(args []string) int {
	var in Sandbox
	for _, a := range args {
		switch a {
		case ArgNetworked:
			in.Networked = true
		case ArgOwnKernel:
			in.OwnKernel = true
		case ArgUnmapped:
			in.Unmapped = true
		case argNothing:
			return 0
		default:
			fmt.Fprintln(os.Stderr, "posture takes no arguments but "+ArgNetworked+", "+ArgOwnKernel+" and "+ArgUnmapped)
			return 2
		}
	}
	code := 0
	enc := json.NewEncoder(os.Stdout)
	for _, f := range Run(in) {
		if err := enc.Encode(f); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		if f.Verdict == Allowed {
			code = 1
		}
	}
	return code
}

const maxReadBytes = 1 << 20

func readAll(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxReadBytes))
	return string(data), err
}
