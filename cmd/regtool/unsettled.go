package main

import (
	"fmt"
	"strings"
)

// closeError is for the outcome of a command that writes: what closing the store
// met once all that was asked for was durable.
type closeError struct {
	CloseError string `json:"close_error,omitzero"`
}

func toCloseError(err error) closeError {
	if err == nil {
		return closeError{}
	}
	return closeError{oneLine(err)}
}

// unsettled is the error of a command whose work is done and durable, at a
// revision, and that then could not close the store or print its report; nil if
// it could. It begins with the work, lest somebody do it again.
func unsettled(done string, revision uint64, closing string, report error) error {
	var but []string
	if closing != "" {
		but = append(but, "closing the store failed: "+closing)
	}
	if report != nil {
		but = append(but, "the report could not be written: "+oneLine(report))
	}
	if but == nil {
		return nil
	}
	return fmt.Errorf("%s at revision %d, but %s", done, revision, strings.Join(but, ", and "))
}

// oneLine is the text of an error that may be several joined.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
