package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/eaba02dc/registrar/master/metrics"
)

// The two ways in which calls and answers of the operator API are written.
const (
	asJSON     = "application/json"
	asProtobuf = "application/x-protobuf"
)

// call is a call of Mesos's v1 operator API.
type call struct {
	kind       string
	getMetrics *getMetrics // nil if it is not there
}

// getMetrics is what GET_METRICS asks for.
type getMetrics struct{ timeout *time.Duration }

// operation is what this master does for a kind of call.
type operation struct {
	lacks func(*call) string // the member that is needed and is not there, or ""
	run   func(a *api, w http.ResponseWriter, r *http.Request, c *call, as string)
}

// operations are the calls that this master answers.
var operations = map[string]operation{
	"GET_METRICS": {
		lacks: func(c *call) string {
			if c.getMetrics == nil {
				return "get_metrics"
			}
			return ""
		},
		run: (*api).getMetrics,
	},
}

// callKinds are all calls that Mesos has, each at its number.
var callKinds = strings.Fields(`UNKNOWN GET_HEALTH GET_FLAGS GET_VERSION GET_METRICS GET_LOGGING_LEVEL SET_LOGGING_LEVEL
	LIST_FILES READ_FILE GET_STATE GET_AGENTS GET_FRAMEWORKS GET_EXECUTORS GET_TASKS GET_ROLES GET_WEIGHTS UPDATE_WEIGHTS
	GET_MASTER SUBSCRIBE RESERVE_RESOURCES UNRESERVE_RESOURCES CREATE_VOLUMES DESTROY_VOLUMES GET_MAINTENANCE_STATUS
	GET_MAINTENANCE_SCHEDULE UPDATE_MAINTENANCE_SCHEDULE START_MAINTENANCE STOP_MAINTENANCE GET_QUOTA SET_QUOTA
	REMOVE_QUOTA TEARDOWN MARK_AGENT_GONE GET_OPERATIONS GROW_VOLUME SHRINK_VOLUME UPDATE_QUOTA DRAIN_AGENT
	DEACTIVATE_AGENT REACTIVATE_AGENT`)

// operator answers POST /api/v1. The checks come in the order of Mesos.
func (a *api) operator(w http.ResponseWriter, r *http.Request) {
	kind := r.Header.Get("Content-Type")
	if kind == "" {
		fail(w, http.StatusBadRequest, "Expecting 'Content-Type' to be present")
		return
	}
	body, err := io.ReadAll(r.Body) // it is there, and bounded
	if err != nil {
		fail(w, http.StatusBadRequest, "Failed to read the body: "+err.Error())
		return
	}
	var c *call
	switch kind {
	case asJSON:
		c, err = callFromJSON(body)
	case asProtobuf:
		c, err = callFromProtobuf(body)
	default:
		fail(w, http.StatusUnsupportedMediaType, "Expecting 'Content-Type' of "+asJSON+" or "+asProtobuf)
		return
	}
	if err != nil {
		fail(w, http.StatusBadRequest, "Failed to parse body into Call: "+err.Error())
		return
	}
	if c.kind == "" {
		fail(w, http.StatusBadRequest, "Failed to validate master::Call: Expecting 'type' to be present")
		return
	}
	do, can := operations[c.kind]
	if can {
		if lacks := do.lacks(c); lacks != "" {
			fail(w, http.StatusBadRequest, "Failed to validate master::Call: Expecting '"+lacks+"' to be present")
			return
		}
	}
	as := accepted(r, asJSON, asProtobuf)
	switch {
	case as == "":
		fail(w, http.StatusNotAcceptable, "Expecting 'Accept' to allow "+asJSON+" or "+asProtobuf)
	case !can:
		fail(w, http.StatusNotImplemented, fmt.Sprintf("This master does not have the call %s.", c.kind))
	default:
		do.run(a, w, r, c, as)
	}
}

// accepted is the first of the kinds that a client takes, or "". Who does not say
// takes all.
func accepted(r *http.Request, kinds ...string) string {
	all := r.Header.Values("Accept")
	if len(all) == 0 {
		return kinds[0]
	}
	for _, kind := range kinds {
		group, _, _ := strings.Cut(kind, "/")
		for one := range strings.SplitSeq(strings.Join(all, ","), ",") {
			name, parameters, _ := mime.ParseMediaType(one)
			q, err := strconv.ParseFloat(parameters["q"], 64)
			if slices.Contains([]string{kind, group + "/*", "*/*"}, name) && (err != nil || q > 0) {
				return kind
			}
		}
	}
	return ""
}

func callFromJSON(body []byte) (*call, error) {
	var said struct {
		Type       string `json:"type"`
		GetMetrics *struct {
			Timeout *struct {
				Nanoseconds *int64 `json:"nanoseconds"`
			} `json:"timeout"`
		} `json:"get_metrics"`
	}
	if err := json.Unmarshal(body, &said); err != nil {
		return nil, err
	}
	if said.Type != "" && !slices.Contains(callKinds, said.Type) {
		return nil, fmt.Errorf("%q is no type of call", said.Type)
	}
	c := &call{kind: said.Type}
	if m := said.GetMetrics; m != nil {
		c.getMetrics = &getMetrics{}
		if m.Timeout != nil {
			if m.Timeout.Nanoseconds == nil {
				return nil, errors.New("get_metrics.timeout has no nanoseconds")
			}
			c.getMetrics.timeout = (*time.Duration)(m.Timeout.Nanoseconds)
		}
	}
	return c, nil
}

// callFromProtobuf reads the same. A type that is not known is as none at all, as
// for all enumerations of protobuf.
func callFromProtobuf(body []byte) (*call, error) {
	c := &call{}
	err := fieldsOf(body, func(field protowire.Number, number uint64, message []byte) error {
		switch {
		case field == 1 && message == nil && number < uint64(len(callKinds)):
			c.kind = callKinds[number]
		case field == 2 && message != nil:
			m, err := getMetricsFromProtobuf(message)
			c.getMetrics = m
			return err
		}
		return nil
	})
	return c, err
}

func getMetricsFromProtobuf(b []byte) (*getMetrics, error) {
	m := &getMetrics{}
	err := fieldsOf(b, func(field protowire.Number, _ uint64, message []byte) error {
		if field != 1 || message == nil {
			return nil
		}
		return fieldsOf(message, func(field protowire.Number, number uint64, message []byte) error {
			if d := time.Duration(number); field == 1 && message == nil {
				m.timeout = &d
			}
			return nil
		})
	})
	return m, err
}

// fieldsOf yields the fields of a message that are numbers, or bytes, which are
// not nil. Others it skips.
func fieldsOf(b []byte, yield func(field protowire.Number, number uint64, message []byte) error) error {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var number uint64
		var message []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			if message, n = protowire.ConsumeBytes(b); message == nil {
				message = []byte{}
			}
		default:
			if n = protowire.ConsumeFieldValue(field, kind, b); n >= 0 {
				b = b[n:]
				continue
			}
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if err := yield(field, number, message); err != nil {
			return err
		}
	}
	return nil
}

// getMetrics answers GET_METRICS. As in Mesos, the rate of /metrics/snapshot is
// not its.
func (a *api) getMetrics(w http.ResponseWriter, r *http.Request, c *call, as string) {
	s := a.metrics.take(r.Context(), c.getMetrics.timeout)
	if as == asJSON {
		a.metrics.send(w, r, as, -1, func(w io.Writer) {
			io.WriteString(w, `{"type":"GET_METRICS","get_metrics":{"metrics":`)
			s.Write(w, metrics.V1JSON)
			io.WriteString(w, "}}")
		})
		return
	}
	const typeField, number, metricsField = 1, 4, 5 // of Response
	size := s.SizeV1Protobuf()
	head := protowire.AppendVarint(protowire.AppendTag(nil, typeField, protowire.VarintType), number)
	head = protowire.AppendVarint(protowire.AppendTag(head, metricsField, protowire.BytesType), uint64(size))
	a.metrics.send(w, r, as, len(head)+size, func(w io.Writer) {
		w.Write(head)
		s.Write(w, metrics.V1Protobuf)
	})
}
