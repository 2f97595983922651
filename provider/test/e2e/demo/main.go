// Command demo shows the provider with the real Cluster API on this machine, from nothing to an available cluster and back:
// `make demo-cluster`. The commands that it shows are run as they are written, by a shell, so whoever watches can type them.
// Steps are told on stderr as they go on, with the time they took; commands and what they print are on stdout.
//
// What is real and what is played is said in package management and package workload, which it is made of.
//
// Not in this command: assertions in detail. The tests beside it make those; this one fails if a command fails, if the
// cluster does not get where it should, or if something is left in the end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run shows the demo and returns the exit code: 1 for a story that did not end as it should, 3 for a wrong command line.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	d := &demo{out: stdout, progress: stderr}
	if err := d.parse(args, stderr); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		fmt.Fprintln(stderr, "demo-cluster:", err)
		return 3
	}
	if err := d.show(ctx); err != nil {
		fmt.Fprintln(stderr, "demo-cluster:", err)
		return 1
	}
	return 0
}

// parse reads the command line.
func (d *demo) parse(args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("demo-cluster", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&d.root, "root", "", "directory of the repository")
	flags.StringVar(&d.dir, "dir", "", "directory for files, which exists")
	flags.StringVar(&d.captf, "captf", "", "path of captf")
	flags.BoolVar(&d.keep, "keep", false, "leave everything running when the cluster is available, until Ctrl-C")
	if err := flags.Parse(args); err != nil {
		return err //nolint:wrapcheck // it says everything
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("reading the command line: %q is no flag", flags.Arg(0))
	}
	for _, given := range []struct {
		flag string
		path *string
	}{{"root", &d.root}, {"dir", &d.dir}, {"captf", &d.captf}} {
		if *given.path == "" {
			return fmt.Errorf("reading the command line: --%s is missing", given.flag)
		}
		path, err := filepath.Abs(*given.path)
		if err != nil {
			return fmt.Errorf("reading the command line: --%s: %w", given.flag, err)
		}
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("reading the command line: --%s: %w", given.flag, err)
		}
		*given.path = path
	}
	return nil
}
