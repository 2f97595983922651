package sign_test

import (
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	sigstore "github.com/sigstore/sigstore-go/pkg/sign"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/captf-toolkit/captf/images/sign"
)

// TestSigstoreSigns verifies what Sigstore's own library has signed.
func TestSigstoreSigns(t *testing.T) {
	image := digest("image")
	pair, err := sigstore.NewEphemeralKeypair(nil)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := sign.NewSignature(image).Payload()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := sigstore.Bundle(&sigstore.DSSEData{Data: payload, PayloadType: sign.PayloadType}, pair, sigstore.BundleOptions{Context: t.Context()})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := protojson.MarshalOptions{Multiline: true}.Marshal(theirs)
	if err != nil {
		t.Fatal(err)
	}
	pem, err := pair.GetPublicKeyPem()
	if err != nil {
		t.Fatal(err)
	}
	key, err := sign.ParsePublicKey([]byte(pem))
	if err != nil {
		t.Fatal(err)
	}
	if string(pair.GetHint()) != key.ID {
		t.Errorf("the key is %s to us and %s to them", key.ID, pair.GetHint())
	}
	for about, ok := range map[v1.Hash]bool{image: true, digest("other"): false} {
		if _, err := sign.VerifyKey(t.Context(), attached{contents: [][]byte{raw}}, about, key, sign.PredicateSignature); (err == nil) != ok {
			t.Errorf("%s: %v", about, err)
		}
	}
}
