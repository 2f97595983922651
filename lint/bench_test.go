package lint_test

import (
	"testing"

	"github.com/captf-toolkit/captf/contract"
)

func BenchmarkRun(b *testing.B) {
	for _, role := range contract.Roles() {
		b.Run(string(role), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				run(b, "../modules/noop/"+string(role), role)
			}
		})
	}
}
