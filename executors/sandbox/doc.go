// Package sandbox says what a sandbox is: a closed [Policy], one pure function
// [Spec] that turns it into an OCI runtime configuration, and [Check], which
// looks at a finished configuration with its own eyes and refuses whatever a
// sandbox must not have.
//
// Nothing of a request reaches a configuration but numbers that were checked
// before; paths are the node's own. There is no switch for less isolation.
package sandbox
