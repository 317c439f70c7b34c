package desk

import "strconv"

// Measures of the chart, in units of its own.
const (
	chartHeight = 120
	barWidth    = 28
	barGap      = 12
)

// bar is one part of a day's column.
type bar struct {
	X, Y, Width, Height int
	Kind, Says          string
}

// chart is a column for each day.
type chart struct {
	Width, Height, Base int
	Bars                []bar
	Labels              []label
	Days                []day
	Most                int
}

type label struct {
	X    int
	Text string
}

func newChart(days []day) chart {
	c := chart{Width: len(days)*(barWidth+barGap) + barGap, Height: chartHeight + 24, Base: chartHeight, Days: days}
	for _, d := range days {
		c.Most = max(c.Most, d.Delivered+d.Refused+d.Results)
	}
	for i, d := range days {
		x, y := barGap+i*(barWidth+barGap), chartHeight
		for _, part := range []struct {
			n          int
			kind, noun string
		}{{d.Delivered, "delivered", "delivered"}, {d.Refused, "refused", "requests refused"},
			{d.Results, "withheld", "results refused"}} {
			if part.n == 0 {
				continue
			}
			h := max(2, part.n*(chartHeight-8)/c.Most)
			y -= h
			says := d.Date + ": " + strconv.Itoa(part.n) + " " + part.noun
			c.Bars = append(c.Bars, bar{x, y, barWidth, h, part.kind, says})
		}
		c.Labels = append(c.Labels, label{x + barWidth/2, d.Date[8:]})
	}
	return c
}
