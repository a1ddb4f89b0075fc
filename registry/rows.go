package registry

import (
	"fmt"
	"sort"
	"sync"

	"github.com/tidwall/btree"
)

// A table of rows is any table but the agents': small, ordered by key, its
// values kept encoded. To add one, make a file with a call of newTable and the
// methods of Registry and Draft that read and change it; master.go is the
// example. Nothing else needs to know.
type table struct {
	id    uint8 // on disk; never renumbered
	name  string
	check func(key string, body []byte) error // whether a body decodes
	bytes bool                                // keys are any bytes, not text
}

// agentTable is the number of the agents' table in rows.
const agentTable = 1

// tables has the tables of rows by number.
var tables [256]*table

// newTable is called once for each table, when the package is initialised.
func newTable(id uint8, name string, check func(key string, body []byte) error) *table {
	if id <= agentTable || tables[id] != nil {
		panic(fmt.Sprintf("registry: table number %d of %q is taken", id, name))
	}
	tables[id] = &table{id: id, name: name, check: check}
	return tables[id]
}

// withByteKeys makes the keys of t any bytes, which rows write as such.
func (t *table) withByteKeys() *table {
	t.bytes = true
	return t
}

// rowKey orders rows by table, then by key.
type rowKey string

func (t *table) key(key string) rowKey { return rowKey(string(rune(t.id)) + key) }

// row is one entry of a table of rows. It does not change.
type row struct {
	table *table
	key   string
	body  string
	since uint64
	share sum
}

// rows is all tables of rows. Once a registry holds it, it does not change:
// the mutex is for copying alone, which marks the nodes of the tree as shared.
type rows struct {
	mu   sync.Mutex
	tree btree.Map[rowKey, *row]
}

func (r *rows) copy() *rows {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &rows{tree: *r.tree.Copy()}
}

// rank is how many rows stand before key, whether or not key is there.
func (r *rows) rank(key rowKey) int {
	return sort.Search(r.tree.Len(), func(i int) bool {
		k, _, _ := r.tree.GetAt(i)
		return k >= key
	})
}

func (r *rows) get(t *table, key string) *row {
	v, _ := r.tree.Get(t.key(key))
	return v
}
