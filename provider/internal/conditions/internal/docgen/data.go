package main

import (
	"encoding/json"

	"github.com/captf-toolkit/captf/provider/internal/conditions"
)

// dataFile is the name of the catalogue as data.
const dataFile = "catalogue.json"

// dataType is one type of condition, as sdk/diagnose reads it.
type dataType struct {
	Type     string       `json:"type"`
	Carriers []string     `json:"carriers"`
	Polarity string       `json:"polarity"`
	Ready    string       `json:"ready"`
	Reasons  []dataReason `json:"reasons"`
}

// dataReason is one status and reason of a type.
type dataReason struct {
	Status   string `json:"status"`
	Reason   string `json:"reason"`
	Meaning  string `json:"meaning"`
	Action   string `json:"action,omitempty"`
	Progress bool   `json:"progress,omitempty"`
}

// catalogueData is the catalogue as JSON.
func catalogueData() ([]byte, error) {
	var types []dataType
	for _, t := range conditions.Catalogue() {
		d := dataType{Type: t.Name, Carriers: t.Carriers, Polarity: string(t.Polarity), Ready: string(t.Ready)}
		for _, r := range t.Reasons {
			d.Reasons = append(d.Reasons, dataReason{Status: string(r.Status), Reason: r.Name, Meaning: r.Doc, Action: r.Action, Progress: r.Progress})
		}
		types = append(types, d)
	}
	data, err := json.MarshalIndent(types, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}
