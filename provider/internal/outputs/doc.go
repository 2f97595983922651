// Package outputs turns what a module's outputs say into changes of the object: fields of spec and status, conditions and
// events. It decides and writes nothing: the result is a plan that the caller applies in the order of B-654, and that is
// empty for an object that shows the outputs already.
//
// Not in this package: reading the state (provider/internal/state), what an output means (contract), and conditions that
// follow from Jobs or from the state's readability (provider/internal/controllers).
package outputs
