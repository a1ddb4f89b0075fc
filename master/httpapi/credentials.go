package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"golang.org/x/crypto/bcrypt"

	"github.com/eaba02dc/registrar/internal/secretfile"
)

// Credential is a principal, and what it may do.
type Credential struct {
	// Principal is the name it gives; its password goes with it.
	Principal string `yaml:"principal"`
	// Bcrypt is the hash of its password, in the form of crypt(3): $2a$12$…
	Bcrypt string `yaml:"bcrypt"`
	// Realms are those that it is let into.
	Realms []Realm `yaml:"realms"`
	// Roles are all that it sees, with those below them; nil means everything. Who
	// does not see everything may be let into the realm readonly only.
	Roles []string `yaml:"-"`
}

// written is a Credential in a file. There, roles that are absent are not those
// that are empty: who has deleted the last one did not mean everything.
type written struct {
	Credential `yaml:",inline"`
	Roles      yaml.Node `yaml:"roles"`
}

const (
	// maxCost bounds what one password costs the master: about a second.
	maxCost = 14
	// maxPassword is what bcrypt looks at; more would be as good as its beginning.
	maxPassword = 72
)

// ReadCredentials reads a file of credentials, a YAML list. It refuses one that
// others can read. No error tells what is in it.
func ReadCredentials(path string) ([]Credential, error) {
	text, err := secretfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	list, err := parseCredentials(text)
	if err != nil {
		return nil, fmt.Errorf("credentials %s: %w", path, err)
	}
	return list, nil
}

func parseCredentials(text []byte) ([]Credential, error) {
	var all []written
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&all); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%sit is not a YAML list with principal, bcrypt, realms and roles", lineOf(err))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one YAML document")
	}
	list := make([]Credential, len(all))
	for i := range all {
		list[i] = all[i].Credential
		if roles := &all[i].Roles; !roles.IsZero() {
			if err := roles.Decode(&list[i].Roles); err != nil || len(list[i].Roles) == 0 {
				return nil, fmt.Errorf("line %d: roles: want a list of some; without roles everything is seen", roles.Line)
			}
		}
	}
	return list, checkCredentials(list)
}

// lineOf is all of an error of YAML that can be told: its text has parts of the file.
func lineOf(err error) string {
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		return "line " + m[1] + ": "
	}
	return ""
}

var yamlLine = regexp.MustCompile(`\bline (\d+): `)

func checkCredentials(list []Credential) error {
	if len(list) == 0 {
		return errors.New("there are none, so that nobody could come in")
	}
	seen := map[string]bool{}
	for i := range list {
		if err := list[i].check(); err != nil {
			return fmt.Errorf("number %d: %w", i+1, err)
		}
		if seen[list[i].Principal] {
			return fmt.Errorf("number %d: principal %q is there before", i+1, list[i].Principal)
		}
		seen[list[i].Principal] = true
	}
	return nil
}

func (c *Credential) check() error {
	switch {
	case c.Principal == "":
		return errors.New("principal: is missing")
	case !utf8.ValidString(c.Principal), strings.ContainsFunc(c.Principal, unicode.IsControl), strings.Contains(c.Principal, ":"):
		return errors.New("principal: has a colon or control characters, which HTTP cannot say")
	case len(c.Realms) == 0:
		return errors.New("realms: are missing")
	case slices.ContainsFunc(c.Realms, func(r Realm) bool { return !r.known() }):
		return fmt.Errorf("realms: want some of %v", Realms())
	case c.Roles != nil && len(c.Roles) == 0:
		return errors.New("roles: are empty; without roles everything is seen")
	case c.Roles != nil && slices.ContainsFunc(c.Realms, func(r Realm) bool { return r != Readonly }):
		return errors.New("roles: who sees a part only may be let into the realm readonly only")
	case slices.ContainsFunc(c.Roles, func(role string) bool { return strings.Trim(role, "/") != role || role == "" }):
		return errors.New("roles: a role is not empty, and has no slash at its ends")
	}
	if _, hash, named := strings.Cut(c.Bcrypt, ":"); named && bcryptHash.MatchString(hash) {
		return errors.New("bcrypt: cut off what is before the colon, and the colon: that is the name, as htpasswd writes it")
	}
	cost, err := bcrypt.Cost([]byte(c.Bcrypt))
	switch {
	case err != nil, !bcryptHash.MatchString(c.Bcrypt):
		return errors.New("bcrypt: is not a hash of bcrypt, as $2a$12$…")
	case cost > maxCost:
		return fmt.Errorf("bcrypt: its cost is %d, and at most %d is taken: each password would keep a core busy for seconds", cost, maxCost)
	}
	return nil
}

// bcryptHash is stricter than package bcrypt, which finds a hash with other
// letters wrong at each password.
var bcryptHash = regexp.MustCompile(`^\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{53}$`)

// enters reports whether the principal is let into a realm.
func (c *Credential) enters(r Realm) bool { return slices.Contains(c.Realms, r) }
