package main

import (
	"context"

	"github.com/captf-toolkit/captf/images/referrer"
	"github.com/captf-toolkit/captf/images/sign"
	"github.com/captf-toolkit/captf/images/source"
	"github.com/captf-toolkit/captf/lint/image"
)

// verifier returns what checks that an image is signed with the key in a file. The
// signature of an index covers its platforms, whose digests it holds.
func verifier(path string, opts source.Options) (func(context.Context, *source.Source) error, error) {
	key, err := sign.ReadPublicKey(path)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, src *source.Source) error {
		attached, err := referrer.Of(src, opts)
		if err != nil {
			return err
		}
		_, err = sign.VerifyKey(ctx, attached, src.Digest, key, sign.PredicateSignature)
		if sign.IsUnsigned(err) {
			return &image.SignatureError{Err: err}
		}
		return err
	}, nil
}
