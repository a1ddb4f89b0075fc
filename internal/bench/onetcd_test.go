package bench

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/eaba02dc/registrar/internal/etcdtest"
)

func TestOnEtcdMeasuresEachStormAndLeavesNothing(t *testing.T) {
	client := etcdtest.Start(t).Client(t)
	phases := 0
	b := OnEtcd{Agents: []int{1, 300}, Rounds: 2, Client: client, Progress: func() { phases++ }}
	r, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := len(stormsBefore) + 1; phases != b.Phases() || len(r.Results) != 2*want {
		t.Fatalf("%d phases of %d, %d rows", phases, b.Phases(), len(r.Results))
	}
	for _, row := range r.Results {
		writes := row.Phase != "readmit"
		if row.Seconds <= 0 || (row.Bytes > 0) != writes || (row.EtcdBulkSeconds > 0) != writes || (row.RatioToEtcdBulk > 0) != writes ||
			(row.EtcdPutSeconds > 0) != (row.Phase == "admit") || (row.FasterThanEtcdPut > 0) != (row.Phase == "admit") {
			t.Errorf("row %+v", row)
		}
	}
	leavesNothing(t, client)
}

func leavesNothing(t *testing.T, client *clientv3.Client) {
	t.Helper()
	left, err := client.Get(t.Context(), "/regtool-bench-", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil || len(left.Kvs) > 0 {
		t.Errorf("left behind are %v, %v", left.Kvs, err)
	}
}
