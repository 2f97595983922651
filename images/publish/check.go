package publish

import (
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Check tells, before the work of making an image, whether it could be published: it begins an upload to each repository and
// gives it up. Errors are those of Publish.
func Check(tags []name.Tag, o Options) error {
	if len(tags) == 0 {
		return errors.New("publishing: there is no tag to publish to")
	}
	c, err := newClient(o)
	if err != nil {
		return fmt.Errorf("publishing: %w", err)
	}
	for _, t := range tags {
		if err := remote.CheckPushPermission(t, c.Keychain, c.registry); err != nil {
			return explain("publishing "+t.Name(), t.Context(), err)
		}
	}
	return nil
}
