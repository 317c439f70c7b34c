package monty

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/threegate/tool-exec/executors/monty/wire"
)

// date and clock are what the messages of package datetime share.
type (
	date interface {
		GetYear() int32
		GetMonth() int32
		GetDay() int32
	}
	clock interface {
		GetHour() int32
		GetMinute() int32
		GetSecond() int32
		GetMicrosecond() int32
	}
)

func isoDate(d date) string {
	return fmt.Sprintf("%04d-%02d-%02d", d.GetYear(), d.GetMonth(), d.GetDay())
}

// isoTime is a time with its offset from UTC in seconds, or nil for a naive one.
func isoTime(c clock, offset *int32) string {
	t := fmt.Sprintf("%02d:%02d:%02d", c.GetHour(), c.GetMinute(), c.GetSecond())
	if us := c.GetMicrosecond(); us != 0 {
		t += fmt.Sprintf(".%06d", us)
	}
	if offset != nil {
		t += offsetText(*offset)
	}
	return t
}

func offsetText(s int32) string {
	sign := "+"
	if s < 0 {
		sign, s = "-", -s
	}
	t := fmt.Sprintf("%s%02d:%02d", sign, s/3600, s/60%60)
	if s%60 != 0 {
		t += fmt.Sprintf(":%02d", s%60)
	}
	return t
}

// zoneText is Python's str of a timezone.
func zoneText(z *wire.TimeZone) string {
	switch {
	case z.Name != nil:
		return z.GetName()
	case z.GetOffsetSeconds() == 0:
		return "UTC"
	}
	return "UTC" + offsetText(z.GetOffsetSeconds())
}

// deltaText is the exact number of seconds.
func deltaText(d *wire.TimeDelta) string {
	us := big.NewInt(int64(d.GetDays())*86400 + int64(d.GetSeconds()))
	us.Mul(us, big.NewInt(1_000_000)).Add(us, big.NewInt(int64(d.GetMicroseconds())))
	sign := ""
	if us.Sign() < 0 {
		sign = "-"
		us.Neg(us)
	}
	sec, rest := new(big.Int).DivMod(us, big.NewInt(1_000_000), new(big.Int))
	if rest.Sign() == 0 {
		return sign + sec.String()
	}
	return strings.TrimRight(fmt.Sprintf("%s%s.%06d", sign, sec, rest.Int64()), "0")
}
