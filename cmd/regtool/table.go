package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// writeJSON writes v for programs: one indented document and a line end. It may
// end up on a terminal all the same, so what cannot be seen is escaped, also
// where JSON does not demand it.
func writeJSON(w io.Writer, v any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(escapeJSON(text.Bytes()))
	return err
}

// escapeJSON writes as \uXXXX whatever is not ASCII and cannot be seen. In JSON
// such characters stand in strings only.
func escapeJSON(text []byte) []byte {
	hidden := func(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) }
	if bytes.IndexFunc(text, hidden) < 0 {
		return text
	}
	var out []byte
	for _, r := range string(text) {
		if !hidden(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}

// fact is one line of a two-column list.
type fact struct {
	name  string
	value any
}

// writeFacts writes names and values for people, one pair a line.
func writeFacts(w io.Writer, facts []fact) error {
	t := newTable(w)
	for _, f := range facts {
		t.AppendRow(table.Row{f.name, harmless(fmt.Sprint(f.value))})
	}
	return render(w, t)
}

// writeRows writes a table with a header for people.
func writeRows(w io.Writer, header []string, rows [][]string) error {
	t := newTable(w)
	head := make(table.Row, len(header))
	for i, name := range header {
		head[i] = name
	}
	t.AppendHeader(head)
	for _, cells := range rows {
		row := make(table.Row, len(cells))
		for i, cell := range cells {
			row[i] = harmless(cell)
		}
		t.AppendRow(row)
	}
	return render(w, t)
}

// newTable has no frame: columns that a person reads and awk splits. Its only
// colour is a bold header, on a terminal.
func newTable(w io.Writer) table.Writer {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft = ""
	style.Box.PaddingRight = "  "
	style.Format.Header = text.FormatDefault
	if coloured(w) {
		style.Color.Header = text.Colors{text.Bold}
	}
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	return t
}

func render(w io.Writer, t table.Writer) error {
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

// coloured reports whether w may be sent colours: it is a terminal, and the
// user did not ask for none (https://no-color.org).
func coloured(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && terminal(w)
}

// terminal reports whether a person looks at what is written to w.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
