package simcloud

import "testing"

// SetSchemaLimits makes the limits of schema files smaller for a test.
func SetSchemaLimits(t testing.TB, packed, unpacked int64) {
	p, u := maxSchemaPacked, maxSchemaBytes
	maxSchemaPacked, maxSchemaBytes = packed, unpacked
	t.Cleanup(func() { maxSchemaPacked, maxSchemaBytes = p, u })
}
