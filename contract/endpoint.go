package contract

// AnnotationEndpointSource is where a TerraformCluster records who supplies its
// control-plane endpoint (contract.md 9.3).
const AnnotationEndpointSource = "captf.io/endpoint-source"

// EndpointSource is the value of AnnotationEndpointSource. Once written it
// never changes.
type EndpointSource string

// The sources of an endpoint.
const (
	// EndpointSourceNone: nobody has supplied an endpoint yet; the annotation is absent.
	EndpointSourceNone EndpointSource = ""
	// EndpointSourceUser: there was an endpoint before the first apply.
	EndpointSourceUser EndpointSource = "user"
	// EndpointSourceModule: the module's output became the endpoint.
	EndpointSourceModule EndpointSource = "module"
)

// InitialEndpointSource returns what is recorded before the first apply, given
// the endpoints in the specs of the Cluster and the TerraformCluster (B-790).
// EndpointSourceNone records nothing.
func InitialEndpointSource(cluster, object *Endpoint) EndpointSource {
	if cluster.Valid() || object.Valid() {
		return EndpointSourceUser
	}
	return EndpointSourceNone
}

// EndpointInput returns the input control_plane_endpoint: an endpoint that the
// module does not own, nil to ask the module for one. An endpoint that came
// from the module stays out of its input for life, so that the module keeps
// owning it and the inputs hash does not move (contract.md 9.3, B-275, B-792).
func EndpointInput(source EndpointSource, cluster, object *Endpoint) *Endpoint {
	switch {
	case source == EndpointSourceModule:
		return nil
	case cluster.Valid():
		return &Endpoint{Host: cluster.Host, Port: cluster.Port}
	case object.Valid():
		return &Endpoint{Host: object.Host, Port: object.Port}
	default:
		return nil
	}
}

// EndpointToPublish returns the endpoint to write into
// TerraformCluster.spec.controlPlaneEndpoint, together with
// EndpointSourceModule as the recorded source; nil writes nothing. It is the
// module's output, if that is valid, the field is still empty, and the apply
// that made the output was given no endpoint (contract.md 9.2, B-791).
func EndpointToPublish(source EndpointSource, field, rendered, output *Endpoint) *Endpoint {
	empty := field == nil || field.Host == "" && field.Port == 0
	if source == EndpointSourceUser || !empty || rendered != nil || !output.Valid() {
		return nil
	}
	return &Endpoint{Host: output.Host, Port: output.Port}
}

// EndpointAvailable returns the condition EndpointAvailable of a
// TerraformCluster, which informs and gates nothing: it is false once the
// cluster is provisioned while neither the module's output nor the Cluster's
// spec holds a valid endpoint (contract.md 9.4, B-794).
func EndpointAvailable(provisioned bool, output, cluster *Endpoint) Condition {
	if provisioned && !output.Valid() && !cluster.Valid() {
		return Condition{
			Status: ConditionFalse, Reason: "WaitingForEndpoint",
			Message: "the infrastructure is provisioned, but there is no control-plane endpoint, so no control-plane machine is created: " +
				"set Cluster.spec.controlPlaneEndpoint, or emit the module output control_plane_endpoint",
		}
	}
	return Condition{Status: ConditionTrue, Reason: "EndpointAvailable"}
}

// LatchInitialized returns the input control_plane_initialized: what the
// Cluster's status says, but true for good once it was rendered true (B-277).
func LatchInitialized(status *bool, rendered bool) bool {
	return rendered || status != nil && *status
}
