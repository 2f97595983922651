// Package compare compares lives of clusters: two that were played, or a
// played one with what was observed on a real management cluster.
//
// The common ground is the vocabulary of [harness.EventType]. [Project] puts a
// life onto it: names are replaced by kinds and numbers, times by order, and
// what only a played life can tell is left out. Whoever observes a real life,
// such as an end-to-end test with the real KubeadmControlPlane, writes down its
// own [Trace], from watches of the objects, with the same types; [Order] and
// [Objects] then say where the two differ. Events of different objects may
// interleave differently in a real life without meaning anything: there
// [Objects] is what counts, which compares the order of each object's own events.
//
// Not in this package: reading and writing of reports (sdk/report), and
// observing a real cluster.
package compare
