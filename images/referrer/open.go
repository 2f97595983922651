package referrer

import (
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/captf-toolkit/captf/images/source"
)

// ErrArchive tells that an image is in an archive, where nothing can be attached.
var ErrArchive = errors.New("nothing can be attached in an archive: publish the image, or build it into a layout directory with oci:DIR")

// At returns the store beside the image of a reference, as source.Open has
// parsed it.
func At(ref source.Reference, opts source.Options) (Store, error) {
	switch ref.Kind {
	case source.Registry:
		keychain := opts.Keychain
		if keychain == nil {
			keychain = source.NewKeychain(nil)
		}
		options := []remote.Option{remote.WithAuthFromKeychain(keychain)}
		if opts.UserAgent != "" {
			options = append(options, remote.WithUserAgent(opts.UserAgent))
		}
		if opts.Transport != nil {
			options = append(options, remote.WithTransport(opts.Transport))
		}
		return Registry(ref.Name.Context(), options...), nil
	case source.Layout:
		return Layout(ref.Path), nil
	}
	return nil, fmt.Errorf("%s: %w", ref, ErrArchive)
}
