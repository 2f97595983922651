package workload

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
)

// content is what a state says that there is.
type content struct {
	cluster   types.NamespacedName
	endpoint  *Endpoint // of a cluster's state
	instances []boot
}

// boot is an instance that is to boot.
type boot struct {
	Instance
	role   contract.Role
	object types.NamespacedName
	digest string // of the bootstrap data, by the module
	reader client.Reader
}

// stateFile is the part of a state that is looked at.
type stateFile struct {
	Outputs struct {
		Endpoint       struct{ Value *Endpoint } `json:"control_plane_endpoint"`
		ProviderID     struct{ Value *string }   `json:"provider_id"`
		ProviderIDList struct{ Value []string }  `json:"provider_id_list"`
	} `json:"outputs"`
	Resources []struct {
		Mode, Type, Name string
		Instances        []struct {
			Attributes struct {
				Input struct {
					Value json.RawMessage
				} `json:"input"`
			} `json:"attributes"`
		}
	} `json:"resources"`
}

// recorded is what the no-op modules record of their inputs.
type recorded struct {
	Cluster     struct{ Name, Namespace string }
	Object      struct{ Name, Namespace string }
	MachineName string `json:"machine_name"`
	Version     string `json:"kubernetes_version"`
	Bootstrap   struct{ Sha256 string }
}

// resources are the resources that stand in for something, by the role of their module.
var resources = map[string]contract.Role{
	"load_balancer": contract.RoleCluster, "instance": contract.RoleMachine, "group": contract.RoleMachinePool,
}

// maxState bounds what is unpacked.
const maxState = 16 << 20

// read reads the state in a Secret; nil means that there is nothing of ours in it.
func read(s *corev1.Secret) (*content, error) {
	packed, err := gzip.NewReader(bytes.NewReader(s.Data["tfstate"]))
	if err != nil {
		return nil, fmt.Errorf("reading the state %s: %w", s.Name, err)
	}
	text, err := io.ReadAll(io.LimitReader(packed, maxState))
	if err != nil {
		return nil, fmt.Errorf("reading the state %s: %w", s.Name, err)
	}
	var f stateFile
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("reading the state %s: it is no JSON of the form that is expected", s.Name)
	}
	for _, r := range f.Resources {
		role, ours := resources[r.Name]
		if r.Mode != "managed" || r.Type != "terraform_data" || !ours || len(r.Instances) == 0 {
			continue
		}
		var in recorded
		if err := json.Unmarshal(r.Instances[0].Attributes.Input.Value, &in); err != nil {
			return nil, fmt.Errorf("reading the state %s: terraform_data.%s has no input", s.Name, r.Name)
		}
		return f.content(role, in)
	}
	return nil, nil //nolint:nilnil // said above
}

// content is what there is, by the outputs: what the module returned counts, not what it may have meant.
func (f *stateFile) content(role contract.Role, in recorded) (*content, error) {
	out := &content{cluster: types.NamespacedName{Namespace: in.Cluster.Namespace, Name: in.Cluster.Name}}
	add := func(name, id string) {
		out.instances = append(out.instances, boot{
			Instance: Instance{Name: name, ProviderID: id, Version: in.Version}, role: role,
			object: types.NamespacedName{Namespace: in.Object.Namespace, Name: in.Object.Name}, digest: in.Bootstrap.Sha256,
		})
	}
	switch role {
	case contract.RoleCluster:
		out.endpoint = f.Outputs.Endpoint.Value
	case contract.RoleMachine:
		if id := f.Outputs.ProviderID.Value; id != nil {
			add(in.MachineName, *id)
		}
	case contract.RoleMachinePool:
		for _, id := range f.Outputs.ProviderIDList.Value {
			add(in.Object.Name+"-"+path.Base(id), id)
		}
	default:
		return nil, errors.New("a state is of a role that is not known: " + string(role))
	}
	return out, nil
}

// digest is what the modules record of bootstrap data.
func digest(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}
