package wal

import "github.com/cockroachdb/pebble/v2"

// DB lets tests damage rows.
func (l *Log) DB() *pebble.DB {
	l.awaitWriting()
	return l.db
}

// What tests need to make rows and slots of their own.
var (
	PutSlot        = putSlot
	RecordKey      = appendRecordKey
	ChunkKey       = appendChunkKey
	RecordKeyLen   = recordKeyLen
	RecordFrameLen = recordFrameLen
	PutRecord      = putRecord
	GetRecord      = getRecord
)
