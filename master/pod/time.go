package pod

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const timeForm = "2006-01-02T15:04:05.000Z"

// Time is a time as Marathon writes it: in UTC, with three digits of a second.
type Time struct{ time.Time }

// MarshalJSONTo implements [json.MarshalerTo].
func (t Time) MarshalJSONTo(e *jsontext.Encoder) error {
	if !writable(t.Time) {
		return errors.New("the year has not four digits")
	}
	return e.WriteToken(jsontext.String(FormatTime(t.Time)))
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (t *Time) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var text string
	if err := json.UnmarshalDecode(d, &text); err != nil {
		return err
	}
	at, err := ParseTime(text)
	t.Time = at
	return err
}

// FormatTime writes a time as Marathon does.
func FormatTime(t time.Time) string { return t.UTC().Format(timeForm) }

// ParseTime reads a time with any offset from UTC. Seconds may be left out, as
// Java does.
func ParseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t, err = time.Parse("2006-01-02T15:04Z07:00", text)
	}
	if err != nil {
		return time.Time{}, wrongType("is not a time as 2006-01-02T15:04:05.000Z")
	}
	return t.UTC(), nil
}

// writable reports whether a time has a form.
func writable(t time.Time) bool { y := t.UTC().Year(); return 0 <= y && y <= 9999 }

func appendTime(b []byte, t time.Time) []byte {
	b = t.UTC().AppendFormat(append(b, '"'), timeForm)
	return append(b, '"')
}

// javaTime is a time as Java writes one: without digits that are all zero. So
// are those in a specReference.
func javaTime(t time.Time) string {
	t = t.UTC()
	switch {
	case t.Nanosecond()/1e6 != 0:
		return t.Format(timeForm)
	case t.Second() != 0:
		return t.Format("2006-01-02T15:04:05Z")
	}
	return t.Format("2006-01-02T15:04Z")
}
