package dies

import (
	"fmt"
	"os"
	"testing"
)

func TestBefore(t *testing.T) {}

func TestDies(t *testing.T) {
	fmt.Println("last words")
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	select {}
}
