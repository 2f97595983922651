package simcloud_test

import (
	"testing"

	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
	"github.com/captf-toolkit/captf/sdk/simcloud"
	"github.com/captf-toolkit/captf/sdk/simcloud/schemas"
)

// awsTypes are what a small module set uses.
var awsTypes = &simcloud.Types{
	Resources: map[string]bool{"aws_instance": true, "aws_lb": true, "aws_lb_target_group": true, "aws_lb_listener": true, "aws_lb_target_group_attachment": true, "aws_security_group": true},
	Data:      map[string]bool{"aws_ami": true, "aws_subnets": true},
}

// BenchmarkStart is a server from its schema file to the value of TF_REATTACH_PROVIDERS: with every
// type of the built-in AWS schema, and with those that a set uses.
func BenchmarkStart(b *testing.B) {
	for name, types := range map[string]*simcloud.Types{"all": nil, "set": awsTypes} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				schema, err := simcloud.NewCatalog(schemas.Files).Schema("hashicorp/aws", types, nil)
				if err != nil {
					b.Fatal(err)
				}
				s, err := simcloud.Start(simcloud.Options{Providers: []simcloud.Provider{{Schema: schema}}})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.ReattachConfig(); err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLife is an apply, a plan and a destroy on the real runtime, with the time of it that
// is the server's.
func BenchmarkLife(b *testing.B) {
	bin := runtimetest.OpenTofu(b)
	s := serveTiny(b, simcloud.Limits{})
	w := workdir(b, bin, s, "", everything)
	for b.Loop() {
		ok(b)(w.Apply(b.Context(), runtime.ApplyOptions{}))
		ok(b)(w.Plan(b.Context(), runtime.PlanOptions{}))
		ok(b)(w.Destroy(b.Context(), runtime.ApplyOptions{}))
	}
	spent := s.Spent()
	b.ReportMetric(float64(spent.Schemas.Microseconds())/float64(b.N), "schema-µs/op")
	b.ReportMetric(float64(spent.Calls.Microseconds())/float64(b.N), "calls-µs/op")
	b.ReportMetric(float64(spent.Connections)/float64(b.N), "connections/op")
}
