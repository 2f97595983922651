package rules

import (
	"slices"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/lint"
)

// All returns every check, in the order of the reference page.
func All() []lint.Rule { return slices.Clone(all) }

var all = []lint.Rule{
	inputRequired, inputType, inputDefault, inputNullable, inputSensitive, inputReserved,
	inputTagsDeclared, inputTagsUnused, inputUnused, inputUserVariableDefault, inputUserVariableName,
	outputRequired, outputHealth, outputReserved, outputEndpointNeverSet, outputProviderIDListShape,
	outputShape, outputLimits, outputExportsNumber, outputExportsSecret, outputSensitive,
	poolAutoscalingIgnoreChanges, poolBootstrapReplace,
	clusterEndpointProtect,
	cpClusterMembers, cpSupervisorListener, cpRegistration, cpRegistrationWaits, cpMemberList, cpFailureDomainEcho, cpAddresses,
	cpWorkloadAPI,
	moduleBackend, moduleCloud, moduleImport, moduleProviderConfig, moduleSourceEscape, moduleRemoteSource,
	moduleTofuShadow, moduleVersion, moduleProviderPin, moduleSyntaxFloor,
	moduleNondeterministic, moduleEphemeral,
	lintSuppression,
}

// Names of the contract that checks of their own are about.
const (
	inputTags        = "captf_tags"
	inputBootstrap   = "bootstrap_data"
	inputAutoscaling = "autoscaling"
	outHealth        = "health"
	outProviderIDs   = "provider_id_list"
	outEndpoint      = "control_plane_endpoint"
	outAddresses     = "addresses"

	inputControlPlane = "control_plane"
	inputOutputs      = "captf_cluster_outputs"
	inputMachineName  = "machine_name"
	inputObject       = "captf_object"
	nameFailureDomain = "failure_domain" // an input and an output
)

var (
	onlyCluster = []contract.Role{contract.RoleCluster}
	onlyMachine = []contract.Role{contract.RoleMachine}
	onlyPool    = []contract.Role{contract.RoleMachinePool}
	nodes       = []contract.Role{contract.RoleMachine, contract.RoleMachinePool}
)

var (
	isError        = []lint.Severity{lint.SeverityError}
	isWarning      = []lint.Severity{lint.SeverityWarning}
	isInfo         = []lint.Severity{lint.SeverityInfo}
	errorOrWarning = []lint.Severity{lint.SeverityError, lint.SeverityWarning}
	warningOrInfo  = []lint.Severity{lint.SeverityWarning, lint.SeverityInfo}
	errorOrInfo    = []lint.Severity{lint.SeverityError, lint.SeverityInfo}
)

var lintSuppression = lint.Rule{
	ID:         lint.SuppressionID,
	Severities: isWarning,
	Summary:    "A comment that ignores findings lacks a reason, names no check that exists, ignores an error, or ignores nothing.",
	Why:        "A comment without effect hides that the module changed; one without a reason cannot be reviewed.",
	Fix:        "Write `# tfcapi-lint:ignore ID[,ID] reason` on the line of the finding or right above its argument or block, and remove comments that are no longer needed. Only warnings and infos can be ignored.",
	Bad: `# tfcapi-lint:ignore input/user-variable-default
variable "region" {
  type = string
}`,
	Good: `# tfcapi-lint:ignore input/user-variable-default every cluster must choose its region
variable "region" {
  type = string
}`,
	Rules: []string{"lint.md 7"},
}
