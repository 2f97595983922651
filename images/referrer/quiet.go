package referrer

import (
	"errors"
	"net/url"
)

// quiet drops what an error of the HTTP client says of the URL.
func quiet(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
