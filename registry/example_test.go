package registry_test

import (
	"fmt"
	"log"
	"time"

	"github.com/eaba02dc/registrar/registry"
)

// A registry is changed by way of a draft. The one it started from stays.
func Example() {
	before := registry.New()
	d := before.Draft()
	changed, err := d.Try(func(d *registry.Draft) error {
		agent := registry.Agent{
			ID: "a1", Hostname: "host-1", Port: 5051,
			Resources:  []registry.Resource{{Name: "cpus", Value: registry.Scalar(4)}},
			Attributes: []registry.Attribute{{Name: "rack", Value: registry.Text("r12")}},
		}
		return d.PutAgent(agent, registry.Status{State: registry.Admitted})
	})
	if err != nil {
		log.Fatal(err)
	}
	after := d.Freeze()
	fmt.Println("changed:", changed)
	fmt.Println("before:", before.Revision(), before.Len(registry.Admitted))
	fmt.Println("after:", after.Revision(), after.Len(registry.Admitted))

	entry, _ := after.Entry("a1")
	agent, err := entry.Agent() // decoded now, the caller's to keep
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(agent.Hostname, agent.Resources[0].Name, agent.Resources[0].Value.Scalar)
	// Output:
	// changed: true
	// before: 0 0
	// after: 1 1
	// host-1 cpus 4
}

// An embedding program keeps keys of its own beside the agents. A snapshot is
// scanned in the order of the keys, and does not notice later changes.
func ExampleRegistry_Keys() {
	d := registry.New().Draft()
	for _, key := range []string{"web/2", "db/1", "web/1"} {
		_, err := d.Try(func(d *registry.Draft) error { return d.PutKey("jobs", key, "queued") })
		if err != nil {
			log.Fatal(err)
		}
	}
	snapshot := d.Freeze()
	d.DeleteKey("jobs", "web/1")
	for key, item := range snapshot.Keys("jobs", "web/") {
		fmt.Println(key, item.Value, "since revision", item.Revision)
	}
	for table, keys := range snapshot.Tables() {
		fmt.Println(table, "has", keys, "keys")
	}
	// Output:
	// web/1 queued since revision 3
	// web/2 queued since revision 1
	// jobs has 3 keys
}

// Digests of equal contents are equal, whatever the history.
func ExampleDigest() {
	put := func(d *registry.Draft, id registry.AgentID, s registry.Status) {
		if err := d.PutAgent(registry.Agent{ID: id}, s); err != nil {
			log.Fatal(err)
		}
	}
	admitted := registry.Status{State: registry.Admitted}
	unreachable := registry.Status{State: registry.Unreachable, At: time.Unix(1_767_366_245, 0)}

	one, other := registry.New().Draft(), registry.New().Draft()
	put(one, "a1", admitted)
	put(one, "a2", admitted)

	put(other, "a2", unreachable)
	fmt.Println(one.Digest() == other.Digest())
	put(other, "a1", admitted)
	put(other, "a2", admitted)
	fmt.Println(one.Digest() == other.Digest())
	// Output:
	// false
	// true
}

// What a draft recorded makes the same registry anywhere, without deciding
// anything anew.
func ExampleDraft_Redo() {
	d := registry.New().Draft()
	_, err := d.Try(func(d *registry.Draft) error {
		return d.PutAgent(registry.Agent{ID: "a1"}, registry.Status{State: registry.Admitted})
	})
	if err != nil {
		log.Fatal(err)
	}
	here := d.Freeze()

	copied := registry.New().Draft()
	if err := copied.Redo(d.Rows(), here.Revision()); err != nil {
		log.Fatal(err)
	}
	there := copied.Freeze()
	fmt.Println(there.Revision() == here.Revision(), there.Digest() == here.Digest(), there.Check() == nil)
	// Output:
	// true true true
}
