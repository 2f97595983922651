package main

import "errors"

// The exit codes (lint.md 2.2).
const (
	// exitClean: no error; with --strict no warning either.
	exitClean = 0
	// exitFindings: an error, or in strict mode a warning; for schema, a schema
	// that is too large for its label.
	exitFindings = 1
	// exitUnreadable: a module that cannot be read, or a result that cannot be
	// written.
	exitUnreadable = 2
	// exitUsage: the command line, or the configuration file, is wrong.
	exitUsage = 3
)

// exitError is an error that says with which code to exit; a nil err was
// reported already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return "see above"
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(err error) error { return &exitError{exitUsage, err} }

func unreadable(err error) error { return &exitError{exitUnreadable, err} }

func exit(code int) error {
	if code == exitClean {
		return nil
	}
	return &exitError{code: code}
}

// codeOf returns the exit code of an error and whether it is to be printed. An
// error that says nothing is one of the command line, as cobra makes them.
func codeOf(err error) (code int, show bool) {
	var e *exitError
	switch {
	case err == nil:
		return exitClean, false
	case errors.As(err, &e):
		return e.code, e.err != nil
	default:
		return exitUsage, true
	}
}
