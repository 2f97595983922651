package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/v1alpha1"
)

func BenchmarkDecode(b *testing.B) {
	d := v1alpha1.Definition()
	for _, role := range contract.Roles() {
		values := fixture(b, role, "typical")
		b.Run(string(role), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, vs := contract.Decode(d, role, values, nil); len(vs) > 0 {
					b.Fatal(vs)
				}
			}
		})
	}
	values := fixture(b, contract.RoleMachinePool, "typical")
	var ids []string
	var instances []map[string]any
	for i := range 2000 {
		id := fmt.Sprintf("aws:///eu-central-1a/i-%017x", i)
		ids = append(ids, id)
		instances = append(instances, map[string]any{
			"provider_id": id, "instance_id": id[20:], "failure_domain": "eu-central-1a", "state": "running",
			"addresses": []map[string]string{{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "InternalDNS", "address": "ip-10-0-0-1.internal"}},
		})
	}
	values.Outputs["provider_id_list"], _ = json.Marshal(ids)
	values.Outputs["instances"], _ = json.Marshal(instances)
	values.Outputs["replicas"] = json.RawMessage("2000")
	b.Run("machinepool-2000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, vs := d.DecodePool(values); len(vs.Blocking()) > 0 {
				b.Fatal(vs)
			}
		}
	})
}

func BenchmarkRender(b *testing.B) {
	d := v1alpha1.Definition()
	for _, size := range []int{1 << 10, 16 << 10, 500 << 10} {
		in := validInputs()
		in.Bootstrap.Data = make([]byte, size)
		in.ClusterOutputs = json.RawMessage(`{"network_id":"net-1","subnets":["s-1","s-2","s-3"],"mtu":1450}`)
		b.Run(fmt.Sprintf("bootstrap-%dKiB", size>>10), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, vs := d.Render(in, nil, contract.RenderOptions{}); len(vs) > 0 {
					b.Fatal(vs)
				}
			}
		})
	}
}
