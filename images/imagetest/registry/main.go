// Command registry serves a container registry on the loopback interface, for
// demonstrations and tests. It prints its address and runs until it is
// interrupted. What is pushed is kept in a directory, and the names of it in
// memory.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	dir := flag.String("dir", "", "directory for blobs; it has to exist")
	flag.Parse()
	if err := serve(*dir); err != nil {
		fmt.Fprintf(os.Stderr, "registry: %v\n", err)
		os.Exit(1)
	}
}

func serve(dir string) error {
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening on the loopback interface: %w", err)
	}
	options := []registry.Option{registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)}
	if dir != "" {
		options = append(options, registry.WithBlobHandler(registry.NewDiskBlobHandler(dir)))
	}
	fmt.Println(listener.Addr())
	server := http.Server{Handler: registry.New(options...), ReadHeaderTimeout: time.Minute}
	return server.Serve(listener)
}
