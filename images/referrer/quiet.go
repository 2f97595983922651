package referrer

import (
	"errors"
	"net/url"
)

// quiet drops what an error of the HTTP client says of the URL.
func quiet(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
