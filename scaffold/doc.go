// Package scaffold generates modules that a module author starts from, and
// brings what an older release generated forward.
//
// [Generate] renders a [Tree] of files in memory from the contract's tables and
// the templates beside this package; [Tree.Write] writes it into a new or empty
// directory, whole or not at all. The file [RecordName] in the directory keeps
// what was generated; [PlanUpdate] compares it with what would be generated now
// and with what the author made of it, and [Update.Apply] carries the result out
// without ever changing a file that the author edited.
//
// Not in this package: rules of the contract (package contract), checks of
// modules (package lint), the command line (sdk/cmd/captf), and the module set
// without a cloud that tests use (modules/noop).
package scaffold

//go:generate go test . -run ^TestExamples$ -update
