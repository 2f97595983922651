package move

// The identifiers of rules. They never change their meaning.
const (
	idSourceNotInitialized = "move/source-not-initialized"
	idNothingToMove        = "move/nothing-to-move"
	idUnreadable           = "move/unreadable"
	idClusterPaused        = "move/cluster-paused"
	idClassPaused          = "move/class-paused"
	idObjectPaused         = "move/object-paused"
	idInfrastructure       = "move/infrastructure-not-provisioned"
	idControlPlane         = "move/control-plane-not-initialized"
	idMachineWithoutNode   = "move/machine-without-node"
	idDeleting             = "move/deleting"
	idBlocked              = "move/blocked"
	idJobRunning           = "move/job-running"
	idStateLocked          = "move/state-locked"
	idPlanApproved         = "move/plan-approved"
	idPlanPending          = "move/plan-pending"
	idRollout              = "move/rollout-in-progress"
	idOtherClusters        = "move/other-clusters-block"
	idOwnerMissing         = "move/owner-missing"
	idOwnerLeftBehind      = "move/owner-left-behind"
	idOwnerCycle           = "move/owner-cycle"
	idClassMissing         = "move/class-missing"
	idSecretLeftBehind     = "move/secret-left-behind"
	idConfigMapLeftBehind  = "move/configmap-left-behind"
	idIdentityLeftBehind   = "move/identity-left-behind"
	idObjectLeftBehind     = "move/object-left-behind"
	idReferenceMissing     = "move/reference-missing"
	idDependentLeftBehind  = "move/dependent-left-behind"
	idReferrerLeftBehind   = "move/referrer-left-behind"
	idLabelledLeftBehind   = "move/labelled-left-behind"
	idNamedLeftBehind      = "move/named-left-behind"
	idUnownedLeftBehind    = "move/unowned-left-behind"
	idDeletedElsewhere     = "move/deleted-elsewhere"
	idTargetUnchecked      = "move/target-unchecked"
	idSameCluster          = "move/same-cluster"
	idTargetNotInitialized = "move/target-not-initialized"
	idProviderMissing      = "move/provider-missing"
	idProviderOlder        = "move/provider-older"
	idProviderNewer        = "move/provider-newer"
	idProviderVersion      = "move/provider-version-unreadable"
	idCRDMissing           = "move/crd-missing"
	idVersionNotServed     = "move/version-not-served"
	idContractMissing      = "move/contract-missing"
	idNamespaceMissing     = "move/namespace-missing"
	idNamespaceDeleting    = "move/namespace-deleting"
	idNamespaceLabels      = "move/namespace-labels-left-behind"
	idClusterOnTarget      = "move/cluster-on-target"
	idObjectOnTarget       = "move/object-on-target"
	idInterrupted          = "move/interrupted"
	idGlobalDiffers        = "move/global-differs"
)

var (
	errorOnly      = []Severity{SeverityError}
	warningOnly    = []Severity{SeverityWarning}
	infoOnly       = []Severity{SeverityInfo}
	leftSeverities = []Severity{SeverityError, SeverityWarning, SeverityInfo}
)

// leftFinds says how grave it is that something is left behind that is referred to.
const leftFinds = "; an error if the target lacks it too, a warning if the target was not looked at or may not be, information if the target has one of that name or if only a global object names it that nothing here names, such as the identity of another namespace"

// rules is the one place where rules are described.
var rules = []Rule{
	{idSourceNotInitialized, errorOnly, "no CRD of the source carries the label clusterctl.cluster.x-k8s.io, or the Cluster CRD does not serve v1beta2",
		"clusterctl discovers objects by the CRDs that it installed and labelled"},
	{idNothingToMove, errorOnly, "there is no Cluster in the namespace", "clusterctl moves one namespace at a time, by default that of the current context"},
	{idUnreadable, warningOnly, "objects could not be listed that clusterctl itself does not need", "what is not seen is not checked"},

	{idClusterPaused, errorOnly, "a Cluster is paused", "clusterctl refuses to move while a Cluster of the namespace is paused: it pauses them itself"},
	{idClassPaused, errorOnly, "a ClusterClass is paused", "clusterctl refuses to move while a ClusterClass is paused"},
	{idObjectPaused, infoOnly, "an object carries the annotation cluster.x-k8s.io/paused", "the annotation travels: nothing reconciles the object at the target either"},
	{idInfrastructure, errorOnly, "the infrastructure of a Cluster is not provisioned", "clusterctl refuses to move while a Cluster is being provisioned"},
	{idControlPlane, errorOnly, "the control plane of a Cluster is not initialized", "clusterctl refuses to move before the control plane is initialized"},
	{idMachineWithoutNode, errorOnly, "a Machine has no node", "clusterctl refuses to move while a Machine has no nodeRef"},
	{idDeleting, errorOnly, "an object that would move is being deleted", "the object is made anew at the target without the deletion, and its finalizers at the source are removed without having done their work"},
	{idBlocked, errorOnly, "an object carries the annotation clusterctl.cluster.x-k8s.io/block-move", "clusterctl waits some minutes for it to go away and then gives up, with the Clusters paused"},
	{idJobRunning, errorOnly, "a Job of an object that would move is running", "Jobs do not move: it goes on at the source, and the target does not know of it"},
	{idStateLocked, errorOnly, "the lock of a Terraform state that moves is held", "Leases do not move: at the target the state is not locked, and two writers can meet"},
	{idPlanApproved, errorOnly, "a TerraformPlan is approved and not yet applied", "the target's webhook takes the plan only from its approver: when anybody else moves it, clusterctl fails half-way"},
	{idPlanPending, warningOnly, "a TerraformPlan waits for approval", "it travels and waits at the target"},
	{idRollout, warningOnly, "a rollout or scaling goes on", "Machines come and go during the move: a new one without a node makes clusterctl refuse"},
	{idOtherClusters, errorOnly, "with --cluster: another Cluster of the namespace has errors", "clusterctl moves all Clusters of a namespace or none"},

	{idOwnerMissing, errorOnly, "an owner reference names a Cluster, ClusterClass or Machine that there is not, or in a provider's namespace one that does not move", "clusterctl looks the owner up among what it moves and fails when it finds none"},
	{idOwnerLeftBehind, errorOnly, "an object that should move has an owner that does not", "clusterctl moves an object only after all of its owners, and passes over it in silence"},
	{idOwnerCycle, errorOnly, "objects own each other in a circle", "clusterctl moves an object only after all of its owners, and passes over these in silence"},
	{idClassMissing, errorOnly, "a ClusterClass of another namespace, or a template that it names, cannot be found", "clusterctl reads them and fails"},

	{idSecretLeftBehind, leftSeverities, "a Secret is referred to by what moves and does not move itself" + leftFinds, "Secrets move only if a Cluster owns them, if they are named as its certificates, or if they carry the label clusterctl.cluster.x-k8s.io/move"},
	{idConfigMapLeftBehind, leftSeverities, "a ConfigMap is referred to by what moves and does not move itself" + leftFinds, "ConfigMaps move only if a Cluster owns them or if they carry the label clusterctl.cluster.x-k8s.io/move"},
	{idIdentityLeftBehind, leftSeverities, "an identity is referred to by what moves and does not move itself" + leftFinds, "identities move only if their CRD or they themselves carry the label clusterctl.cluster.x-k8s.io/move-hierarchy"},
	{idObjectLeftBehind, leftSeverities, "another object is referred to by what moves and does not move itself" + leftFinds, "objects move only if a Cluster owns them or if they or their CRD are labelled for it"},
	{idReferenceMissing, []Severity{SeverityWarning, SeverityInfo}, "something is referred to that the source does not have; information where only the name of a field says that it is a reference", "what is missing before the move is missing after it"},
	{idDependentLeftBehind, warningOnly, "an object of a kind that clusterctl does not discover is owned by one that moves", "when its owner is deleted at the source, the garbage collector deletes it, and the target has none"},
	{idReferrerLeftBehind, warningOnly, "an object of a kind that clusterctl does not discover refers to one that moves", "it stays at the source and finds there no more what it refers to"},
	{idLabelledLeftBehind, warningOnly, "an object carries the label cluster.x-k8s.io/cluster-name of a Cluster that moves, and stays", "whoever labelled it took it for a part of the Cluster"},
	{idNamedLeftBehind, infoOnly, "a Secret is named after a Cluster that moves, and stays", "of Secrets without an owner only those named as certificates of a Cluster move"},
	{idUnownedLeftBehind, infoOnly, "an object is of a kind that clusterctl discovers, and nothing that moves owns it", "it stays at the source, where nothing uses it any more"},
	{idDeletedElsewhere, warningOnly, "an object of another namespace moves too and is deleted there", "Clusters of other namespaces may use it: what clusterctl moves it deletes, even from a provider's namespace"},

	{idTargetUnchecked, infoOnly, "no target was given", "providers, versions and Secrets of the target were not looked at"},
	{idSameCluster, errorOnly, "source and target are the same management cluster", "clusterctl would delete what it has just made"},
	{idTargetNotInitialized, errorOnly, "the target has no Cluster API, or not with v1beta2", "clusterctl refuses a target without it"},
	{idProviderMissing, errorOnly, "the target lacks a provider of the source", "clusterctl refuses to move"},
	{idProviderOlder, errorOnly, "a provider of the target is older than the source's", "clusterctl refuses to move"},
	{idProviderNewer, infoOnly, "a provider of the target is newer than the source's", "the move upgrades the provider too; the way back needs the same version there"},
	{idProviderVersion, errorOnly, "the version of a provider is not a semantic version", "clusterctl refuses to compare it"},
	{idCRDMissing, errorOnly, "the target lacks the CRD of a kind that moves", "objects of the kind cannot be made there, and clusterctl fails half-way"},
	{idVersionNotServed, errorOnly, "the target does not serve the version of a kind that the source stores", "clusterctl makes objects in the version that the source stores, and fails half-way"},
	{idContractMissing, []Severity{SeverityError, SeverityWarning}, "a CRD of the target lacks a contract label that the source's has; an error if it has none of them", "Cluster API finds the versions of a kind by the labels cluster.x-k8s.io/<contract> of its CRD"},
	{idNamespaceMissing, infoOnly, "the namespace does not exist at the target", "clusterctl makes it, without labels, quotas or policies"},
	{idNamespaceDeleting, errorOnly, "the namespace is being deleted at the target, or at the source", "nothing can be made in it"},
	{idNamespaceLabels, warningOnly, "the target's namespace lacks labels of the source's", "identities and Pod Security choose namespaces by their labels, and clusterctl moves none"},
	{idClusterOnTarget, []Severity{SeverityError, SeverityWarning}, "the target has a Cluster of the same name; a warning if it is paused, as an interrupted move leaves it", "clusterctl overwrites what it finds"},
	{idInterrupted, errorOnly, "a Cluster is paused on both sides, and the target has all of it and objects that the source has no more", "a move was interrupted while it deleted at the source: unpaused, the source would replace what is gone there; it is finished by hand, as docs/move.md says"},
	{idObjectOnTarget, warningOnly, "the target has objects of the same name", "clusterctl overwrites what it finds; after an interrupted move that is right"},
	{idGlobalDiffers, warningOnly, "the target has a global object of the same name with another spec", "clusterctl leaves global objects as they are that exist"},
}
