package mesosjson

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds on what a stranger's file can ask of memory. An agent's registry form
// takes at most 1 MiB (registry.MaxAgent); its JSON is several times as long.
const (
	maxToken = 2 << 20  // bytes of one string, number or run of spaces
	maxValue = 16 << 20 // bytes of one agent
	maxAbout = 64 << 10 // bytes of what is kept to the end of the input
	maxDepth = 64
	// maxNodes bounds the values of one agent: each takes over 100 bytes of
	// memory, and may take two of the input.
	maxNodes = 1 << 18
)

// scanner reads JSON token by token and knows where it is. A token is valid
// until the next one is read.
type scanner struct {
	dec *jsontext.Decoder
	// exact has strings looked at before they are decoded, for a tree that is
	// kept; sound says that the last token was, and was UTF-8 as it stood. A
	// U+FFFD in it is one then, and not in the place of something else.
	exact, sound bool
}

// newScanner lets two things pass that a master writes: a name that stands
// twice in an object (attributes may), and bytes that are not UTF-8. The latter
// matter only in what is kept; see node.str.
func newScanner(r io.Reader) *scanner {
	in := &bounded{r: r}
	in.dec = jsontext.NewDecoder(in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return &scanner{dec: in.dec}
}

// bounded stops a decoder from buffering a token without end.
type bounded struct {
	r    io.Reader
	dec  *jsontext.Decoder
	read int64
}

var errLongToken = fmt.Errorf("one string or number is longer than %d bytes", maxToken)

func (b *bounded) Read(p []byte) (int, error) {
	if b.read-b.dec.InputOffset() > maxToken {
		return 0, errLongToken
	}
	n, err := b.r.Read(p)
	b.read += int64(n)
	return n, err
}

// next returns the next token. At the end of the input it returns io.EOF only
// between two documents.
func (s *scanner) next(path string) (jsontext.Token, error) {
	tok, err := s.token()
	if err == io.EOF {
		return tok, err
	}
	if err != nil {
		return tok, s.wrap(path, err)
	}
	if s.dec.StackDepth() > maxDepth {
		return tok, s.errorf(path, "more than %d objects and arrays inside each other", maxDepth)
	}
	return tok, nil
}

func (s *scanner) token() (jsontext.Token, error) {
	s.sound = false
	if !s.exact || s.dec.PeekKind() != '"' {
		return s.dec.ReadToken()
	}
	raw, err := s.dec.ReadValue()
	if err != nil {
		return jsontext.Token{}, err
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	s.sound = err == nil // it is a whole string, and cannot be wrong in another way
	return jsontext.String(string(text)), nil
}

func (s *scanner) errorf(path, format string, args ...any) error {
	return &Error{Path: path, Offset: s.dec.InputOffset(), Reason: fmt.Sprintf(format, args...)}
}

func (s *scanner) wrap(path string, err error) error {
	e := &Error{Path: path, Offset: s.dec.InputOffset(), Reason: err.Error(), Err: err}
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.Reason = "the input ends in the middle: was it cut off?"
	case errors.As(err, &syntax):
		e.Offset, e.Reason = syntax.ByteOffset, "not JSON: "+syntax.Err.Error()
	}
	return e
}

// members calls each for every member of an object whose opening brace was
// read; each must read the value that begins with the token it is given.
func (s *scanner) members(path string, each func(path, key string, first jsontext.Token) error) error {
	for s.dec.PeekKind() != '}' {
		tok, err := s.next(path)
		if err != nil {
			return err
		}
		key := tok.String()
		inner := join(path, key)
		if tok, err = s.next(inner); err != nil {
			return err
		}
		if err := each(inner, key, tok); err != nil {
			return err
		}
	}
	_, err := s.next(path)
	return err
}

// elements calls each for every element of an array whose opening bracket was
// read, as members does.
func (s *scanner) elements(path string, each func(i int, first jsontext.Token) error) error {
	for i := 0; s.dec.PeekKind() != ']'; i++ {
		tok, err := s.next(path)
		if err != nil {
			return err
		}
		if err := each(i, tok); err != nil {
			return err
		}
	}
	_, err := s.next(path)
	return err
}

// skip reads the rest of the value that begins with first and forgets it.
func (s *scanner) skip(path string, first jsontext.Token) error {
	if k := first.Kind(); k != '{' && k != '[' {
		return nil
	}
	for outside := s.dec.StackDepth() - 1; s.dec.StackDepth() > outside; {
		if _, err := s.next(path); err != nil {
			return err
		}
	}
	return nil
}

func join(path, key string) string {
	if path == "" {
		return cut(key)
	}
	return path + "." + cut(key)
}
