package conditions

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	capi "sigs.k8s.io/cluster-api/util/conditions"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// ReadyInputs returns the types that Ready of a workload object sums up, in order of relevance (provider-status.md 1.1,
// B-660). After an object is provisioned, a failed apply, lost credentials or the like must not take Ready away: Cluster API
// stops health checks of a cluster whose infrastructure is not ready.
func ReadyInputs(role contract.Role, provisioned bool) []string {
	var types []string
	for _, t := range Catalogue() {
		if t.Ready.feeds(role, provisioned) {
			types = append(types, t.Name)
		}
	}
	return types
}

// SetReady sums the conditions of the object up in Ready and tells whether anything changed. Any input in its bad status
// makes it False, else any that is Unknown or missing makes it Unknown; Deleting counts only when it is there.
func SetReady(obj infrav1.Workspace, now time.Time) (bool, error) {
	types := ReadyInputs(obj.Role(), Provisioned(obj))
	summary, err := capi.NewSummaryCondition(explained{obj, types}, infrav1.ReadyCondition,
		capi.ForConditionTypes(types),
		capi.NegativePolarityConditionTypes(negativeTypes()),
		capi.IgnoreTypesIfMissing{infrav1.DeletingCondition},
		capi.CustomMergeStrategy{MergeStrategy: capi.DefaultMergeStrategy(
			capi.GetPriorityFunc(capi.GetDefaultMergePriorityFunc(negativeTypes()...)),
			capi.ComputeReasonFunc(capi.GetDefaultComputeMergeReasonFunc(
				infrav1.NotReadyReason, infrav1.ReadyUnknownReason, infrav1.ReadyReason)),
		)},
	)
	if err != nil {
		return false, fmt.Errorf("summing up the conditions of %s: %w", obj.GetName(), err)
	}
	message := summary.Message
	if summary.Status == metav1.ConditionTrue {
		message = ""
	}
	return Set(obj, infrav1.ReadyCondition, Value{Status: summary.Status, Reason: summary.Reason, Message: message}, now), nil
}

// Provisioned tells that the object has ever been provisioned; the mark is never taken back.
func Provisioned(obj infrav1.Workspace) bool {
	init := obj.WorkspaceStatus().Initialization
	return init != nil && init.Provisioned != nil && *init.Provisioned
}

// explained shows conditions with their reason in front of the message, because the summary quotes only messages and an
// observer goes from Ready to the reason of the input that decides.
type explained struct {
	infrav1.Workspace
	types []string
}

// GetConditions returns the conditions as the summary quotes them.
func (e explained) GetConditions() []metav1.Condition {
	list := e.Workspace.GetConditions()
	out := make([]metav1.Condition, 0, len(list))
	for _, c := range list {
		if c.Message != "" && c.Message != c.Reason {
			c.Message = c.Reason + ": " + c.Message
		}
		out = append(out, c)
	}
	return out
}

func negativeTypes() []string {
	var types []string
	for _, t := range Catalogue() {
		if t.Polarity == Negative {
			types = append(types, t.Name)
		}
	}
	return types
}
