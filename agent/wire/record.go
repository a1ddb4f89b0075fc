package wire

// records has the types of records of one direction: an R is a Call or an Event.
type records[R any] []record[R]

// record is one type of them.
type record[R any] struct {
	name  string
	read  func(*reader) R
	write func(*writer, R) bool // reports false for an R that is of another type
}

// recordOf takes the name of a type and the members beside it.
func recordOf[R, T any](name string, members ...field[T]) record[R] {
	typ := must("type", codec[T]{
		read:  func(r *reader, _ *T) { r.skip() },
		write: func(w *writer, _ *T) { w.text(name) },
	}, same)
	o := object(append([]field[T]{typ}, members...)...)
	return record[R]{
		name: name,
		read: func(r *reader) R {
			v := new(T)
			o.read(r, v)
			return any(v).(R)
		},
		write: func(w *writer, v R) bool {
			t, ok := any(v).(*T)
			if ok {
				o.write(w, t)
			}
			return ok
		},
	}
}

const heartbeat = "HEARTBEAT" // up and down

// heartbeats are the records that idle streams consist of: they are known by
// their bytes.
var heartbeats = [...]string{
	JSON:    `{"type":"HEARTBEAT"}`,
	Msgpack: "\x81\xa4type\xa9HEARTBEAT",
}

var unknown = object(
	must("type", plain, func(u *Unknown) *string { return &u.Type }),
	opt("sequence", whole[uint64](), func(u *Unknown) *uint64 { return &u.Sequence }),
)

func (rs records[R]) append(dst []byte, e Encoding, v R) ([]byte, error) {
	if _, ok := any(v).(*Heartbeat); ok {
		return append(dst, heartbeats[e]...), nil
	}
	w := newWriter()
	if u, ok := any(v).(*Unknown); ok {
		unknown.write(w, u)
		return w.done(dst, e)
	}
	for _, rec := range rs {
		if rec.write(w, v) {
			break
		}
	}
	return w.done(dst, e)
}

func (rs records[R]) decode(e Encoding, record []byte) (R, error) {
	if string(record) == heartbeats[e] {
		return any(new(Heartbeat)).(R), nil
	}
	r := newReader(e, record)
	v := rs.read(r)
	if err := r.done(); err != nil {
		return *new(R), err
	}
	return v, nil
}

func (rs records[R]) read(r *reader) R {
	typ := typeOf(r)
	for _, rec := range rs {
		if rec.name == typ {
			return rec.read(r)
		}
	}
	u := new(Unknown)
	unknown.read(r, u)
	return any(u).(R)
}

// typeOf looks for the type of a record, and goes back to its beginning. It is
// "" if there is none; who reads on then says so.
func typeOf(r *reader) (typ string) {
	for r.open('{'); r.more('}'); {
		if string(r.name()) != "type" {
			r.skip()
			continue
		}
		if !r.null() {
			typ = r.text()
		}
		break
	}
	r.again()
	return typ
}
