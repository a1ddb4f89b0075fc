package duration

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseReadsWhatMesosAndGoWrite(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"15secs": 15 * time.Second, "10mins": 10 * time.Minute, "2weeks": 14 * 24 * time.Hour, "1days": 24 * time.Hour,
		"1.5mins": 90 * time.Second, "1000ms": time.Second, "3us": 3 * time.Microsecond, "0ns": 0, "-1hrs": -time.Hour,
		"1m30s": 90 * time.Second, "1e3ms": time.Second,
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestParseRefusesWhatIsNoDuration(t *testing.T) {
	for _, text := range []string{"", "15", "secs", "15 secs", "15secs ", "1e300weeks", "NaNsecs", "15fortnights", "--1secs"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v; want an error", text, got)
		}
	}
}

func TestFormatTakesTheLongestUnit(t *testing.T) {
	for d, want := range map[time.Duration]string{
		15 * time.Second: "15secs", 90 * time.Second: "1.5mins", 14 * 24 * time.Hour: "2weeks", 0: "0ns",
		time.Millisecond: "1ms", -time.Hour: "-1hrs", 999: "999ns",
	} {
		if got := Format(d); got != want {
			t.Errorf("Format(%v) = %q; want %q", d, got, want)
		}
	}
}

func TestParseUndoesFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "d"))
		got, err := Parse(Format(d))
		if diff := got - d; err != nil || diff.Abs() > 1 { // what a float64 loses
			t.Fatalf("%v was written as %q and read as %v, %v", d, Format(d), got, err)
		}
	})
}
