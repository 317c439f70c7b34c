// Package browser tries in a real Chromium what the gate lets through: `make browser`. All of it is tests.
package browser
