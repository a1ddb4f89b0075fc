// Package duration reads and writes spans of time as Mesos does: "15secs",
// "1.5mins", "2weeks" (stout's Duration).
package duration

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// units are Mesos's, the longest first.
var units = []struct {
	name string
	is   time.Duration
}{
	{"weeks", 7 * 24 * time.Hour}, {"days", 24 * time.Hour}, {"hrs", time.Hour}, {"mins", time.Minute},
	{"secs", time.Second}, {"ms", time.Millisecond}, {"us", time.Microsecond}, {"ns", time.Nanosecond},
}

// Parse reads a duration as Mesos writes it, or as Go does ("1m30s"). Of a
// fraction of a nanosecond, only whole ones are kept.
func Parse(text string) (time.Duration, error) {
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	for _, u := range units {
		if text[len(number):] != u.name {
			continue
		}
		n, err := strconv.ParseFloat(number, 64)
		if d := n * float64(u.is); err == nil && math.Abs(d) < math.MaxInt64 {
			return time.Duration(d), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil {
		return d, nil
	}
	return 0, fmt.Errorf("%q is no duration: want a number and a unit, as in 15secs, 1.5mins, 2weeks (ns, us, ms, secs, mins, hrs, days, weeks)", text)
}

// Format writes d as Mesos does: in the longest unit of which it is at least one.
func Format(d time.Duration) string {
	for _, u := range units {
		if d.Abs() >= u.is {
			return strconv.FormatFloat(float64(d)/float64(u.is), 'g', -1, 64) + u.name
		}
	}
	return "0ns"
}

// Value is a duration as the value of a flag.
type Value time.Duration

// Set implements [github.com/spf13/pflag.Value].
func (v *Value) Set(text string) error {
	d, err := Parse(text)
	if err == nil {
		*v = Value(d)
	}
	return err
}

// String is Format.
func (v *Value) String() string { return Format(time.Duration(*v)) }

// Type is the word for it in a command's help; pflag's own durations, which
// know no weeks, have another.
func (*Value) Type() string { return "span" }
