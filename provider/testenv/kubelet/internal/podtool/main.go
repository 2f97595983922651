// Command podtool is what containers of tests run: it does what its arguments say, one after the other, each a name and
// its parameters, separated by commas that stand alone.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	var step []string
	for _, a := range append(os.Args[1:], ",") {
		if a != "," {
			step = append(step, a)
			continue
		}
		if len(step) > 0 {
			run(step[0], append(step[1:], "", ""))
		}
		step = nil
	}
}

func run(name string, arg []string) {
	do, ok := steps[name]
	if !ok {
		fmt.Println("unknown step", name)
		os.Exit(99)
	}
	if err := do(arg); err != nil {
		fmt.Println(name, "error:", err)
	}
}

var steps map[string]func(arg []string) error

func init() {
	steps = map[string]func(arg []string) error{
		"echo": func(arg []string) error { fmt.Println(strings.TrimSpace(strings.Join(arg, " "))); return nil },
		"env":  func(arg []string) error { fmt.Println(arg[0] + "=" + os.Getenv(arg[0])); return nil },
		"cat": func(arg []string) error {
			text, err := os.ReadFile(arg[0])
			if err == nil {
				fmt.Printf("%s: %s\n", arg[0], text)
			}
			return err
		},
		"write": func(arg []string) error { return os.WriteFile(arg[0], []byte(arg[1]), 0o644) }, //nolint:gosec // that is asked for
		"ls": func(arg []string) error {
			entries, err := os.ReadDir(arg[0])
			for _, e := range entries {
				fmt.Println(arg[0] + "/" + e.Name())
			}
			return err
		},
		"stat": func(arg []string) error {
			info, err := os.Stat(arg[0])
			if err != nil {
				return err
			}
			s := info.Sys().(*syscall.Stat_t)
			fmt.Printf("%s %o %d:%d\n", arg[0], info.Mode().Perm(), s.Uid, s.Gid)
			return nil
		},
		"id": func([]string) error {
			groups, err := os.Getgroups()
			fmt.Println("id", os.Getuid(), os.Getgid(), groups)
			return err
		},
		"hostname": func([]string) error { h, err := os.Hostname(); fmt.Println("hostname", h); return err },
		"chown":    func(arg []string) error { return os.Chown(arg[0], 1, 1) },
		"pwd":      func([]string) error { d, err := os.Getwd(); fmt.Println("pwd", d); return err },
		"pid":      func([]string) error { fmt.Println("pid", os.Getpid()); return nil },
		"exit": func(arg []string) error {
			code, err := strconv.Atoi(arg[0])
			if err == nil {
				os.Exit(code)
			}
			return err
		},
		"forever": func([]string) error {
			for {
				time.Sleep(time.Hour) // a program without anything to wait for is a deadlock
			}
		},
		"sleep": func(arg []string) error {
			d, err := time.ParseDuration(arg[0])
			time.Sleep(d)
			return err
		},
		"await": func(arg []string) error {
			for {
				if _, err := os.Stat(arg[0]); err == nil {
					return nil
				}
				time.Sleep(10 * time.Millisecond)
			}
		},
		// term CODE DELAY exits with CODE after a SIGTERM and DELAY; ignore never does.
		"term": func(arg []string) error {
			c := make(chan os.Signal, 1)
			signal.Notify(c, syscall.SIGTERM)
			go func() {
				<-c
				fmt.Println("got TERM")
				d, _ := time.ParseDuration(arg[1])
				time.Sleep(d)
				code, _ := strconv.Atoi(arg[0])
				os.Exit(code)
			}()
			return nil
		},
		"ignore": func([]string) error { signal.Ignore(syscall.SIGTERM); return nil },
		// log FILE TEXT appends to a file, for the order of events.
		"log": func(arg []string) error {
			f, err := os.OpenFile(arg[0], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666) //nolint:gosec // as above
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(f, arg[1])
			return errors.Join(err, f.Close())
		},
		"spawn": func([]string) error {
			return exec.CommandContext(context.Background(), "/proc/self/exe", "forever").Start()
		},
		"serve": func(arg []string) error {
			var config net.ListenConfig
			l, err := config.Listen(context.Background(), "tcp", "127.0.0.1:"+arg[0])
			if err != nil {
				return err
			}
			answer := http.NotFoundHandler()
			server := http.Server{Handler: answer, ReadHeaderTimeout: time.Minute}
			go func() { _ = server.Serve(l) }()
			return nil
		},
		// api PATH asks the API server as a pod does.
		"api": func(arg []string) error {
			const dir = "/var/run/secrets/kubernetes.io/serviceaccount/"
			token, err := os.ReadFile(dir + "token")
			if err != nil {
				return err
			}
			ca, err := os.ReadFile(dir + "ca.crt")
			if err != nil {
				return err
			}
			pool := x509.NewCertPool()
			pool.AppendCertsFromPEM(ca)
			r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "https://"+net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))+arg[0], http.NoBody) //nolint:gosec // where it is told to
			if err != nil {
				return err
			}
			r.Header.Set("Authorization", "Bearer "+string(token))
			client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
			answer, err := client.Do(r) //nolint:gosec // as above
			if err == nil {
				fmt.Println("api", arg[0], answer.StatusCode)
				err = answer.Body.Close()
			}
			return err
		},
	}
}
