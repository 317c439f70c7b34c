// Package durable is the one writer of the node: every change of a file or a
// folder that must survive a crash goes through a [Disk].
//
// A file is written to a dot-prefixed temporary in its own folder, synced,
// closed, renamed into place and its folder synced. A failed sync is never
// ignored and never retried: after it the kernel may call lost pages clean.
// Every single step has a name and passes the [Seam], so that a test can make
// each of them fail, tear or be the last one before a crash.
//
// The package trusts the paths that it is given and never looks into data.
package durable
