// Package fidelity says where the harness of package sdk/harness is not true to the real thing: it compares a life of a cluster
// that controllers of Cluster API and CAPTF led with the same life as the harness plays it, on the same modules.
//
//   - A [Recorder] notes what watches say about the objects of a namespace, ordered by the revisions of the one etcd that all of
//     them are in. What it noted can be written to a plain file and read again.
//   - [Project] puts that into the vocabulary of harness.EventType, by a table with one row for each event; each row names
//     where the harness has it from.
//   - [Play] plays a scenario, and [Compare] compares the two: the events of each object in their order, and the gates between
//     objects by the table [Rules], which must hold on both sides. What cannot be compared stands in tables, with a reason each.
//
// Not in this package: leading a real life, which the tests of package e2e do; and scenarios beyond the lives that they lead.
package fidelity
