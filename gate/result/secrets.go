package result

import "github.com/threegate/tool-exec/validate/secrets"

// Secrets are those of all channels of a run: streams, files, and the names and words that a result would hold. What
// one channel shows as a secret is masked in all, plain or encoded.
func Secrets(in *Input) *secrets.Set {
	set := &secrets.Set{}
	set.Add(in.Policy.Secrets(in.Stdout.Raw))
	set.Add(in.Policy.Secrets(in.Stderr.Raw))
	for _, f := range in.Files {
		set.Add(f.Verdict.Secrets)
	}
	out := &in.Outcome.Outcome
	words := []string{in.Request.Purpose}
	for _, o := range in.Request.Outputs {
		words = append(words, o.Description)
	}
	for _, f := range in.Outcome.Collected.Files {
		words = append(words, f.Path)
	}
	for _, r := range in.Outcome.Collected.Refused {
		words = append(words, r.Path)
	}
	for _, hosts := range [][]string{out.NetworkDestinations, out.NetworkRefused, out.NetworkFailed} {
		words = append(words, hosts...)
	}
	for _, w := range words {
		set.Add(in.Policy.Secrets([]byte(w + "\n")))
	}
	return set
}
