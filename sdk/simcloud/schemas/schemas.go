// Package schemas holds the recorded provider schemas that are built in, pruned
// to the types that modules for Cluster API use.
//
// Each is a file recorded/NAMESPACE_TYPE.json.gz in the form of
// sdk/simcloud.Header, written by captf simcloud record.
//
// Not in this package: reading them (sdk/simcloud), and what they do not say
// (sdk/simcloud/persona).
package schemas

import "embed"

// Files are the recorded schemas, in the directory recorded.
//
//go:embed recorded
var Files embed.FS
