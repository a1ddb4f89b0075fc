package pod

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Detail says what is wrong with one part of a definition.
type Detail struct {
	Path   string   `json:"path"` // "/containers(0)/name"
	Errors []string `json:"errors"`
}

// SyntaxError says that a text is no JSON, or too long for a definition.
type SyntaxError struct{ Reason string }

func (e *SyntaxError) Error() string { return "Invalid JSON: " + e.Reason }

// TypeError says that something in a definition has the wrong type.
type TypeError struct{ Details []Detail }

func (e *TypeError) Error() string { return "Invalid JSON: " + inWords(e.Details) }

// InvalidError says what in a definition cannot be.
type InvalidError struct{ Details []Detail }

func (e *InvalidError) Error() string { return "Object is not valid: " + inWords(e.Details) }

func inWords(details []Detail) string {
	var all []string
	for _, d := range details {
		all = append(all, d.Path+" "+strings.Join(d.Errors, ", "))
	}
	return strings.Join(all, "; ")
}

func decode(text []byte) (*Definition, error) {
	if len(text) > MaxDefinition {
		return nil, &SyntaxError{fmt.Sprintf("it has %d bytes, at most %d are allowed", len(text), MaxDefinition)}
	}
	d := &Definition{Scaling: defaultScaling(), Scheduling: defaultScheduling(), Executor: defaultExecutor()}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, readError(err)
	}
	d.fill()
	return d, nil
}

// depthOf is how deep objects and arrays stand in one another.
func depthOf(text []byte) (depth int) {
	for d := jsontext.NewDecoder(bytes.NewReader(text)); ; depth = max(depth, d.StackDepth()) {
		if _, err := d.ReadToken(); err != nil {
			return depth
		}
	}
}

func readError(err error) error {
	var typ *json.SemanticError
	if !errors.As(err, &typ) {
		return &SyntaxError{strings.TrimPrefix(err.Error(), "jsontext: ")}
	}
	reason := fmt.Sprintf("is not %s", what(typ))
	var ours wrongType
	if errors.As(err, &ours) {
		reason = string(ours)
	}
	return &TypeError{[]Detail{{marathonPath(typ.JSONPointer), []string{reason}}}}
}

// wrongType says of what should be one of several types that it is none.
type wrongType string

func (e wrongType) Error() string { return string(e) }

// what is wanted in place of what an error tells of.
func what(e *json.SemanticError) string {
	if e.GoType == nil {
		return "acceptable"
	}
	switch e.GoType.Kind().String() {
	case "string":
		return "a string"
	case "bool":
		return "a boolean"
	case "int32", "int64":
		return "a whole number of that size"
	case "float64":
		return "a number"
	case "slice":
		return "an array"
	}
	return "an object"
}

// marathonPath is a path in the words of Marathon, which has places in arrays in
// parentheses.
func marathonPath(p jsontext.Pointer) string {
	var b strings.Builder
	inMap := false
	for part := range p.Tokens() {
		if !inMap && part != "" && strings.Trim(part, "0123456789") == "" {
			fmt.Fprintf(&b, "(%s)", part)
		} else {
			b.WriteString("/" + part)
		}
		inMap = part == "labels" || part == "environment" || part == "secrets"
	}
	return cmp.Or(b.String(), "/")
}

// Variable is a value, or the name of the secret that has it.
type Variable struct {
	Value  string
	Secret string // "" if Value counts
}

// MarshalJSONTo implements [json.MarshalerTo].
func (v Variable) MarshalJSONTo(e *jsontext.Encoder) error {
	if v.Secret == "" {
		return e.WriteToken(jsontext.String(v.Value))
	}
	return json.MarshalEncode(e, SecretRef{v.Secret})
}

// SecretRef names a secret of the pod.
type SecretRef struct {
	Secret string `json:"secret"`
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (v *Variable) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case '"':
		return json.UnmarshalDecode(d, &v.Value)
	case '{':
		var ref SecretRef
		if err := json.UnmarshalDecode(d, &ref); err != nil {
			return err
		}
		if v.Secret = ref.Secret; v.Secret == "" {
			return wrongType("is an object without a secret")
		}
		return nil
	}
	return wrongType("is neither a string nor an object with a secret")
}

// Limit is a number, or no limit.
type Limit struct {
	Number    float64
	Unlimited bool
}

const unlimited = "unlimited"

// MarshalJSONTo implements [json.MarshalerTo].
func (l Limit) MarshalJSONTo(e *jsontext.Encoder) error {
	if l.Unlimited {
		return e.WriteToken(jsontext.String(unlimited))
	}
	return e.WriteToken(jsontext.Float(l.Number))
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (l *Limit) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '0' {
		return json.UnmarshalDecode(d, &l.Number)
	}
	var text string
	if d.PeekKind() != '"' || json.UnmarshalDecode(d, &text) != nil || text != unlimited {
		return wrongType("is neither a number nor " + unlimited)
	}
	l.Unlimited = true
	return nil
}

// UnreachableStrategy says what becomes of an instance whose agent is unreachable.
type UnreachableStrategy struct {
	Disabled             bool
	InactiveAfterSeconds int64
	ExpungeAfterSeconds  int64
}

const disabled = "disabled"

type unreachableTimes struct {
	InactiveAfterSeconds int64 `json:"inactiveAfterSeconds"`
	ExpungeAfterSeconds  int64 `json:"expungeAfterSeconds"`
}

// MarshalJSONTo implements [json.MarshalerTo].
func (u UnreachableStrategy) MarshalJSONTo(e *jsontext.Encoder) error {
	if u.Disabled {
		return e.WriteToken(jsontext.String(disabled))
	}
	return json.MarshalEncode(e, unreachableTimes{u.InactiveAfterSeconds, u.ExpungeAfterSeconds})
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (u *UnreachableStrategy) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '{' {
		var t unreachableTimes
		err := json.UnmarshalDecode(d, &t)
		u.InactiveAfterSeconds, u.ExpungeAfterSeconds = t.InactiveAfterSeconds, t.ExpungeAfterSeconds
		return err
	}
	var text string
	if d.PeekKind() != '"' || json.UnmarshalDecode(d, &text) != nil || text != disabled {
		return wrongType("is neither an object nor " + disabled)
	}
	u.Disabled = true
	return nil
}

// MarshalJSONTo implements [json.MarshalerTo].
func (o Object) MarshalJSONTo(e *jsontext.Encoder) error { return e.WriteValue(jsontext.Value(o)) }

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (o *Object) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '{' {
		return wrongType("is not an object")
	}
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	own := jsontext.Value(bytes.Clone(v))
	err = own.Compact()
	*o = Object(own)
	return err
}
