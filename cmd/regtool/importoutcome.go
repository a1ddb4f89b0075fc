package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/eaba02dc/registrar/internal/mesosjson"
	"github.com/eaba02dc/registrar/registry"
)

// importOutcome is what import prints.
type importOutcome struct {
	Source   string         `json:"source"`
	Form     string         `json:"form"`
	Dir      string         `json:"dir"`
	Created  bool           `json:"created"` // the registry is new
	Read     importRead     `json:"read"`
	Results  map[effect]int `json:"results"` // agents by what was made of them
	Changes  uint64         `json:"changes"` // operations that changed something
	Revision uint64         `json:"revision"`
	Digest   string         `json:"digest"`
	NotKept  []notKept      `json:"not_kept"`
	closeError
}

type importRead struct {
	Admitted    int `json:"admitted"`
	Recovered   int `json:"recovered"` // of the admitted
	Unreachable int `json:"unreachable"`
	Gone        int `json:"gone"`
}

type notKept struct {
	Path    string `json:"path"`
	Reason  string `json:"reason,omitzero"`
	Count   int    `json:"count"`
	Example string `json:"example,omitzero"`
}

func (im *importer) outcome(source, dir string, created bool, end *registry.Registry) *importOutcome {
	r := im.report
	out := &importOutcome{
		Source: source, Form: string(r.Form), Dir: dir, Created: created,
		Read:    importRead{r.Admitted, r.Recovered, r.Unreachable, r.Gone},
		Results: im.count, Changes: im.changes,
		Revision: end.Revision(), Digest: end.Digest().String(), NotKept: []notKept{},
		closeError: toCloseError(im.closing),
	}
	for _, l := range r.NotKept {
		out.NotKept = append(out.NotKept, notKept(l))
	}
	return out
}

// print writes the outcome for people.
func (o *importOutcome) print(w io.Writer) error {
	fate := "merged into the one in "
	if o.Created {
		fate = "made new in "
	}
	facts := []fact{
		{"registry", fate + o.Dir},
		{"source", o.Source},
		{"form", formName(mesosjson.Form(o.Form))},
		{"read", fmt.Sprintf("%d admitted (%d of them recovered), %d unreachable, %d gone",
			o.Read.Admitted, o.Read.Recovered, o.Read.Unreachable, o.Read.Gone)},
	}
	for _, v := range effects {
		if n := o.Results[v]; n > 0 {
			facts = append(facts, fact{string(v), n})
		}
	}
	facts = append(facts, fact{"revision", fmt.Sprintf("%d (%s)", o.Revision, counted(o.Changes, "change"))}, fact{"digest", o.Digest})
	if err := writeFacts(w, facts); err != nil || len(o.NotKept) == 0 {
		return err
	}
	var rows [][]string
	for _, l := range o.NotKept {
		rows = append(rows, []string{l.Path, strconv.Itoa(l.Count), whyNotKept(l)})
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return writeRows(w, []string{"not kept", "times", "for example"}, rows)
}

func whyNotKept(l notKept) string {
	if l.Reason == "" {
		return l.Example
	}
	if l.Example == "" {
		return l.Reason
	}
	return l.Reason + ": " + l.Example
}

func formName(f mesosjson.Form) string {
	switch f {
	case mesosjson.FormRegistry:
		return "registry of a Mesos master"
	case mesosjson.FormOperator:
		return "answer of a Mesos master's operator API"
	}
	return "state of a Mesos master"
}
