// Package browser drives a real Chromium for tests: `make browser`. Its own tests try what the gate lets through.
package browser
