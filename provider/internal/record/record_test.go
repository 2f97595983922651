package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// TestForState holds the choice of a record against its rules (B-375..B-378).
func TestForState(t *testing.T) {
	files := func(r Record) *Record {
		r.Root, r.Values = []byte("{}"), []byte("{}")
		return &r
	}
	attempt := files(Record{Job: "new", InputsHash: "h2:new"})
	applied := files(Record{Job: "old", InputsHash: "h2:old"})
	for name, test := range map[string]struct {
		attempt, applied *Record
		hash             string
		want             string
	}{
		"nothing is recorded":                                   {want: ""},
		"the state is of the success":                           {attempt, applied, "h2:old", "old"},
		"the state is of the attempt":                           {attempt, applied, "h2:new", "new"},
		"the state is of neither":                               {attempt, applied, "h2:other", "old"},
		"the state has no hash":                                 {attempt, applied, "", "old"},
		"a later attempt may have changed something":            {files(Record{Job: "new", MayHaveApplied: true}), applied, "h2:old", "new"},
		"the attempt that may have changed something succeeded": {files(Record{Job: "old", MayHaveApplied: true}), applied, "h2:old", "old"},
		"only the attempt is there":                             {attempt, nil, "h2:old", "new"},
		"only the success is there":                             {nil, applied, "h2:new", "old"},
		"the attempt carries marks only":                        {&Record{Job: "new", MayHaveApplied: true}, applied, "h2:old", "old"},
		"nothing but marks is there":                            {&Record{Job: "new", MayHaveApplied: true}, nil, "h2:old", ""},
	} {
		got := ""
		if r := ForState(test.attempt, test.applied, test.hash); r != nil {
			got = r.Job
		}
		if got != test.want {
			t.Errorf("%s: the record of Job %q is used, want %q", name, got, test.want)
		}
	}
}

// TestMarks reads back from annotations what was written to them.
func TestMarks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z0-9:./@-]{0,20}`)
		r := Record{
			Job: text.Draw(t, "job"), InputsHash: text.Draw(t, "hash"), Image: text.Draw(t, "image"), ImageDigest: text.Draw(t, "digest"),
			Identity: text.Draw(t, "identity"), UnconfirmedApply: text.Draw(t, "unconfirmed"),
			IdentityKind: rapid.SampledFrom([]infrav1.IdentityKind{"", infrav1.IdentityKindSecret}).Draw(t, "kind"),
			Applied:      rapid.Bool().Draw(t, "applied"), MayHaveApplied: rapid.Bool().Draw(t, "may"),
			Unpullable: rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,5}`), 0, maxUnpullable).Draw(t, "unpullable"),
		}
		if diff := cmp.Diff(r, Marks(r.annotations()), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("read back (-written +read):\n%s", diff)
		}
	})
}

// TestMarksBroken reads annotations that somebody changed by hand.
func TestMarksBroken(t *testing.T) {
	r := Marks(map[string]string{infrav1.AnnotationUnpullableImages: "{", infrav1.AnnotationApplied: "yes"})
	if r.Applied || len(r.Unpullable) > 0 {
		t.Errorf("broken annotations are read as %+v", r)
	}
}
