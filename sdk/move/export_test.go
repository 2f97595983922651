package move

// What the tests of this package hold against the packages that it is from.
const (
	GroupCore, GroupAddons, GroupInventory, GroupInfrastructure = groupCore, groupAddons, groupInventory, groupInfrastructure
	Contract                                                    = contract
	LabelClusterctl, LabelMove, LabelMoveHierarchy              = labelClusterctl, labelMove, labelMoveHierarchy
	LabelProvider, LabelCluster                                 = labelProvider, labelCluster
	AnnotationPaused, AnnotationBlock                           = annotationPaused, annotationBlock
	InfrastructureProvider                                      = infrastructureProvider
	LabelPlanPhase, LabelOwnerKind, LabelOwner                  = labelPlanPhase, labelOwnerKind, labelOwnerName
)

// FinalPlans are finalPlans.
var FinalPlans = finalPlans

// SecretOf is secretOf.
var SecretOf = secretOf

// Manifest is how the label of a provider's objects names it.
func Manifest(kind, name string) string { return provider{kind: kind, name: name}.manifest() }

// ProviderKinds are the types of providers.
func ProviderKinds() []string {
	var list []string
	for _, k := range providerKinds {
		list = append(list, k.kind)
	}
	return list
}

// Quote is quote.
var Quote = quote
