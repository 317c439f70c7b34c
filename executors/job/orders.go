package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// DirectMode makes threegate-init process 1 of a sandbox that no container runtime
// has made: what a runtime would do inside, init does, by Orders.
const DirectMode = "direct"

// MadeMode is what such an init executes itself as once that is done.
const MadeMode = "made"

// Descriptors that such an init is started with.
const (
	OrdersFD = 3 // it reads Orders here, to the end
	ReadyFD  = 4 // it writes a byte here once /proc is mounted, and one when it waits for its job
)

// Orders are what process 1 does to itself, and nobody else can do to it.
type Orders struct {
	Hostname string  `json:"hostname"`
	Limits   []Limit `json:"limits"`
	// Filter is the seccomp filter, as an array of struct sock_filter.
	Filter []byte `json:"filter"`
}

// Limit is a resource limit, by its name in the OCI configuration.
type Limit struct {
	Name string `json:"name"`
	Soft uint64 `json:"soft"`
	Hard uint64 `json:"hard"`
}

// Encode writes them as init reads them.
func (o Orders) Encode() ([]byte, error) { return json.Marshal(o) }

// ReadOrders reads them to the end. None at all means that who made the sandbox is gone.
func ReadOrders(r io.Reader) (Orders, error) {
	var o Orders
	data, err := io.ReadAll(io.LimitReader(r, MaxFileBytes))
	if err == nil && len(data) == 0 {
		err = errors.New("there are none")
	}
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err == nil && (o.Hostname == "" || len(o.Limits) == 0 || len(o.Filter) == 0) {
		err = errors.New("they lack a name, limits or a filter")
	}
	if err != nil {
		return Orders{}, fmt.Errorf("read the orders of the sandbox: %w", err)
	}
	return o, nil
}
