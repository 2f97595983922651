package credentials

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
)

// SourceHash returns the hash of a Secret's keys and values (B-519): SHA-256 in hexadecimal over the keys in order, each
// key and each value with its length, as eight bytes, before it.
func SourceHash(data map[string][]byte) string {
	h := sha256.New()
	write := func(part []byte) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write(part)
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		write([]byte(key))
		write(data[key])
	}
	return hex.EncodeToString(h.Sum(nil))
}
