// Package move looks, before clusterctl move is run, at what it would do with a namespace: which objects it would take
// along, which it would leave behind though they are needed, what keeps it from starting, and what the target lacks. It
// works on the clusters of any Cluster API provider, and changes nothing.
//
// [Check] reads both sides through a [Reader], builds the graph of objects by clusterctl's own rules (graph.go), and
// holds it against the rows of [Rules]. Secrets and ConfigMaps are read without their content.
//
// Not in this package: a client of an API server, which is sdk/move/live; moving anything; and what is wrong with a
// cluster for other reasons than a move.
package move

//go:generate go test -run "^Test(Schema|Reference)$" -update .
