package metrics

import "strings"

// Escape is a name as a part of others, as Mesos writes it: what URLs give a
// meaning, control characters and all that is not ASCII stands as %XX.
func Escape(name string) string {
	var b strings.Builder
	for i := range len(name) {
		const hex = "0123456789ABCDEF"
		c := name[i]
		if c >= ' ' && c <= 0x7f && !strings.ContainsRune("$&+,/:;=?@ \"<>#%{}|\\^~[]`", rune(c)) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}
