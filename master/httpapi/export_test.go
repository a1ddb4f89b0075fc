package httpapi

// What tests of the gate look at and hold up.
var (
	ParseCredentials = parseCredentials
	ViewOf           = viewOf
)

// Compare replaces how passwords are compared with hashes.
func (g *Gate) Compare(f func(hash, password []byte) error) { g.passwords.compare = f }
