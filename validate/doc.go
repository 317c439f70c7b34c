// Package validate turns the bytes of a request or a result into a typed
// document and findings. It is pure: no clock, disk or network of its own. Its
// input is hostile; every size is bounded before it is looked at.
package validate
