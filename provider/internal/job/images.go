package job

import (
	"encoding/json"
	"slices"
	"strings"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// maxUnpullable is how many images are remembered that could not be pulled (B-173).
const maxUnpullable = 3

// Image is the module image of one Job.
type Image struct {
	// Reference is the image as it is written where the inputs come from: in the record, else in the spec. It is part of the
	// Job's name.
	Reference string
	// Run is the image that the pod runs.
	Run string
	// Fallbacks are what is left to try if it cannot be pulled, in order.
	Fallbacks []string
	// Pinned tells that Run is the image that the last successful apply ran, by digest.
	Pinned bool
}

// ImageRecord is what a record of inputs says about its image; both are empty in one that says nothing.
type ImageRecord struct {
	// Image as it was written, and Digest what it was then, as sha256:….
	Image, Digest string
}

// ChooseImage returns the image that a Job of the operation runs. An apply and a plan run what the spec says (B-170). The
// others run what the record says whose inputs they use: by digest, else by reference, else what the spec says; what could
// not be pulled is passed over (B-171, B-173), but not the last one, which is then waited for (B-175).
func ChooseImage(op infrav1.Operation, spec string, record ImageRecord, unpullable []string) Image {
	if op == infrav1.OperationApply || op == infrav1.OperationPlan {
		return Image{Reference: spec, Run: spec}
	}
	pinned := Pin(record.Image, record.Digest)
	var candidates []string
	for _, c := range []string{pinned, record.Image, spec} {
		if c != "" && !slices.Contains(candidates, c) {
			candidates = append(candidates, c)
		}
	}
	reference := spec
	if record.Image != "" {
		reference = record.Image
	}
	for len(candidates) > 1 && slices.Contains(unpullable, candidates[0]) {
		candidates = candidates[1:]
	}
	if len(candidates) == 0 {
		return Image{}
	}
	fallbacks := slices.DeleteFunc(slices.Clone(candidates[1:]), func(c string) bool { return slices.Contains(unpullable, c) })
	if len(fallbacks) == 0 {
		fallbacks = nil
	}
	return Image{Reference: reference, Run: candidates[0], Fallbacks: fallbacks, Pinned: candidates[0] == pinned}
}

// Pin returns the reference of an image by its digest: its repository, then @ and the digest. It is empty if either is.
func Pin(reference, digest string) string {
	if reference == "" || digest == "" {
		return ""
	}
	repository, _, _ := strings.Cut(reference, "@")
	// A colon before the last slash belongs to the registry's port.
	if tag := strings.LastIndex(repository, ":"); tag > strings.LastIndex(repository, "/") {
		repository = repository[:tag]
	}
	return repository + "@" + digest
}

// Digest returns the digest that a container's imageID names (B-369), such as sha256:…. It is empty if the ID names none: of an
// image that was loaded into a node, the ID is a hash that no registry knows.
func Digest(imageID string) string {
	_, digest, found := strings.Cut(imageID, "@")
	if !found || !strings.HasPrefix(digest, "sha256:") {
		return ""
	}
	return digest
}

// NoteUnpullable adds an image to those that could not be pulled; the newest are kept.
func NoteUnpullable(images []string, image string) []string {
	out := slices.DeleteFunc(slices.Clone(images), func(i string) bool { return i == image })
	out = append(out, image)
	return out[max(0, len(out)-maxUnpullable):]
}

// EncodeImages returns images as the value of an annotation; empty for none.
func EncodeImages(images []string) string {
	if len(images) == 0 {
		return ""
	}
	b, err := json.Marshal(images)
	if err != nil {
		return "" // strings always encode
	}
	return string(b)
}

// DecodeImages reads the value of an annotation. One that is not a list of images, since somebody changed it, is as good as
// none.
func DecodeImages(annotation string) []string {
	var images []string
	if json.Unmarshal([]byte(annotation), &images) != nil {
		return nil
	}
	return images
}
