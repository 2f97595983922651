package main

import (
	"errors"
	"fmt"
)

// The exit codes of every subcommand.
const (
	// exitOK: done.
	exitOK = 0
	// exitFailed: it ran, and the answer is no: a requirement failed, or an update
	// left files to merge.
	exitFailed = 1
	// exitError: it could not run.
	exitError = 2
	// exitUsage: the command line is wrong.
	exitUsage = 3
)

// codeError is an error that says with which code to exit. A nil err exits
// without a message, because the result that was printed says it all.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *codeError) Unwrap() error { return e.err }

// usage marks err as a mistake on the command line.
func usage(err error) error { return &codeError{code: exitUsage, err: err} }

// exit ends with code and without a message.
func exit(code int) error { return &codeError{code: code} }

// exitCode returns the code to exit with for the error of a subcommand, and
// whether the error is to be printed.
func exitCode(err error) (code int, show bool) {
	var coded *codeError
	switch {
	case err == nil:
		return exitOK, false
	case errors.As(err, &coded):
		return coded.code, coded.err != nil
	default:
		return exitError, true
	}
}
