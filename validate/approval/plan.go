package approval

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/threegate/tool-exec/schemas"
)

// PlanNamespace is what the signature of a plan must be made for.
const PlanNamespace = "threegate-plan"

// PlanVersion is the version of a plan that this build reads.
const PlanVersion = 1

// maxShown bounds a value of a plan where it is told.
const maxShown = 120

// ErrPlan says that something is no plan.
var ErrPlan = errors.New("no plan of this request")

// Plan is what an approver saw that a request would run as: more than its bytes say. It is signed next to
// the request, and what would run is compared with it.
type Plan struct {
	Version       int         `json:"version"`
	RequestID     string      `json:"request_id"`
	RequestSHA256 string      `json:"request_sha256"`
	Inputs        []PlanInput `json:"inputs"`
	Backend       string      `json:"backend"`
	Language      string      `json:"language"`
	Image         string      `json:"image"`
	Runtime       string      `json:"runtime"`
	Limits        []PlanLimit `json:"limits"`
	Network       string      `json:"network"`
	Domains       []string    `json:"domains"`
	// Registry is the SHA-256 of the registry that the node gives to the run, by its language's profile.
	Registry string `json:"registry,omitempty"`
	// Rules is the version of the rules that the request was judged by. It is on record, and not compared.
	Rules string `json:"rules"`
}

// PlanInput is an input file of a plan.
type PlanInput struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// PlanLimit is a limit of a run, under its name in executors.Limits.
type PlanLimit struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
}

// Encode is the file of a plan.
func (p Plan) Encode() ([]byte, error) {
	data, err := json.MarshalIndent(p, "", "  ")
	return append(data, '\n'), err
}

// ParsePlan reads a plan, strictly: only as Encode writes it, so that no two readers read it differently.
func ParsePlan(data []byte) (Plan, error) {
	var p Plan
	if err := schemas.DecodeStrict(data, &p); err != nil {
		return Plan{}, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	if p.Version != PlanVersion {
		return Plan{}, fmt.Errorf("%w: its version is %d, not %d", ErrPlan, p.Version, PlanVersion)
	}
	if again, err := p.Encode(); err != nil || !bytes.Equal(again, data) {
		return Plan{}, fmt.Errorf("%w: it is not as threegate approve writes it", ErrPlan)
	}
	return p, nil
}

// VerifyPlan is VerifyFor for a plan and its signature.
func VerifyPlan(allowedSigners []byte, approver string, plan, sig []byte, at time.Time) error {
	return VerifyFor(PlanNamespace, allowedSigners, approver, plan, sig, at)
}

// Drift names what is not as it was planned, with both values, in a fixed order. The names are request,
// inputs, backend, image, registry, runtime, limits and network.
func (p Plan) Drift(now Plan) []string {
	var drift []string
	differ := func(name, then, now string) {
		if then != now {
			drift = append(drift, fmt.Sprintf("%s (planned %.*s, now %.*s)", name, maxShown, then, maxShown, now))
		}
	}
	differ("request", p.RequestID, now.RequestID)
	differ("request", p.RequestSHA256, now.RequestSHA256)
	for _, d := range changed(p.Inputs, now.Inputs, func(i PlanInput) (string, string) { return i.Path, i.SHA256 }) {
		differ("inputs: "+d.name, d.then, d.now)
	}
	differ("backend", p.Backend+" "+p.Language, now.Backend+" "+now.Language)
	differ("image", p.Image, now.Image)
	differ("registry", cmp.Or(p.Registry, "none"), cmp.Or(now.Registry, "none"))
	differ("runtime", p.Runtime, now.Runtime)
	for _, d := range changed(p.Limits, now.Limits, func(l PlanLimit) (string, string) {
		return l.Name, fmt.Sprint(l.Value)
	}) {
		differ("limits: "+d.name, d.then, d.now)
	}
	differ("network", strings.Join(append([]string{p.Network}, p.Domains...), " "),
		strings.Join(append([]string{now.Network}, now.Domains...), " "))
	return drift
}

// change is a named value that differs between two lists.
type change struct{ name, then, now string }

func changed[T any](then, now []T, of func(T) (name, value string)) []change {
	var list []change
	for _, t := range then {
		name, value := of(t)
		list = append(list, change{name, value, "none"})
	}
	for _, n := range now {
		name, value := of(n)
		i := slices.IndexFunc(list, func(c change) bool { return c.name == name && c.now == "none" })
		if i < 0 {
			list = append(list, change{name, "none", value})
			continue
		}
		list[i].now = value
	}
	return list
}
