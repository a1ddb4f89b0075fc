package jsonout_test

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"testing"
	"unicode/utf8"

	"github.com/eaba02dc/registrar/internal/jsonout"
)

func TestDoublesAreWrittenAsAMasterWritesThem(t *testing.T) {
	for _, c := range []struct {
		value float64
		want  string
	}{
		{0, "0.0"}, {math.Copysign(0, -1), "-0.0"}, {3, "3.0"}, {-3, "-3.0"}, {0.1, "0.1"}, {0.30000000000000004, "0.30000000000000004"},
		{15026, "15026.0"}, {0.001, "0.001"}, {7.05, "7.05"}, {7.005, "7.005"}, {0.0009, "0.0009"}, {999999999999.999, "999999999999.999"}, {1e12 + 0.5, "1000000000000.5"}, {1542766750.610403, "1542766750.610403"}, {604800000, "604800000.0"},
		{1 << 53, "9007199254740992.0"}, {1e20, "100000000000000000000.0"}, {123456789e12, "123456789000000000000.0"},
		{1e21, "1e21"}, {1.5e21, "1.5e21"}, {1e22, "1e22"}, {1e100, "1e100"}, {-2.5e300, "-2.5e300"},
		{1e-5, "0.00001"}, {1e-6, "0.000001"}, {1.5e-6, "0.0000015"}, {9.9e-7, "9.9e-7"}, {1e-7, "1e-7"}, {-1.25e-12, "-1.25e-12"},
		{math.MaxFloat64, "1.7976931348623157e308"}, {math.SmallestNonzeroFloat64, "5e-324"},
	} {
		if got := string(jsonout.Float([]byte("x"), c.value)); got != "x"+c.want {
			t.Errorf("Float(%v) = %q, want %q behind the x", c.value, got, c.want)
		}
	}
}

// double is how a double may look: a point or an exponent always tells it from
// a whole number.
var double = regexp.MustCompile(`^-?(\d+\.\d+|\d(\.\d+)?e-?[1-9]\d*)$`)

func FuzzDoubleReadsBackWithTheFewestDigits(f *testing.F) {
	for _, v := range []float64{0, 1, 0.1, 1e21, 1e-6, 1e-7, 5e-324, math.MaxFloat64, 999999999999999900000, 123.456} {
		f.Add(math.Float64bits(v))
	}
	f.Fuzz(func(t *testing.T, bits uint64) {
		v := math.Float64frombits(bits)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Skip("is not finite")
		}
		text := string(jsonout.Float(nil, v))
		if !double.MatchString(text) {
			t.Errorf("%q does not look like a double", text)
		}
		back, err := strconv.ParseFloat(text, 64)
		if err != nil || math.Float64bits(back) != bits {
			t.Errorf("%q reads back as %v (%v), was %v", text, back, err, v)
		}
		if got, want := digits(text), digits(strconv.FormatFloat(v, 'e', -1, 64)); got != want {
			t.Errorf("%q has digits %q, want %q", text, got, want)
		}
	})
}

var (
	notDigits = regexp.MustCompile(`e.*|\D`)
	zeros     = regexp.MustCompile(`^0+|0+$`)
)

// digits are those of a number that mean something.
func digits(number string) string {
	return zeros.ReplaceAllString(notDigits.ReplaceAllString(number, ""), "")
}

func TestOnlyWhatJSONDemandsIsEscaped(t *testing.T) {
	for in, want := range map[string]string{
		"": `""`, "plain": `"plain"`, `a"b\c`: `"a\"b\\c"`, "a/b<&>": `"a/b<&>"`, "ä€😀\u2028": "\"ä€😀\u2028\"",
		"\b\f\n\r\t": `"\b\f\n\r\t"`, "\x00\x1f\x7f": "\"\\u0000\\u001F\x7f\"", `"`: `"\""`,
	} {
		if got := string(jsonout.String(nil, in)); got != want {
			t.Errorf("String(%q) = %s, want %s", in, got, want)
		}
	}
}

func FuzzStringReadsBack(f *testing.F) {
	f.Add("a\"\\\n\x01ä")
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			t.Skip("is not text")
		}
		var back string
		if err := json.Unmarshal(jsonout.String(nil, s), &back); err != nil || back != s {
			t.Errorf("%q reads back as %q (%v)", s, back, err)
		}
	})
}

func TestAListOfNothingIsAnEmptyArray(t *testing.T) {
	if got := string(jsonout.List(nil, nil, jsonout.Int)); got != "[]" {
		t.Errorf("is %s", got)
	}
	if got := string(jsonout.List(nil, []bool{true, false}, jsonout.Bool)); got != "[true,false]" {
		t.Errorf("is %s", got)
	}
	if got := string(jsonout.List(nil, []uint64{math.MaxUint64, 0}, jsonout.Uint)); got != "[18446744073709551615,0]" {
		t.Errorf("is %s", got)
	}
}
