package validate

import (
	_ "embed"
	"sync"
	"time"
)

// Prepare reads and compiles what the first request and the first result would else wait
// for: rules, patterns, models, 64 MB of allocations. It judges a small document of each
// kind, which has no say in what others are found to be. Request and Result may be called
// at any time, also meanwhile. Later calls wait for the end of the first and do nothing.
func Prepare() { prepared() }

var prepared = sync.OnceFunc(func() {
	p := DefaultPolicy(preparedAt)
	Request(preparedName, []byte(preparedRequest), p)
	Result("", []byte(preparedResult), p)
})

// preparedAt is when the documents are of.
var preparedAt = time.Date(2026, time.February, 9, 12, 0, 0, 0, time.UTC)

const preparedName = "TR-20260209-110000Z-prepare.md"

var (
	//go:embed prepare/request.md
	preparedRequest string
	//go:embed prepare/result.md
	preparedResult string
)
