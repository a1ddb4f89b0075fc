package registry

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"
)

// Bounds on the keys of user tables.
const (
	// MaxTable is the most bytes the name of a user table may have.
	MaxTable = 64
	// MaxKey is the most bytes a key may have.
	MaxKey = 1024
	// MaxValue is the most bytes a value may have.
	MaxValue = 1 << 20
)

// Item is what stands under a key of a user table.
type Item struct {
	Value    string // any bytes
	Revision uint64 // of the registry, at which the item last changed
}

// User tables are one table of rows, so that a program that makes a new one
// changes no format.
//
// A row's key is bytes,
//
//	name  1 to 64 bytes of UTF-8 without NUL
//	NUL
//	key   1 to 1024 bytes
//
// in which order rows stand by name, then by key. Its body is
//
//	version  uint  1
//	value    until the end of the bytes
var keyTable = newTable(3, "keys", checkKey).withByteKeys()

const (
	keyVersion = 1
	keyHead    = "\x01" // the version, encoded
	nul        = "\x00"
)

// Key returns what stands under key in a user table.
func (r *Registry) Key(table, key string) (Item, bool) {
	if strings.Contains(table, nul) {
		return Item{}, false // else a part of it would be taken for key
	}
	v := r.rows.get(keyTable, table+nul+key)
	if v == nil {
		return Item{}, false
	}
	return v.item(), true
}

// item relies on checkKey: each body begins with keyHead.
func (v *row) item() Item { return Item{Value: v.body[len(keyHead):], Revision: v.since} }

// Keys yields the keys of a user table that begin with prefix, in the order of
// their bytes. Finding the first costs O(log n), each further one O(1).
func (r *Registry) Keys(table, prefix string) iter.Seq2[string, Item] {
	return func(yield func(string, Item) bool) {
		if strings.Contains(table, nul) {
			return
		}
		start := keyTable.key(table + nul + prefix)
		r.rows.tree.Ascend(start, func(place rowKey, v *row) bool {
			return strings.HasPrefix(string(place), string(start)) && yield(v.key[len(table+nul):], v.item())
		})
	}
}

// Tables yields the names of the user tables in order, each with the number of
// its keys. A table is there while it has keys. The keys are not gone through:
// the cost is O(log² n) a table.
func (r *Registry) Tables() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for at := r.rows.rank(keyTable.key("")); ; {
			_, v, ok := r.rows.tree.GetAt(at)
			if !ok || v.table != keyTable {
				return
			}
			name, _, _ := strings.Cut(v.key, nul)
			end := r.rows.rank(keyTable.key(name + "\x01")) // what follows NUL
			if !yield(name, end-at) {
				return
			}
			at = end
		}
	}
}

// Key returns what stands under key in a user table, as the draft has it.
func (d *Draft) Key(table, key string) (Item, bool) { return d.next.Key(table, key) }

// PutKey writes value under key in a user table, new or in place of what stands
// there; writing what stands there already changes nothing. The first key makes
// a table. It returns a [*FieldError] if table, key or value is not acceptable.
func (d *Draft) PutKey(table, key, value string) error {
	if err := ValidateKey(table, key); err != nil {
		return err
	}
	if err := ValidateValue(value); err != nil {
		return err
	}
	d.putRow(keyTable, table+nul+key, keyHead+value)
	return nil
}

// DeleteKey forgets a key, and reports whether it was there. With its last key
// a table is gone.
func (d *Draft) DeleteKey(table, key string) bool {
	return !strings.Contains(table, nul) && d.deleteRow(keyTable, table+nul+key)
}

// ValidateKey returns a [*FieldError] unless a user table can have this name,
// 1 to [MaxTable] bytes of UTF-8 without NUL, and a key in it be 1 to [MaxKey]
// bytes, whichever they are.
func ValidateKey(table, key string) error {
	switch {
	case table == "":
		return badField("is empty", "table")
	case len(table) > MaxTable:
		return badField(fmt.Sprintf("has %d bytes, at most %d are allowed", len(table), MaxTable), "table")
	case !utf8.ValidString(table):
		return badField(notUTF8, "table")
	case strings.Contains(table, nul):
		return badField(`contains the character '\x00'`, "table")
	case key == "":
		return badField("is empty", "key")
	case len(key) > MaxKey:
		return badField(fmt.Sprintf("has %d bytes, at most %d are allowed", len(key), MaxKey), "key")
	}
	return nil
}

// ValidateValue returns a [*FieldError] for a value of more than [MaxValue]
// bytes.
func ValidateValue(value string) error { return validateValueLen(len(value)) }

func validateValueLen(n int) error {
	if n > MaxValue {
		return badField(fmt.Sprintf("has %d bytes, at most %d are allowed", n, MaxValue), "value")
	}
	return nil
}

func checkKey(path string, body []byte) error {
	table, key, ok := strings.Cut(path, nul)
	if !ok {
		return errors.New("a key without a table")
	}
	if err := ValidateKey(table, key); err != nil {
		return err
	}
	var p parser
	p.Reset(body)
	v := p.Uint(1 << 32)
	switch {
	case p.Err() != nil:
		return p.Err()
	case v != keyVersion:
		return versionError("key", v)
	case p.Pos() != len(keyHead):
		return fmt.Errorf("its version takes %d bytes, not %d", p.Pos(), len(keyHead))
	}
	return validateValueLen(len(p.Rest()))
}
