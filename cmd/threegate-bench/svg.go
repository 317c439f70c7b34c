package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"slices"
)

const (
	svgWidth  = 1000
	svgLeft   = 260
	svgRow    = 22
	svgTicks  = 5
	svgBottom = 40
)

// palette colours the steps of a request.
var palette = []string{"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#bab0ac"}

// svg draws the latencies at the smallest number of clients (a line from the
// 1st to the 99th percentile, a box from the 25th to the 75th, a mark at the
// median; logarithmic) and below it where the time of one request goes.
func (r *report) svg() []byte {
	var b bytes.Buffer
	var rows []*row
	for _, x := range r.Rows {
		if len(x.took) > 0 && x.Clients == r.Rows[0].Clients {
			rows = append(rows, x)
		}
	}
	var subjects []string
	for _, s := range r.Steps {
		if !slices.Contains(subjects, s.Subject) {
			subjects = append(subjects, s.Subject)
		}
	}
	height := 60 + svgRow*len(rows) + svgBottom
	for _, s := range subjects {
		height += 30 + svgRow*(2+len(r.parts(s)))
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", svgWidth, height+20)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/>`+"\n")
	y := 30
	if len(rows) > 0 {
		y = drawLatencies(&b, rows, y)
	}
	for _, s := range subjects {
		y = r.drawSteps(&b, s, y+20)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func drawLatencies(b *bytes.Buffer, rows []*row, y int) int {
	low, high := math.Inf(1), 0.0
	for _, x := range rows {
		low, high = min(low, at(x.took, 1)), max(high, x.P99)
	}
	scale := func(v float64) float64 {
		return svgLeft + (svgWidth-svgLeft-80)*math.Log(v/low)/max(math.Log(high/low), 0.01)
	}
	fmt.Fprintf(b, `<text x="10" y="%d" font-weight="bold">Latency, ms, %d at a time (1st, 25th, 50th, 75th, 99th percentile; logarithmic)</text>`+"\n", y, rows[0].Clients)
	y += 14
	top := y
	for _, x := range rows {
		mid := y + svgRow/2
		fmt.Fprintf(b, `<text x="10" y="%d">%s</text>`+"\n", mid+4, html.EscapeString(x.name()))
		fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#4e79a7"/>`+"\n", scale(at(x.took, 1)), scale(x.P99), mid, mid)
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="12" fill="#a0cbe8"/>`+"\n", scale(at(x.took, 25)), mid-6, max(scale(at(x.took, 75))-scale(at(x.took, 25)), 1))
		fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#e15759" stroke-width="2"/>`+"\n", scale(x.P50), scale(x.P50), mid-8, mid+8)
		fmt.Fprintf(b, `<text x="%d" y="%d">%.1f</text>`+"\n", svgWidth-70, mid+4, x.P50)
		y += svgRow
	}
	for i := range svgTicks + 1 {
		v := low * math.Pow(high/low, float64(i)/svgTicks)
		fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%.1f</text>`+"\n", scale(v), scale(v), top, y, scale(v), y+16, v)
	}
	return y + svgBottom
}

// parts are the steps of a subject that follow each other.
func (r *report) parts(subject string) []stepRow {
	var ps []stepRow
	for _, s := range r.Steps {
		if s.Subject == subject && !s.Part && s.Step != "TOTAL" {
			ps = append(ps, s)
		}
	}
	return ps
}

func (r *report) drawSteps(b *bytes.Buffer, subject string, y int) int {
	parts := r.parts(subject)
	sum := 0.0
	for _, p := range parts {
		sum += p.Micros
	}
	fmt.Fprintf(b, `<text x="10" y="%d" font-weight="bold">Where the time goes: %s (medians, %.1f ms together)</text>`+"\n", y, html.EscapeString(subject), sum/1000)
	y += 12
	x, offset := 10.0, 0.0
	for i, p := range parts {
		w := p.Micros / max(sum, 1) * (svgWidth - 20)
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="18" fill="%s"/>`+"\n", x, y, w, palette[i%len(palette)])
		x += w
	}
	y += svgRow
	for i, p := range parts {
		w := p.Micros / max(sum, 1) * (svgWidth - svgLeft - 90)
		fmt.Fprintf(b, `<text x="10" y="%d">%s</text><rect x="%.1f" y="%d" width="%.1f" height="14" fill="%s"/><text x="%d" y="%d">%.0f µs</text>`+"\n",
			y+14, html.EscapeString(p.Step), svgLeft+offset, y+3, max(w, 0.5), palette[i%len(palette)], svgWidth-80, y+14, p.Micros)
		offset += w
		y += svgRow
	}
	return y + 10
}
