package main

import (
	"encoding/base64"
	"unicode/utf8"

	"github.com/eaba02dc/registrar/registry"
)

// keyName is a key of a user table in our own JSON form. Keys and values are
// any bytes; what is not UTF-8 stands in base64, and its encoding says so.
type keyName struct {
	Table       string `json:"table"`
	Key         string `json:"key"`
	KeyEncoding string `json:"key_encoding,omitzero"`

	table, key string // as they are
}

// keyJSON is a key with what stands under it.
type keyJSON struct {
	keyName
	Revision      uint64 `json:"revision"` // of its last change
	Value         string `json:"value"`
	ValueEncoding string `json:"value_encoding,omitzero"`
}

func toKeyName(table, key string) keyName {
	n := keyName{Table: table, table: table, key: key}
	n.Key, n.KeyEncoding = jsonText(key)
	return n
}

func toKeyJSON(table, key string, item registry.Item) keyJSON {
	k := keyJSON{keyName: toKeyName(table, key), Revision: item.Revision}
	k.Value, k.ValueEncoding = jsonText(item.Value)
	return k
}

// jsonText is how JSON can hold s.
func jsonText(s string) (text, encoding string) {
	if utf8.ValidString(s) {
		return s, ""
	}
	return base64.StdEncoding.EncodeToString([]byte(s)), "base64"
}
