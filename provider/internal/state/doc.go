// Package state keeps the states of modules where the `kubernetes` backends of Terraform and OpenTofu keep them, so that
// an operator can take over with a stock binary: gzip in the Secret tfstate-default-<suffix>, more parts of it in
// tfstate-default-<suffix>-part-N over 1,048,576 bytes, and a Lease as the lock (provider-behaviour.md 17 to 19).
//
// # How a state of several parts is replaced
//
// The API server writes one Secret at a time, and neither backend survives a crash between two of its writes. This
// package does:
//
//   - Every part that it writes is marked (annotation captf.io/state-part) with the version that it belongs to, which is
//     the SHA-256 of the whole compressed state, its index, the number of parts and the part's own checksum. A mark whose
//     checksum does not fit was left by a stock client that changed the data and kept the annotation; it counts as none.
//   - The base Secret's mark names the version that is current. Replacing the base Secret is therefore the one write that
//     changes the state; it is made with the resource version that was read, so the loser of two writers changes nothing.
//   - Before it, the new version's other parts are put where no reader of the current version looks: an index that the
//     current version does not use is written in place, because readers stop at the end of the first gzip member (B-407);
//     an index in use is staged in a Secret of its own, whose label tfstate=staged hides it from stock clients.
//   - After it, staged parts are copied to their places, leftovers are deleted from the highest index down, then the
//     staged copies. A reader that meets this half done takes each part that is not in place yet from its staged copy, and
//     checks the whole against the SHA-256.
//
// One list request returns the parts and the staged ones, hence one moment's view. So at every point this package reads
// either the old version or the new one, never a mix. Stock clients do so too whenever the current version is a single
// Secret, which includes growing from one Secret to several, and whenever the new one is. Between two versions of several
// parts, a stock client fails with an error from the moment the base Secret is replaced until the parts are in place;
// Repair, which each run's lock and each write begin with, gets them there.
//
// A state written by a stock client carries no marks and is read as that client would: parts in order, up to the end of
// the first gzip member, whose checksum tells a mix.
//
// Not in this package: HTTP (provider/internal/broker), what a state's condition is (the controllers), and running
// restores.
package state
