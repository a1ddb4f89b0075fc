// Package wire is the words that an agent and its master say to each other, and
// their bytes: what an agent sends up is a [Call], what its master sends down is
// an [Event]. Both go over one HTTP stream, POST /api/v1/agent, as records: the
// length in decimal digits, a newline, and that many bytes.
//
//	r := wire.NewReader(request.Body, limit)
//	record, err := r.Next()
//	call, err := wire.DecodeCall(wire.JSON, record)
//	switch call := call.(type) {
//	case *wire.Subscribe: // the first
//	case *wire.Unknown: // of a newer agent: passed over
//	}
//	err = wire.NewWriter(response).Event(wire.JSON, &wire.Ack{Sequence: 1})
//
// A record is an object, as JSON or as MessagePack, with the same names and the
// same meaning; docs/agent-api.md shows each. Names are those of Mesos's v1 API
// where it has the thing. What a type consists of is one table, read and written
// by the jsontext package; MessagePack is translated from and into that JSON.
//
// What comes from outside is trusted in nothing. A record has at most as many
// bytes as its reader allows, and decoding one takes memory for what was read,
// never for what was announced, and not more than some times that. Values nest at most 32 deep, text is valid UTF-8,
// no name of an object stands in it twice. What is wrong is told by a
// [*FieldError] or a [*SyntaxError]; nothing panics.
//
// Versions may differ: fields and types of records that this package does not
// know are passed over. A field without which a record says nothing must be
// there. A null is the same as an absent field.
package wire
