package persona

import (
	"crypto/md5" //nolint:gosec // It is what S3 calls an etag.
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"

	"github.com/captf-toolkit/captf/sdk/simcloud"
)

// awsIdentity follows role.go, policy.go, instance_profile.go in internal/service/iam.
func awsIdentity() types {
	name := func(limit int) *regexp.Regexp { return regexp.MustCompile(fmt.Sprintf(`^[\w+=,.@-]{1,%d}$`, limit)) }
	const invalid = "api error ValidationError: the name %q is longer than IAM allows or has characters other than letters, digits and +=,.@_-"
	return types{
		"aws_iam_role": {
			Kind: simcloud.KindIdentity, ForceNew: []string{"name", "name_prefix", "path"},
			Defaults: map[string]any{"path": "/", "max_session_duration": 3600, "force_detach_policies": false},
			Values: values{
				"name": prefixed("name_prefix"), "id": simcloud.Copy("name"), "arn": simcloud.Text("arn:aws:iam::{account}:role{attr:path}{attr:name}"),
				"unique_id": awsUniqueID("AROA"), "managed_policy_arns": simcloud.Const([]any{}), "create_date": simcloud.Const("2026-01-01T00:00:00Z"),
			},
			Create: chain(awsTags, named("name", name(64), invalid), alone("api error EntityAlreadyExists: Role with name %s already exists.", "name")), Update: awsTags,
			Delete: awsRoleInUse,
		},
		"aws_iam_role_policy": {
			Kind: simcloud.KindIdentity, ForceNew: []string{"name", "name_prefix", "role"},
			Values: values{"name": prefixed("name_prefix"), "id": simcloud.Text("{attr:role}:{attr:name}")},
			Create: chain(named("name", name(128), invalid), awsPolicySize),
			Update: awsPolicySize,
		},
		"aws_iam_role_policy_attachment": {
			Kind: simcloud.KindIdentity, ForceNew: []string{"role", "policy_arn"}, Values: values{"id": simcloud.Text("{attr:role}/{attr:policy_arn}")},
		},
		"aws_iam_policy": {
			Kind: simcloud.KindIdentity, ForceNew: []string{"name", "name_prefix", "path", "description"}, Defaults: map[string]any{"path": "/"},
			Values: values{
				"name": prefixed("name_prefix"), "arn": simcloud.Text("arn:aws:iam::{account}:policy{attr:path}{attr:name}"), "id": simcloud.Copy("arn"),
				"policy_id": awsUniqueID("ANPA"), "attachment_count": simcloud.Const(0),
			},
			Create: chain(awsTags, named("name", name(128), invalid), alone("api error EntityAlreadyExists: a policy called %s already exists", "name")), Update: awsTags,
			UsedBy: []simcloud.Reference{{Type: "aws_iam_role_policy_attachment", Attribute: "policy_arn", To: "arn"}},
		},
		"aws_iam_instance_profile": {
			Kind: simcloud.KindIdentity, ForceNew: []string{"name", "name_prefix", "path"}, Defaults: map[string]any{"path": "/"},
			Values: values{
				"name": prefixed("name_prefix"), "id": simcloud.Copy("name"), "arn": simcloud.Text("arn:aws:iam::{account}:instance-profile{attr:path}{attr:name}"),
				"unique_id": awsUniqueID("AIPA"), "create_date": simcloud.Const("2026-01-01T00:00:00Z"),
			},
			Create: chain(awsTags, named("name", name(128), invalid), alone("api error EntityAlreadyExists: Instance Profile %s already exists.", "name")), Update: awsTags,
		},
	}
}

// awsUniqueID is an id of IAM, such as AROA followed by letters and digits.
func awsUniqueID(prefix string) simcloud.Value {
	return func(c *simcloud.Context) any {
		const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
		out := []byte(prefix)
		for i, d := range []byte(c.Hex("unique", 17)) {
			out = append(out, letters[(int(d)*7+i)%len(letters)])
		}
		return string(out)
	}
}

// awsRoleInUse: a role stays while a profile or policy is attached.
func awsRoleInUse(c *simcloud.Context) error {
	role := c.Text("name")
	for _, o := range c.Objects("aws_iam_*") {
		if o.Text("role") != role {
			continue
		}
		switch o.Type {
		case "aws_iam_instance_profile":
			return errors.New("api error DeleteConflict: cannot delete entity, must remove roles from instance profile first")
		case "aws_iam_role_policy", "aws_iam_role_policy_attachment":
			return errors.New("api error DeleteConflict: cannot delete entity, must delete policies first")
		}
	}
	return nil
}

// awsPolicySize: the inline policies of a role have at most 10,240 characters.
func awsPolicySize(c *simcloud.Context) error {
	if n := len(c.Text("policy")); n > 10240 {
		return fmt.Errorf("api error LimitExceeded: maximum policy size of 10240 bytes exceeded for role %s", c.Text("role"))
	}
	return nil
}

// awsStorage follows bucket.go, bucket_*.go and object.go in internal/service/s3.
func awsStorage() types {
	sub := func(more ...string) simcloud.TypeRule {
		return simcloud.TypeRule{
			ForceNew: append([]string{"bucket"}, more...), Values: values{"id": simcloud.Copy("bucket")}, Create: awsBucketExists,
			Unique: [][]string{{"bucket"}},
		}
	}
	access := sub()
	access.Defaults = map[string]any{"block_public_acls": false, "block_public_policy": false, "ignore_public_acls": false, "restrict_public_buckets": false, "skip_destroy": false}
	return types{
		"aws_s3_bucket": {
			ForceNew: []string{"bucket", "bucket_namespace", "bucket_prefix", "object_lock_enabled"}, Defaults: map[string]any{"force_destroy": false},
			Values: values{
				"bucket": prefixed("bucket_prefix"), "id": simcloud.Copy("bucket"), "arn": simcloud.Text("arn:aws:s3:::{attr:bucket}"),
				"bucket_domain_name": simcloud.Text("{attr:bucket}.s3.amazonaws.com"), "bucket_regional_domain_name": simcloud.Text("{attr:bucket}.s3.{region}.amazonaws.com"),
				"bucket_region": simcloud.Text("{region}"), "hosted_zone_id": simcloud.Const("Z21DNDUVLTQW6Q"), "request_payer": simcloud.Const("BucketOwner"),
				"object_lock_enabled": simcloud.Const(false), "acceleration_status": simcloud.Const(""), "policy": simcloud.Const(""), "acl": simcloud.Const("private"),
			},
			Create: chain(awsTags,
				named("bucket", regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`), "api error InvalidBucketName: the specified bucket %q is not valid"),
				alone("api error BucketAlreadyOwnedByYou: your previous request to create the named bucket %s succeeded and you already own it", "bucket")),
			Update: awsTags, Delete: awsEmptyBucket,
		},
		"aws_s3_bucket_public_access_block":                  access,
		"aws_s3_bucket_server_side_encryption_configuration": sub("expected_bucket_owner"),
		"aws_s3_bucket_policy":                               sub(),
		"aws_s3_bucket_versioning":                           sub("expected_bucket_owner"),
		"aws_s3_bucket_lifecycle_configuration":              sub("expected_bucket_owner"),
		"aws_s3_bucket_ownership_controls":                   sub(),
		"aws_s3_object": {
			ForceNew: []string{"bucket", "key"}, Defaults: map[string]any{"force_destroy": false},
			Values: values{
				"id": simcloud.Text("{attr:bucket}/{attr:key}"), "arn": simcloud.Text("arn:aws:s3:::{attr:bucket}/{attr:key}"), "etag": awsETag, "version_id": simcloud.Const(""),
				"content_type": simcloud.Const("application/octet-stream"), "server_side_encryption": simcloud.Const("AES256"), "storage_class": simcloud.Const("STANDARD"),
				"acl": simcloud.Const("private"), "bucket_key_enabled": simcloud.Const(false), "kms_key_id": simcloud.Const(""),
				"checksum_crc32": simcloud.Const(""), "checksum_crc32c": simcloud.Const(""), "checksum_crc64nvme": simcloud.Text("{hex:12}"), "checksum_sha1": simcloud.Const(""),
				"checksum_sha256": simcloud.Const(""),
			},
			Recompute: []string{"etag", "version_id", "checksum_crc64nvme"},
			Create:    chain(awsBucketExists, atMost("tags", 10, 128, "api error BadRequest: object tags cannot be greater than 10"), awsObjectKey),
			Update:    atMost("tags", 10, 128, "api error BadRequest: object tags cannot be greater than 10"),
		},
	}
}

func awsObjectKey(c *simcloud.Context) error {
	if key := c.Text("key"); key == "" || len(key) > 1024 {
		return fmt.Errorf("api error KeyTooLongError: your key is too long: %d bytes, at most 1024 are allowed", len(key))
	}
	return nil
}

// awsETag is the MD5 of an object's content.
func awsETag(c *simcloud.Context) any {
	content := []byte(c.Text("content"))
	if raw, err := base64.StdEncoding.DecodeString(c.Text("content_base64")); err == nil && len(raw) > 0 {
		content = raw
	}
	sum := md5.Sum(content) //nolint:gosec // It is what S3 calls an etag.
	return hex.EncodeToString(sum[:])
}

// awsBucketExists: a bucket whose name the provider made is the simulated cloud's, so it has to be there.
func awsBucketExists(c *simcloud.Context) error {
	bucket := c.Text("bucket")
	if c.Object("aws_s3_bucket", bucket) == nil && generatedName.MatchString(bucket) {
		return fmt.Errorf("api error NoSuchBucket: the specified bucket %s does not exist", bucket)
	}
	return nil
}

// generatedName is a name that ends as those do which the provider makes.
var generatedName = regexp.MustCompile(`2026\d{22}$`)

// awsEmptyBucket: a bucket goes when it is empty, or with all that is in it if that is wanted.
func awsEmptyBucket(c *simcloud.Context) error {
	bucket := c.Text("bucket")
	for _, o := range c.Objects("aws_s3_object") {
		if o.Text("bucket") != bucket {
			continue
		}
		if !c.Bool("force_destroy") {
			return fmt.Errorf("api error BucketNotEmpty: the bucket you tried to delete is not empty: %s holds %s", bucket, o.Text("key"))
		}
		c.Remove(o.Type, o.ID)
	}
	return nil
}
