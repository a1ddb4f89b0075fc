package wire

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"
)

// codec is how values of one type stand in a record, both ways.
type codec[T any] struct {
	read  func(*reader, *T)
	write func(*writer, *T)
	none  func(*T) bool // whether an optional member of it is left out
}

// field is a member of the objects that stand for a T.
type field[T any] struct {
	codec[T]
	name string
	must bool
}

// opt is a member that is left out if there is nothing to say.
func opt[T, V any](name string, c codec[V], at func(*T) *V) field[T] {
	return field[T]{codec[T]{
		read:  func(r *reader, v *T) { c.read(r, at(v)) },
		write: func(w *writer, v *T) { c.write(w, at(v)) },
		none:  func(v *T) bool { return c.none(at(v)) },
	}, name, false}
}

// must is a member that has to be there.
func must[T, V any](name string, c codec[V], at func(*T) *V) field[T] {
	f := opt(name, c, at)
	f.must = true
	return f
}

// same is for an object of one member, which stands for that member.
func same[T any](v *T) *T { return v }

// object reads and writes members in the order of fields: any order is read,
// this one fast. Members that it does not know are passed over, a null is no
// member.
func object[T any](fields ...field[T]) codec[T] {
	need := uint64(0)
	for i, f := range fields {
		if f.must {
			need |= 1 << i
		}
	}
	read := func(r *reader, v *T) {
		got, next := uint64(0), 0
		for r.open('{'); r.more('}'); {
			name := r.name()
			named := func(f *field[T]) bool { return f.name == string(name) }
			i := next
			for i < len(fields) && !named(&fields[i]) {
				i++
			}
			if i == len(fields) {
				for i = next - 1; i >= 0 && !named(&fields[i]); {
					i--
				}
			}
			if i < 0 {
				r.skip()
				continue
			}
			if next = i + 1; !r.null() {
				got |= 1 << i
				fields[i].read(r, v)
			}
		}
		for i := range fields {
			if absent := need &^ got; absent&(1<<i) != 0 {
				r.failIn(fields[i].name, missing)
			}
		}
	}
	write := func(w *writer, v *T) {
		w.open('{')
		for i := range fields {
			if f := &fields[i]; f.must || !f.none(v) {
				w.text(f.name)
				f.write(w, v)
			}
		}
		w.close('}')
	}
	return codec[T]{read, write, func(v *T) bool {
		return !slices.ContainsFunc(fields, func(f field[T]) bool { return f.must || !f.none(v) })
	}}
}

// list grows with the items that are read and found good, never by a length that
// was announced, and ends with the first that is not: an item of a few bytes
// that takes hundreds in memory is one without what it must have.
func list[T any](item codec[T]) codec[[]T] {
	var pool sync.Pool // of lists to read into, so that the one kept has no room to spare
	return codec[[]T]{
		read: func(r *reader, v *[]T) {
			room, _ := pool.Get().(*[]T)
			if room == nil {
				room = new([]T)
			}
			items := (*room)[:0]
			for r.open('['); r.more(']'); {
				items = append(items, *new(T))
				item.read(r, &items[len(items)-1])
			}
			if r.err == nil && len(items) > 0 {
				*v = append(make([]T, 0, len(items)), items...)
			}
			clear(items)
			*room = items
			pool.Put(room)
		},
		write: func(w *writer, v *[]T) {
			w.open('[')
			for i := range *v {
				item.write(w, &(*v)[i])
			}
			w.close(']')
		},
		none: func(v *[]T) bool { return len(*v) == 0 },
	}
}

// entries is an object whose names are data; it is written in their order.
func entries[V any](value codec[V]) codec[map[string]V] {
	return codec[map[string]V]{
		read: func(r *reader, m *map[string]V) {
			for r.open('{'); r.more('}'); {
				name := r.text()
				if r.null() {
					continue
				}
				var v V
				if value.read(r, &v); *m == nil {
					*m = map[string]V{}
				}
				(*m)[name] = v
			}
		},
		write: func(w *writer, m *map[string]V) {
			w.open('{')
			for _, name := range slices.Sorted(maps.Keys(*m)) {
				v := (*m)[name]
				w.text(name)
				value.write(w, &v)
			}
			w.close('}')
		},
		none: func(m *map[string]V) bool { return len(*m) == 0 },
	}
}

// scalar is a codec of a value that is left out when it is zero.
func scalar[T comparable](read func(*reader) T, write func(*writer, T)) codec[T] {
	return codec[T]{
		read:  func(r *reader, v *T) { *v = read(r) },
		write: func(w *writer, v *T) { write(w, *v) },
		none:  func(v *T) bool { return *v == *new(T) },
	}
}

func text[S ~string]() codec[S] {
	return scalar(func(r *reader) S { return S(r.text()) }, func(w *writer, v S) { w.text(string(v)) })
}

func whole[U uint16 | uint32 | uint64]() codec[U] {
	return scalar(func(r *reader) U { return U(r.uint(uint64(^U(0)))) }, func(w *writer, v U) { w.uint(uint64(v)) })
}

// id is {"value": "…"}, and not empty.
func id[S ~string]() codec[S] {
	in := object(must("value", text[S](), same))
	return scalar(func(r *reader) (v S) {
		if in.read(r, &v); v == "" {
			r.failIn("value", "is empty")
		}
		return v
	}, func(w *writer, v S) {
		if v == "" {
			w.fail(missing)
		}
		in.write(w, &v)
	})
}

var (
	plain    = text[string]()
	stringID = id[string]()
	flag     = scalar((*reader).boolean, (*writer).boolean)
	number   = scalar((*reader).float, (*writer).float)
	raw      = scalar((*reader).raw, (*writer).raw)
	data     = codec[[]byte]{(*reader).bytes, (*writer).bytes, func(v *[]byte) bool { return len(*v) == 0 }}
	texts    = list(plain)
	kinds    = list(object(must("type", plain, same))) // [{"type": "…"}, …]
)

// grace is {"nanoseconds": 5}, and may be absent.
var grace = func() codec[*time.Duration] {
	in := object(must("nanoseconds", scalar(func(r *reader) time.Duration {
		return time.Duration(r.uint(math.MaxInt64))
	}, func(w *writer, d time.Duration) {
		if d < 0 {
			w.fail(fmt.Sprintf("is %v, want at least 0", d))
		}
		w.uint(uint64(d))
	}), same))
	return codec[*time.Duration]{
		read:  func(r *reader, d **time.Duration) { *d = new(time.Duration); in.read(r, *d) },
		write: func(w *writer, d **time.Duration) { in.write(w, *d) },
		none:  func(d **time.Duration) bool { return *d == nil },
	}
}()

// MaxHeartbeat is the most that an interval can be: so it is exact to the
// nanosecond as a float of seconds.
const MaxHeartbeat = 24 * time.Hour

var interval = scalar(func(r *reader) time.Duration {
	f := r.float()
	d := math.Round(f * 1e9)
	if !(d >= 1 && d <= float64(MaxHeartbeat)) {
		r.fail(fmt.Sprintf("is %v, want more than 0 and at most %v", f, MaxHeartbeat.Seconds()))
		return 0
	}
	return time.Duration(d)
}, func(w *writer, d time.Duration) {
	if d <= 0 || d > MaxHeartbeat {
		w.fail(fmt.Sprintf("is %v, want more than 0 and at most %v", d, MaxHeartbeat))
	}
	w.float(d.Seconds())
})
