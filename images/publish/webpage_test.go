package publish_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/captf-toolkit/captf/images/publish"
	"github.com/captf-toolkit/captf/images/source"
)

// TestNoRegistry publishes to what is something else.
func TestNoRegistry(t *testing.T) {
	page := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html><title>Welcome</title>")
	}
	for label, tt := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request) bool
		want   string
	}{
		"pages everywhere": {func(w http.ResponseWriter, _ *http.Request) bool { page(w); return true }, "answers with a web page"},
		"pages for manifests": {func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/manifests/") {
				return false
			}
			page(w)
			return true
		}, "answers with a web page"},
		"a login": {func(w http.ResponseWriter, r *http.Request) bool {
			switch {
			case r.URL.Path == "/login":
				page(w)
			case strings.Contains(r.URL.Path, "/blobs/"):
				http.Redirect(w, r, "/login", http.StatusFound)
			default:
				return false
			}
			return true
		}, "answers with a web page"},
		"a circle": {func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
			return true
		}, "redirects in circles"},
		"a spiral": {func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, r.URL.Path+"?x=1"+r.URL.RawQuery, http.StatusTemporaryRedirect)
			return true
		}, "redirects again and again"},
	} {
		t.Run(label, func(t *testing.T) {
			s := newServer(t)
			s.on(tt.answer)
			tag := s.tag(t, "m:v1")
			_, err := publish.Publish(t.Context(), setOf(t, index(t)), []name.Tag{tag}, quick(t))
			if err == nil || !errors.Is(err, source.ErrFormat) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "plain HTTP") {
				t.Errorf("got error %v, want one that says %q", err, tt.want)
			}
		})
	}
}

// TestHTMLOfRegistry makes sure that a registry may call its empty answers HTML.
func TestHTMLOfRegistry(t *testing.T) {
	s := newServer(t)
	s.on(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}
		return false
	})
	if _, err := publish.Publish(t.Context(), setOf(t, index(t)), []name.Tag{s.tag(t, "m:v1")}, quick(t)); err != nil {
		t.Error(err)
	}
}
