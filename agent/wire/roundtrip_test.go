package wire_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"

	"github.com/eaba02dc/registrar/agent/wire"
	"github.com/eaba02dc/registrar/registry"
)

// Generators of what a record can hold.
var (
	anyText = rapid.String()
	anyID   = rapid.StringN(1, 20, 255).Filter(func(s string) bool { return registry.AgentID(s).Validate() == nil })
	anyRole = rapid.SampledFrom([]string{"*", "web", "db/a", "größe", "a.b/c-"})
	noRole  = rapid.OneOf(rapid.Just(""), anyRole)
	// noID is an ID that may be absent.
	noID = rapid.OneOf(rapid.Just(""), anyID)
	// Few words, so that they come again in one record, as in practice.
	anyWord  = rapid.OneOf(rapid.SampledFrom([]string{"", "cpus", "a1", "größe", "\"\\\x00\x1f\x7f\u2028"}), anyText)
	anyFloat = rapid.OneOf(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64), rapid.Map(rapid.Int32(), func(i int32) float64 { return float64(i) }))
	anyBytes = rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) []byte {
		if len(b) == 0 {
			return nil
		}
		return b
	})
	anyRaw = rapid.SampledFrom([]wire.Raw{"", "{}", "[]", "0", "-1", `"x"`, "true", "1.5", `[[],{},null,{"a":{"b":[1,2]}}]`,
		"18446744073709551615", "-9223372036854775808", "1e+100", `{"é":"\u0000"}`,
		`[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]`})
	anyLabel = rapid.Custom(func(t *rapid.T) registry.Label {
		l := registry.Label{Key: anyWord.Draw(t, "key"), Bare: rapid.Bool().Draw(t, "bare")}
		if !l.Bare {
			l.Value = anyWord.Draw(t, "value")
		}
		return l
	})
	anyValue  = rapid.OneOf(anyAmount, rapid.Map(anyWord, registry.Text))
	anyAmount = rapid.Custom(func(t *rapid.T) registry.Value {
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			return registry.Scalar(anyFloat.Draw(t, "scalar"))
		case 1:
			return registry.Ranges(few(rapid.Custom(func(t *rapid.T) registry.Range {
				return registry.Range{Begin: rapid.Uint64().Draw(t, "begin"), End: rapid.Uint64().Draw(t, "end")}
			})).Draw(t, "ranges")...)
		}
		return registry.Set(few(anyWord).Draw(t, "set")...)
	})
	anyAgentResource = rapid.Custom(func(t *rapid.T) registry.Resource {
		return registry.Resource{
			Name: anyWord.Draw(t, "name"), Value: anyAmount.Draw(t, "value"),
			Reservations: few(rapid.Custom(func(t *rapid.T) registry.Reservation {
				return registry.Reservation{
					Role: anyRole.Draw(t, "role"), Dynamic: rapid.Bool().Draw(t, "dynamic"),
					Principal: anyWord.Draw(t, "principal"), Labels: few(anyLabel).Draw(t, "labels"),
				}
			})).Draw(t, "reservations"),
		}
	})
	anyResource = rapid.Custom(func(t *rapid.T) wire.Resource {
		r := wire.Resource{Resource: anyAgentResource.Draw(t, "resource"), AllocationRole: noRole.Draw(t, "role")}
		s := wire.Special{
			ProviderID: noID.Draw(t, "provider"), Disk: anyRaw.Draw(t, "disk"),
			Revocable: anyRaw.Draw(t, "revocable"), Shared: anyRaw.Draw(t, "shared"),
		}
		if s != (wire.Special{}) {
			r.Special = &s
		}
		return r
	})
	anyUse = rapid.Custom(func(t *rapid.T) []wire.Resource {
		list := few(anyResource).Draw(t, "resources")
		for i := range list {
			list[i].AllocationRole = list[0].AllocationRole
		}
		return list
	})
	anyStatus = rapid.Custom(func(t *rapid.T) wire.TaskStatus {
		return wire.TaskStatus{
			State: wire.TaskState(anyWord.Draw(t, "state")), Timestamp: anyFloat.Draw(t, "timestamp"),
			Message: anyWord.Draw(t, "message"), Source: anyWord.Draw(t, "source"), Reason: anyWord.Draw(t, "reason"),
			Healthy: rapid.Ptr(rapid.Bool(), true).Draw(t, "healthy"),
			Data:    anyBytes.Draw(t, "data"), UUID: anyBytes.Draw(t, "uuid"), Labels: few(anyLabel).Draw(t, "labels"),
			ContainerStatus: anyRaw.Draw(t, "container"), CheckStatus: anyRaw.Draw(t, "check"), Limitation: anyRaw.Draw(t, "limitation"),
		}
	})
	anyTask = rapid.Custom(func(t *rapid.T) wire.Task {
		task := wire.Task{
			ID: anyID.Draw(t, "id"), FrameworkID: anyID.Draw(t, "framework"), ExecutorID: noID.Draw(t, "executor"),
			AgentID: registry.AgentID(noID.Draw(t, "agent")), Name: anyWord.Draw(t, "name"),
			State: wire.TaskState(anyWord.Draw(t, "state")), User: anyWord.Draw(t, "user"),
			Resources: anyUse.Draw(t, "resources"), Statuses: few(anyStatus).Draw(t, "statuses"),
			Labels:            rapid.SliceOfN(anyLabel, 0, 20).Draw(t, "labels"),
			StatusUpdateState: wire.TaskState(anyWord.Draw(t, "update state")), StatusUpdateUUID: anyBytes.Draw(t, "uuid"),
			Discovery: anyRaw.Draw(t, "discovery"), Container: anyRaw.Draw(t, "container"),
			HealthCheck: anyRaw.Draw(t, "health"), KillPolicy: anyRaw.Draw(t, "kill"),
		}
		if len(task.Labels) == 0 {
			task.Labels = nil
		}
		limit := rapid.OneOf(anyFloat, rapid.Just(math.Inf(1)))
		if m := rapid.MapOfN(anyWord, limit, 0, 3).Draw(t, "limits"); len(m) > 0 {
			task.Limits = m
		}
		return task
	})
	anyFramework = rapid.Custom(func(t *rapid.T) wire.FrameworkInfo {
		return wire.FrameworkInfo{
			ID: anyID.Draw(t, "id"), Name: anyWord.Draw(t, "name"), User: anyWord.Draw(t, "user"), Role: noRole.Draw(t, "role"),
			Roles: few(anyRole).Draw(t, "roles"), FailoverTimeout: anyFloat.Draw(t, "timeout"), Checkpoint: rapid.Bool().Draw(t, "checkpoint"),
			Hostname: anyWord.Draw(t, "hostname"), Principal: anyWord.Draw(t, "principal"), WebUIURL: anyWord.Draw(t, "url"),
			Capabilities: few(anyWord).Draw(t, "capabilities"), Labels: few(anyLabel).Draw(t, "labels"), OfferFilters: anyRaw.Draw(t, "filters"),
		}
	})
	anyExecutor = rapid.Custom(func(t *rapid.T) wire.ExecutorInfo {
		return wire.ExecutorInfo{
			ID: anyID.Draw(t, "id"), FrameworkID: anyID.Draw(t, "framework"), Name: anyWord.Draw(t, "name"),
			Type: anyWord.Draw(t, "type"), Source: anyWord.Draw(t, "source"), Resources: anyUse.Draw(t, "resources"),
			Labels: few(anyLabel).Draw(t, "labels"), Data: anyBytes.Draw(t, "data"),
			ShutdownGracePeriod: rapid.Ptr(anyGrace, true).Draw(t, "grace"),
			Command:             anyRaw.Draw(t, "command"), Container: anyRaw.Draw(t, "container"), Discovery: anyRaw.Draw(t, "discovery"),
		}
	})
	anyGrace = rapid.Map(rapid.Int64Range(0, math.MaxInt64), func(n int64) time.Duration { return time.Duration(n) })
	anyAgent = rapid.Custom(func(t *rapid.T) registry.Agent {
		a := registry.Agent{
			ID: registry.AgentID(noID.Draw(t, "id")), Incarnation: noID.Draw(t, "incarnation"), Hostname: anyID.Draw(t, "hostname"),
			Port: rapid.Uint16().Draw(t, "port"), Resources: few(anyAgentResource).Draw(t, "resources"),
			Attributes: few(rapid.Custom(func(t *rapid.T) registry.Attribute {
				return registry.Attribute{Name: anyWord.Draw(t, "name"), Value: anyValue.Draw(t, "value")}
			})).Draw(t, "attributes"),
			Domain:     registry.Domain{Region: anyWord.Draw(t, "region"), Zone: anyWord.Draw(t, "zone")},
			Checkpoint: rapid.Bool().Draw(t, "checkpoint"), Payload: anyBytes.Draw(t, "payload"),
		}
		if m := rapid.MapOfN(anyWord, anyWord, 0, 20).Draw(t, "labels"); len(m) > 0 {
			a.Labels = m
		}
		return a
	})
	anyCall = rapid.Custom(func(t *rapid.T) wire.Call {
		if rapid.Bool().Draw(t, "subscribe") {
			return &wire.Subscribe{
				Sequence: rapid.Uint64Min(1).Draw(t, "sequence"), Agent: anyAgent.Draw(t, "agent"),
				Version: anyWord.Draw(t, "version"), Capabilities: few(anyWord).Draw(t, "capabilities"),
				Supersedes: noID.Draw(t, "supersedes"), AgentID: registry.AgentID(noID.Draw(t, "agent id")),
				Frameworks: few(anyFramework).Draw(t, "frameworks"), Tasks: few(anyTask).Draw(t, "tasks"),
				Executors: few(anyExecutor).Draw(t, "executors"),
				CompletedFrameworks: few(rapid.Custom(func(t *rapid.T) wire.CompletedFramework {
					return wire.CompletedFramework{Info: anyFramework.Draw(t, "framework"), Tasks: few(anyTask).Draw(t, "tasks")}
				})).Draw(t, "completed frameworks"),
				CompletedTasks: few(anyTask).Draw(t, "completed tasks"),
			}
		}
		u := &wire.Update{
			Sequence: rapid.Uint64().Draw(t, "sequence"), Tasks: few(anyTask).Draw(t, "tasks"),
			Frameworks: few(anyFramework).Draw(t, "frameworks"), Executors: few(anyExecutor).Draw(t, "executors"),
			Resources: few(anyAgentResource.Filter(isKept)).Draw(t, "resources"),
			RemovedTasks: few(rapid.Custom(func(t *rapid.T) wire.TaskRef {
				return wire.TaskRef{FrameworkID: anyID.Draw(t, "framework"), ID: anyID.Draw(t, "id")}
			})).Draw(t, "removed tasks"),
		}
		if u.Resources == nil && rapid.Bool().Draw(t, "no resources") {
			u.Resources = []registry.Resource{}
		}
		return u
	})
	anyEvent = rapid.Custom(func(t *rapid.T) wire.Event {
		switch rapid.IntRange(0, 3).Draw(t, "type") {
		case 0:
			return &wire.Subscribed{
				AgentID: registry.AgentID(anyID.Draw(t, "agent")), MasterID: anyWord.Draw(t, "master"),
				Heartbeat:     time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "heartbeat")),
				MissesAllowed: rapid.Uint32Min(1).Draw(t, "misses"),
			}
		case 1:
			return &wire.Drain{MaxGrace: rapid.Ptr(anyGrace, true).Draw(t, "grace"), MarkGone: rapid.Bool().Draw(t, "gone")}
		case 2:
			return &wire.Kill{
				Task: wire.TaskRef{FrameworkID: anyID.Draw(t, "framework"), ID: anyID.Draw(t, "id")}, KillPolicy: anyRaw.Draw(t, "policy"),
			}
		}
		return &wire.Shutdown{Reason: anyText.Draw(t, "reason")}
	})
)

// few is a short list, nil if it is empty.
func few[T any](one *rapid.Generator[T]) *rapid.Generator[[]T] {
	return rapid.Map(rapid.SliceOfN(one, 0, 2), func(list []T) []T {
		if len(list) == 0 {
			return nil
		}
		return list
	})
}

func TestEverythingSaidIsUnderstood(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sample{}
		if rapid.Bool().Draw(t, "up") {
			s.call = anyCall.Draw(t, "call")
		} else {
			s.event = anyEvent.Draw(t, "event")
		}
		for _, e := range encodings {
			record, err := s.append([]byte("before"), e)
			if err != nil {
				t.Fatalf("%v: %v", e, err)
			}
			record = bytes.TrimPrefix(record, []byte("before"))
			got, err := s.decode(e, record)
			if err != nil {
				t.Fatalf("%v: %v\n%q", e, err, record)
			}
			clear(record) // nothing of it was kept
			if diff := cmp.Diff(s.value(), got); diff != "" {
				t.Fatalf("%v (-said +understood)\n%s", e, diff)
			}
		}
	})
}

// Whatever an agent is written in has libraries for both encodings: what they
// read is the same.
func TestLibrariesReadTheSameInBothEncodings(t *testing.T) {
	for _, s := range samples {
		want, got := plainJSON(t, s), plainMsgpack(t, s)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-json +msgpack)\n%s", s.name, diff)
		}
	}
}

// plainJSON is what encoding/json makes of a record.
func plainJSON(t *testing.T, s sample) any {
	record, err := s.append(nil, wire.JSON)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(record, &v); err != nil {
		t.Fatalf("%v: %s", err, record)
	}
	return v
}

// plainMsgpack is what the msgpack library makes of a record, told as JSON.
func plainMsgpack(t *testing.T, s sample) any {
	record, err := s.append(nil, wire.Msgpack)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := msgpack.Unmarshal(record, &v); err != nil {
		t.Fatalf("%v: %x", err, record)
	}
	return asJSON(v)
}

func asJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = asJSON(v[k])
		}
		return v
	case []any:
		for i := range v {
			v[i] = asJSON(v[i])
		}
		return v
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case float64:
		if math.IsInf(v, 1) {
			return "Infinity"
		}
		return v
	case int8:
		return float64(v)
	case int16:
		return float64(v)
	case int32:
		return float64(v)
	case int64:
		return float64(v)
	case uint8:
		return float64(v)
	case uint16:
		return float64(v)
	case uint32:
		return float64(v)
	case uint64:
		return float64(v)
	}
	return v
}

// What a library writes, with members in another order, bytes aside.
func TestRecordsOfLibrariesAreUnderstood(t *testing.T) {
	for _, s := range samples {
		switch s.name {
		case "subscribe-back", "update", "update-nothing-left":
			continue // have bytes or numbers above 2^53, which the way over JSON does not keep
		}
		plain := plainJSON(t, s)
		for e, marshal := range map[wire.Encoding]func(any) ([]byte, error){wire.JSON: json.Marshal, wire.Msgpack: msgpack.Marshal} {
			record, err := marshal(plain)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.decode(e, record)
			if err != nil {
				t.Errorf("%s, %v: %v\n%q", s.name, e, err, record)
			} else if diff := cmp.Diff(s.value(), got); diff != "" {
				t.Errorf("%s, %v (-want +got)\n%s", s.name, e, diff)
			}
		}
	}
}

func TestNumbersOfEveryKindAreUnderstood(t *testing.T) {
	for name, n := range map[string]any{
		"uint64": uint64(7), "int64": int64(7), "int8": int8(7), "float32": float32(7), "float64": 7.0, "int16": int16(7),
	} {
		record, err := msgpack.Marshal(map[string]any{"type": "ACK", "ack": map[string]any{"sequence": n}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := wire.DecodeEvent(wire.Msgpack, record)
		if diff := cmp.Diff(wire.Event(&wire.Ack{Sequence: 7}), got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	for _, n := range []string{"7", "7.0", "70e-1", "0.7E+1"} {
		got, err := wire.DecodeEvent(wire.JSON, []byte(`{"type":"ACK","ack":{"sequence":`+n+`}}`))
		if diff := cmp.Diff(wire.Event(&wire.Ack{Sequence: 7}), got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", n, err, diff)
		}
	}
}

// Lists of one record share memory; who adds to one must not see it in another.
func TestListsDoNotRunIntoEachOther(t *testing.T) {
	for _, e := range encodings {
		want := comeBack(50)
		record, err := wire.AppendCall(nil, e, want)
		if err != nil {
			t.Fatal(err)
		}
		call, err := wire.DecodeCall(e, record)
		if err != nil {
			t.Fatal(err)
		}
		got := call.(*wire.Subscribe)
		for i := range got.Tasks {
			_ = append(got.Tasks[i].Labels, registry.Label{Key: "damage"})
			_ = append(got.Tasks[i].Resources, wire.Resource{AllocationRole: "damage"})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-want +got)\n%s", e, diff)
		}
	}
}

// Each width that a number or a length has, and its neighbours.
func TestValuesOfEveryWidthAreUnderstood(t *testing.T) {
	var list []string
	for _, edge := range []uint64{0, 31, 127, 255, 32767, 65535, 1<<31 - 1, 1<<32 - 1, 1<<53 - 1, 1<<63 - 1, math.MaxUint64 - 2} {
		for _, n := range []uint64{edge, edge + 1, edge + 2} {
			list = append(list, strconv.FormatUint(n, 10))
			if n > 0 && n <= 1<<63 {
				list = append(list, strconv.FormatInt(-int64(n), 10))
			}
		}
	}
	raws := []string{"[" + strings.Join(list, ",") + "]"}
	for _, n := range []int{14, 15, 16, 65535, 65536} {
		raws = append(raws, "["+strings.Repeat("0,", n)+"7]")
	}
	for _, n := range []int{31, 32, 255, 256, 65535, 65536} {
		raws = append(raws, `"`+strings.Repeat("x", n)+`"`)
	}
	for _, raw := range raws {
		s := sample{event: &wire.Kill{Task: wire.TaskRef{FrameworkID: "f", ID: "t"}, KillPolicy: wire.Raw(raw)}}
		for _, e := range encodings {
			record, err := s.append(nil, e)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.decode(e, record)
			if err != nil || !cmp.Equal(got, s.value()) {
				t.Errorf("%v: %.300s is read as %.300v, %v", e, raw, got, err)
			}
		}
		if diff := cmp.Diff(plainJSON(t, s), plainMsgpack(t, s)); diff != "" {
			t.Errorf("libraries read %.300s as (-json +msgpack)\n%.1000s", raw, diff)
		}
		// In the shortest form there is: as the library has it.
		if raw == raws[0] {
			continue // of which the library has none for numbers of any type
		}
		record, err := s.append(nil, wire.Msgpack)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal([]byte(raw), &v); err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		enc := msgpack.NewEncoder(&want)
		enc.UseCompactFloats(true)
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasSuffix(record, want.Bytes()) {
			t.Errorf("%.300s takes other bytes than %.40x", raw, want.Bytes())
		}
	}
	for _, n := range list {
		record, err := wire.AppendEvent(nil, wire.Msgpack, &wire.Kill{Task: wire.TaskRef{FrameworkID: "f", ID: "t"}, KillPolicy: wire.Raw(n)})
		if err != nil {
			t.Fatal(err)
		}
		if v, err := strconv.ParseInt(n, 10, 64); err == nil {
			var want bytes.Buffer
			if err := msgpack.NewEncoder(&want).EncodeInt(v); err != nil {
				t.Fatal(err)
			}
			if !bytes.HasSuffix(record, want.Bytes()) {
				t.Errorf("%s is %x, want the shortest, %x", n, record, want.Bytes())
			}
		}
	}
}

func TestIntervalsAreExact(t *testing.T) {
	for _, step := range []time.Duration{1, 999, time.Millisecond, 86_399_999_999} {
		for n := time.Duration(1); n <= 1000; n++ {
			want := &wire.Subscribed{AgentID: "a", Heartbeat: n * step, MissesAllowed: 1}
			record, err := wire.AppendEvent(nil, wire.JSON, want)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := wire.DecodeEvent(wire.JSON, record); err != nil || !cmp.Equal(got, wire.Event(want)) {
				t.Fatalf("%v is read as %v, %v", want.Heartbeat, got, err)
			}
		}
	}
}

func TestOldReservationsAreUnderstood(t *testing.T) {
	for resource, want := range map[string][]registry.Reservation{
		`"role":"*"`:  nil,
		`"role":"db"`: {{Role: "db"}},
		`"role":"db","reservation":{"principal":"ops","labels":{"labels":[{"key":"k"}]}}`: {
			{Role: "db", Dynamic: true, Principal: "ops", Labels: []registry.Label{{Key: "k", Bare: true}}},
		},
		`"role":"db","reservations":[{"role":"web","type":"STATIC"}]`: {{Role: "web"}},
	} {
		got, err := wire.DecodeCall(wire.JSON, []byte(`{"type":"UPDATE","sequence":1,"update":{"resources":[`+
			`{`+resource+`,"name":"mem","scalar":{"value":1},"type":"SCALAR"}]}}`))
		if err != nil {
			t.Errorf("%s: %v", resource, err)
		} else if diff := cmp.Diff(want, got.(*wire.Update).Resources[0].Reservations); diff != "" {
			t.Errorf("%s (-want +got)\n%s", resource, diff)
		}
	}
}

// isKept reports whether the registry takes an agent with a resource.
func isKept(r registry.Resource) bool {
	return (&registry.Agent{ID: "a", Resources: []registry.Resource{r}}).Validate() == nil
}
