package ops_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/eaba02dc/registrar/ops"
	"github.com/eaba02dc/registrar/registry"
)

// Compare-and-set: whoever reads a key and writes it back learns that somebody
// else was faster. Hand the operations to Registrar.Apply to make them durable;
// a draft only decides.
func ExamplePut() {
	d := registry.New().Draft()
	if _, err := d.Try(ops.Put{Table: "jobs", Key: "j1", Value: "queued", If: ops.Absent()}.Apply); err != nil {
		log.Fatal(err)
	}
	read, _ := d.Key("jobs", "j1")
	for _, worker := range []string{"w1", "w2"} { // both have read the same
		claim := ops.Put{Table: "jobs", Key: "j1", Value: worker, If: ops.AtRevision(read.Revision)}
		_, err := d.Try(claim.Apply)
		if lost := new(ops.RevisionError); errors.As(err, &lost) {
			fmt.Printf("%s is late: the job changed at revision %d\n", worker, lost.Found)
		}
	}
	item, _ := d.Key("jobs", "j1")
	fmt.Println("the job is with", item.Value)
	// Output:
	// w2 is late: the job changed at revision 2
	// the job is with w1
}

// Without a condition, deleting what is not there is nothing to do; with one it
// is refused.
func ExampleDelete() {
	d := registry.New().Draft()
	changed, err := d.Try(ops.Delete{Table: "jobs", Key: "j1"}.Apply)
	fmt.Println(changed, err)
	_, err = d.Try(ops.Delete{Table: "jobs", Key: "j1", If: ops.AtRevision(3)}.Apply)
	fmt.Println(errors.Is(err, ops.ErrNoKey), err)
	// Output:
	// false <nil>
	// true delete key "j1" of table "jobs": key is not there, and was expected at revision 3
}
