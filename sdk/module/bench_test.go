package module_test

import (
	"bytes"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/captf-toolkit/captf/sdk/module"
)

func BenchmarkLoad(b *testing.B) {
	for _, dir := range []string{"testdata/valid/types", "testdata/valid/local-modules", "../../modules/noop/machine"} {
		b.Run(dir, func(b *testing.B) {
			for b.Loop() {
				if _, err := module.Load(dir, module.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("2000 variables", func(b *testing.B) {
		var src bytes.Buffer
		for i := range 2000 {
			fmt.Fprintf(&src, "variable \"v%d\" {\n  type        = object({ a = string, b = optional(number, 1) })\n  default     = null\n  description = \"Number %d.\"\n}\n", i, i)
		}
		fsys := fstest.MapFS{"main.tf": {Data: src.Bytes()}}
		b.SetBytes(int64(src.Len()))
		for b.Loop() {
			if _, err := module.LoadFS(fsys, "/m", module.Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
