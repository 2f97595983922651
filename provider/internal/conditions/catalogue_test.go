package conditions_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
)

// constants returns the string constants of the API package whose names end in the suffix, by name.
func constants(t *testing.T, suffix string) map[string]string {
	t.Helper()
	path := filepath.Join("..", "..", "api", "v1alpha1", "conditions.go")
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasSuffix(spec.Names[0].Name, suffix) {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		out[spec.Names[0].Name] = value
		return true
	})
	if len(out) == 0 {
		t.Fatalf("no constants in %s end in %s", path, suffix)
	}
	return out
}

// TestCatalogueIsTheAPI compares the catalogue with the names in the API package, both ways.
func TestCatalogueIsTheAPI(t *testing.T) {
	types, reasons := map[string]bool{}, map[string]bool{}
	for _, row := range conditions.Catalogue() {
		if types[row.Name] {
			t.Errorf("%s is listed twice", row.Name)
		}
		types[row.Name] = true
		for _, r := range row.Reasons {
			reasons[r.Name] = true
		}
	}
	declaredTypes, declaredReasons := constants(t, "Condition"), constants(t, "Reason")
	for name, value := range declaredTypes {
		if !types[value] {
			t.Errorf("%s is not in the catalogue", name)
		}
		delete(types, value)
	}
	for name := range types {
		t.Errorf("type %s has no constant", name)
	}
	for name, value := range declaredReasons {
		if !reasons[value] {
			t.Errorf("%s is not in the catalogue", name)
		}
	}
	for _, value := range declaredReasons {
		delete(reasons, value)
	}
	for name := range reasons {
		t.Errorf("reason %s has no constant", name)
	}
}

// TestCatalogueKeepsTheContract looks for the reasons that the contract's rules give to conditions.
func TestCatalogueKeepsTheContract(t *testing.T) {
	given := map[string][]contract.Condition{"OutputsValid": {contract.Violations(nil).OutputsValid()}}
	for _, reason := range contract.Reasons() {
		given["OutputsValid"] = append(given["OutputsValid"], contract.Violations{{Reason: reason}}.OutputsValid())
	}
	for _, state := range contract.HealthStates() {
		given["InfrastructureHealthy"] = append(given["InfrastructureHealthy"],
			contract.Health{State: state, Healthy: true}.Condition(), contract.Health{State: state}.Condition())
	}
	given["EndpointAvailable"] = []contract.Condition{
		contract.EndpointAvailable(true, nil, nil), contract.EndpointAvailable(false, nil, nil),
	}
	one := int64(1)
	for _, annotations := range []map[string]string{
		nil,
		{contract.AnnotationAutoscalerMin: "1"},
		{contract.AnnotationAutoscalerMin: "1", contract.AnnotationAutoscalerMax: "2"},
		{contract.AnnotationAutoscalerMin: "1", contract.AnnotationAutoscalerMax: "2", contract.AnnotationReplicasManagedBy: "other"},
	} {
		given["AutoscalingActive"] = append(given["AutoscalingActive"], contract.SizePool(annotations, &one, nil).Condition)
	}
	for name, list := range given {
		row := typeOf(t, name)
		for _, c := range list {
			if !slices.ContainsFunc(row.Reasons, func(r conditions.Reason) bool {
				return r.Name == c.Reason && r.Status == metav1.ConditionStatus(c.Status)
			}) {
				t.Errorf("%s lacks %s/%s", name, c.Status, c.Reason)
			}
		}
	}
}

func typeOf(t *testing.T, name string) conditions.Type {
	t.Helper()
	i := slices.IndexFunc(conditions.Catalogue(), func(row conditions.Type) bool { return row.Name == name })
	if i < 0 {
		t.Fatalf("there is no condition %s", name)
	}
	return conditions.Catalogue()[i]
}

// TestCatalogueRows checks what holds for each row.
func TestCatalogueRows(t *testing.T) {
	events := map[string]conditions.EventReason{}
	for _, e := range conditions.Events() {
		if _, twice := events[e.Reason]; twice {
			t.Errorf("event %s is listed twice", e.Reason)
		}
		events[e.Reason] = e
		if e.Doc == "" || e.Action == "" || len(e.On) == 0 || e.Type != corev1.EventTypeNormal && e.Type != corev1.EventTypeWarning {
			t.Errorf("event %s lacks something: %+v", e.Reason, e)
		}
	}
	for _, row := range conditions.Catalogue() {
		if row.Doc == "" || len(row.Carriers) == 0 || len(row.Reasons) == 0 {
			t.Errorf("%s lacks something", row.Name)
		}
		seen := map[string]bool{}
		for _, r := range row.Reasons {
			at := row.Name + "/" + r.Name
			key := string(r.Status) + r.Name
			if seen[key] {
				t.Errorf("%s is listed twice", at)
			}
			seen[key] = true
			if r.Doc == "" {
				t.Errorf("%s says nothing", at)
			}
			if strings.HasPrefix(r.Name, "WaitingFor") && r.Status != metav1.ConditionUnknown && r.Name != "WaitingForEndpoint" {
				t.Errorf("%s is a wait and is %s; a wait is Unknown (B-010)", at, r.Status)
			}
			for _, kind := range r.Kinds {
				if !slices.Contains(row.Carriers, kind) {
					t.Errorf("%s is for %s, which does not carry it", at, kind)
				}
			}
			e, known := events[r.Event]
			if r.Event == "" {
				continue
			}
			if !known {
				t.Errorf("%s is told with %s, which is no event", at, r.Event)
			}
			if r.Waits == "" && e.Waits != "" {
				t.Errorf("%s is built, and its event %s waits for %s", at, r.Event, e.Waits)
			}
		}
	}
}

// TestWhatToDo asks for an action wherever something is not as it should be: captf diagnose shows it.
func TestWhatToDo(t *testing.T) {
	for _, row := range conditions.Catalogue() {
		for _, r := range row.Reasons {
			if due := row.Polarity.Bad(r.Status) || (row.Polarity != conditions.Neutral && r.Status == metav1.ConditionUnknown); due != (r.Action != "") {
				t.Errorf("%s %s %s: the action is %q", row.Name, r.Status, r.Name, r.Action)
			}
		}
	}
}
