package reference

import (
	"bytes"
	"text/template"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
)

// ImagePage returns the reference page of the image contract as Markdown.
func ImagePage() ([]byte, error) {
	page, err := template.New("image.md.tmpl").Funcs(template.FuncMap{
		"cell":  cell,
		"code":  code,
		"yes":   yes,
		"join":  joinCodes,
		"use":   useOf,
		"roles": rolesOf,
	}).ParseFS(files, "image.md.tmpl")
	if err != nil {
		return nil, err
	}
	var platforms []string
	for _, p := range image.Platforms() {
		platforms = append(platforms, p.String())
	}
	var b bytes.Buffer
	err = page.Execute(&b, map[string]any{
		"Paths": image.Paths(), "Labels": image.Labels(), "User": image.User,
		"Architectures": image.Architectures(), "Platforms": platforms,
	})
	return b.Bytes(), err
}

func useOf(u image.Use) string {
	return map[image.Use]string{
		image.Content:  "read by the Job",
		image.Reserved: "mount point; must be absent or empty",
		image.Shadowed: "hidden by a mount; content is of no use",
	}[u]
}

func rolesOf(roles []contract.Role) string {
	if len(roles) == 0 {
		return "all"
	}
	names := make([]string, 0, len(roles))
	for _, r := range roles {
		names = append(names, string(r))
	}
	return joinCodes(names)
}
