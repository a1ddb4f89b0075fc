package main

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/eaba02dc/registrar/registry"
)

// podJSON is our own JSON form of a pod that was defined.
type podJSON struct {
	Pod      string     `json:"pod"`              // its ID
	Version  *time.Time `json:"version,omitzero"` // when this definition was made
	Revision uint64     `json:"revision"`         // of its last change
	// One of them: the definition as it is if it is JSON without white space, as
	// it is by custom, else as a text.
	Definition     json.RawMessage `json:"definition,omitempty"`
	DefinitionText string          `json:"definition_text,omitzero"`
}

func toPodJSON(p registry.Pod) podJSON {
	out := podJSON{Pod: p.ID, Revision: p.Revision}
	if !p.Version.IsZero() {
		out.Version = &p.Version
	}
	var compact bytes.Buffer
	if json.Compact(&compact, p.Definition) == nil && bytes.Equal(compact.Bytes(), p.Definition) {
		out.Definition = p.Definition
	} else {
		out.DefinitionText = string(p.Definition)
	}
	return out
}
