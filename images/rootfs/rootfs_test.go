package rootfs

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func describe(typ Type, mode uint32, uid, gid int, link string, content []byte) string {
	return fmt.Sprintf("%s %04o %d:%d %s %d %x", typ, mode, uid, gid, link, len(content), sha256.Sum256(content))
}

func big(n int) string { return strings.Repeat("0123456789abcdef", n/16) }

// TestSameView shows that every form of a layer gives the same files.
func TestSameView(t *testing.T) {
	lower := tarOf(t, dir("captf"), dir("captf/module"), file("captf/module/main.tf", "a"), file("captf/module/old.tf", "b"),
		file("captf/big", big(300<<10)), symlink("captf/runtime", "big"), dir("etc"), file("etc/gone", "x"), file("etc/passwd", "root:x:0:0::/:/bin/sh\n"), hard("etc/hard", "etc/passwd"))
	upper := tarOf(t, dir("captf"), file("captf/module/.wh.old.tf", ""), dir("etc"), file("etc/.wh..wh..opq", ""), file("etc/new", "n"), file("captf/module/main.tf", "changed"))
	var want map[string]string
	for _, how := range []compression{gzipped, plain, zstandard, stargz} {
		for _, all := range []bool{false, true} {
			src, img := openSource(t, push(t, server(t, nil), imageOf(t, layerOf(t, lower, how), layerOf(t, upper, how))))
			f := openFS(t, img, Options{SmallLayer: -1, IgnoreTOC: all, Keep: func(p string) bool { return strings.HasSuffix(p, ".tf") }})
			if p := f.Problems(); len(p) > 0 {
				t.Errorf("compression %d, whole layers %v: problems %+v", how, all, p)
			}
			if how == stargz && !all {
				if s := src.Stats(); s.Streams > 0 {
					t.Errorf("layers with a table of contents were streamed: %+v", s)
				}
			}
			got := snapshot(t, f)
			sameFiles(t, f)
			if want == nil {
				want = got
				for _, p := range []string{"/captf/module/old.tf", "/etc/gone", "/etc/passwd", "/etc/hard"} {
					if _, ok := got[p]; ok {
						t.Errorf("%s is still there", p)
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("compression %d, whole layers %v (-want +got):\n%s", how, all, diff)
			}
		}
	}
}
