// Package empty has nothing to cover.
package empty

const Answer = 42
