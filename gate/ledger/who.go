package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// MaxInputDigests is how many digests of inputs one event has.
const MaxInputDigests = 100

// Inputs are the input files of a request.
type Inputs struct {
	Files int `json:"files"`
	// List is the sha256 of what sha256sum prints of all of them in the order of their paths.
	List string `json:"listSha256"`
	// SHA256 are the digests of the first MaxInputDigests in that order.
	SHA256 []string `json:"sha256"`
}

// MaxTook is how many requests one event names.
const MaxTook = 200

// Took are requests that took something as input.
type Took struct {
	Requests int      `json:"requests"`
	IDs      []string `json:"requestIds,omitempty"` // the first MaxTook, sorted
	// Unlisted says that the files of the result were not known any longer, so that only its document was looked for.
	Unlisted bool `json:"unlisted,omitempty"`
}

// MaxImages is how many images one event names. The digest of the configuration covers all.
const MaxImages = 200

// Format is what a record has from a NodeStarted or NodeReloaded of this build on: 1 is that a clock which was set back
// is told of.
const Format = 1

// Node is what a node decides by from a NodeStarted or NodeReloaded on.
type Node struct {
	Version string `json:"version"` // of the program
	// Format is that of the record from here on. A record from before this field has 0.
	Format int `json:"format,omitempty"`
	// Config is the sha256 of the effective configuration: threegate config show prints it.
	Config string `json:"configSha256"`
	// Signers are the sha256 of the allowed_signers texts. spool.DirSigners keeps each text under that name.
	Signers []string `json:"signersSha256,omitempty"`
	// Images are the digests of the images by the name of their language.
	Images map[string]string `json:"images,omitempty"`
}

// InputsOf is what an event has of input files, given as digests by path. Without files it is nil.
func InputsOf(digests map[string]string) *Inputs {
	if len(digests) == 0 {
		return nil
	}
	in := &Inputs{Files: len(digests)}
	list := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(digests)) {
		fmt.Fprintf(list, "%s  %s\n", digests[path], path)
		if len(in.SHA256) < MaxInputDigests {
			in.SHA256 = append(in.SHA256, digests[path])
		}
	}
	in.List = hex.EncodeToString(list.Sum(nil))
	return in
}
