package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// The rules that a violation can name. Those about shapes carry the names of
// the JSON Schema keywords that state the same.
const (
	// RuleDeclared: the module does not declare a contract output.
	RuleDeclared = "declared"
	// RuleRequired: an input, or an attribute of an object, is absent.
	RuleRequired = "required"
	// RulePending: an output is null and its value is waited for.
	RulePending = "pending"
	// RuleNull: null where a value is needed.
	RuleNull = "null"
	// RuleType: a value of another type.
	RuleType = "type"
	// RuleEnum: a string that is not one of the accepted ones.
	RuleEnum = "enum"
	// RuleMinLength and RuleMaxLength: a string with too few or too many characters.
	RuleMinLength = "minLength"
	RuleMaxLength = "maxLength"
	// RulePattern: a string of another form.
	RulePattern = "pattern"
	// RuleMinimum and RuleMaximum: a number out of its range.
	RuleMinimum = "minimum"
	RuleMaximum = "maximum"
	// RuleInteger: a number with a fraction or an exponent.
	RuleInteger = "integer"
	// RuleMinItems and RuleMaxItems: a list or map with too few or too many items.
	RuleMinItems = "minItems"
	RuleMaxItems = "maxItems"
	// RuleUnique: two items of a list share what must differ.
	RuleUnique = "unique"
	// RuleAdditional: an input or attribute that the contract does not have.
	RuleAdditional = "additional"
	// RuleTruncated: a list is longer than what is kept.
	RuleTruncated = "truncated"
	// RuleUTF8: text that is not UTF-8.
	RuleUTF8 = "utf8"
	// RuleJSON, RuleDuplicate, RuleDepth: a text that is no JSON value, uses a
	// name twice, or nests too deep.
	RuleJSON      = "json"
	RuleDuplicate = "duplicate"
	RuleDepth     = "depth"
	// RuleMore: further violations of the same value are not listed.
	RuleMore = "more"
	// RuleFailureDomain: the machine is in another failure domain than asked for.
	RuleFailureDomain = "failureDomain"
	// RuleProviderID: the provider id of a machine changed.
	RuleProviderID = "providerID"
	// RuleName: the name of a user variable is malformed or reserved.
	RuleName = "name"
	// RuleSource: a source of user variables is absent or not usable.
	RuleSource = "source"
	// RuleSize: the rendered files are too large (B-333).
	RuleSize = "size"
	// RuleRole: inputs of another role, or of none.
	RuleRole = "role"
	// RuleOption: a render option that cannot be used.
	RuleOption = "option"
)

// maxListed bounds the violations of one value, so that a list of ten thousand
// broken items stays a message that a condition can hold.
const maxListed = 20

// Validate checks a value, made of what ParseJSON yields, against the shape
// and returns what breaks it, with paths that start with path. Violations have
// ReasonInvalid, but for the notices about null where a default stands in.
func (s Shape) Validate(path string, value any) Violations {
	c := checker{}
	c.check(&place{key: path}, s, value)
	if c.dropped > 0 {
		c.found = append(c.found, Violation{
			Path: path, Rule: RuleMore, Reason: ReasonInvalid,
			Message: fmt.Sprintf("has %s more, not listed here", plural(c.dropped, "problem")),
		})
	}
	c.found.Sort()
	return c.found
}

type checker struct {
	found   Violations
	dropped int
}

func (c *checker) add(at *place, rule, format string, args ...any) {
	if len(c.found) >= maxListed {
		c.dropped++
		return
	}
	c.found = append(c.found, Violation{
		Path: at.String(), Rule: rule, Reason: ReasonInvalid, Message: fmt.Sprintf(format, args...),
	})
}

// notice adds what is accepted but should not be emitted. Notices beyond the
// bound are dropped: one says as much as a thousand.
func (c *checker) notice(at *place, rule, format string, args ...any) {
	if len(c.found) < maxListed {
		c.found = append(c.found, Violation{
			Path: at.String(), Rule: rule, Reason: ReasonNotice, Message: fmt.Sprintf(format, args...),
		})
	}
}

func (c *checker) check(at *place, s Shape, value any) {
	if value == nil {
		if !s.Nullable && s.Kind != KindAny {
			c.add(at, RuleNull, "is null; it needs %s", s.describe())
		}
		return
	}
	switch s.Kind {
	case KindString:
		c.checkString(at, s, value)
	case KindInteger:
		c.checkInteger(at, s, value)
	case KindBool:
		if _, ok := value.(bool); !ok {
			c.wrongType(at, s, value)
		}
	case KindList:
		c.checkList(at, s, value)
	case KindMap:
		c.checkMap(at, s, value)
	case KindObject:
		c.checkObject(at, s, value)
	default:
		c.checkAny(at, s, value)
	}
}

func (c *checker) wrongType(at *place, s Shape, value any) {
	c.add(at, RuleType, "is %s; it must be %s", typeName(value), s.describe())
}

func (c *checker) checkString(at *place, s Shape, value any) {
	text, ok := value.(string)
	if !ok {
		c.wrongType(at, s, value)
		return
	}
	if !utf8.ValidString(text) {
		c.add(at, RuleUTF8, "is not UTF-8; emit text, or encode bytes as base64")
		return
	}
	n := utf8.RuneCountInString(text)
	switch {
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, text):
		c.add(at, RuleEnum, "is %s; it must be %s", quote(text), s.describe())
	case n < s.MinLength:
		c.add(at, RuleMinLength, "has %s; it must be %s", plural(n, "character"), s.describe())
	case s.MaxLength > 0 && n > s.MaxLength:
		c.add(at, RuleMaxLength, "has %s; it must be %s", plural(n, "character"), s.describe())
	case s.Pattern != "" && !matches(s, text):
		// The value may be secret, so it is not shown.
		c.add(at, RulePattern, "does not have the right form; it must be %s", s.describe())
	}
}

func (c *checker) checkInteger(at *place, s Shape, value any) {
	number, ok := value.(json.Number)
	if !ok {
		c.wrongType(at, s, value)
		return
	}
	text, ok := wholeNumber(number)
	if !ok {
		c.add(at, RuleInteger, "is not a whole number; it must be %s", s.describe())
		return
	}
	n, err := strconv.ParseInt(text, 10, 64)
	low := err != nil && strings.HasPrefix(text, "-")
	switch {
	case low, err == nil && s.Min != nil && n < *s.Min:
		c.add(at, RuleMinimum, "is %s; it must be %s", shorten(text), s.describe())
	case err != nil, s.Max != nil && n > *s.Max:
		c.add(at, RuleMaximum, "is %s; it must be %s", shorten(text), s.describe())
	}
}

func (c *checker) checkList(at *place, s Shape, value any) {
	items, ok := value.([]any)
	if !ok {
		c.wrongType(at, s, value)
		return
	}
	c.checkCount(at, s, len(items))
	first := map[string]int{}
	for i, item := range items {
		c.check(at.item(i), *s.Elem, item)
		if s.UniqueBy == "" {
			continue
		}
		object, _ := item.(map[string]any)
		key, ok := object[s.UniqueBy].(string)
		if !ok {
			continue
		}
		if j, taken := first[key]; taken {
			c.add(at.item(i).member(s.UniqueBy), RuleUnique, "is the same as that of item %d; it must differ between the items", j)
			continue
		}
		first[key] = i
	}
}

func (c *checker) checkMap(at *place, s Shape, value any) {
	members, ok := value.(map[string]any)
	if !ok {
		c.wrongType(at, s, value)
		return
	}
	c.checkCount(at, s, len(members))
	for _, key := range slices.Sorted(maps.Keys(members)) {
		c.checkKey(at, key)
		c.check(at.member(key), *s.Elem, members[key])
	}
}

func (c *checker) checkKey(at *place, key string) {
	if !utf8.ValidString(key) {
		c.add(at, RuleUTF8, "has a key that is not UTF-8; use text")
	}
}

func (c *checker) checkCount(at *place, s Shape, n int) {
	switch {
	case n < s.MinLength:
		c.add(at, RuleMinItems, "has %s; it must be %s", plural(n, "item"), s.describe())
	case s.MaxLength > 0 && n > s.MaxLength:
		c.add(at, RuleMaxItems, "has %s; it must be %s", plural(n, "item"), s.describe())
	}
}

func (c *checker) checkObject(at *place, s Shape, value any) {
	members, ok := value.(map[string]any)
	if !ok {
		c.wrongType(at, s, value)
		return
	}
	for _, a := range s.Attributes {
		c.checkAttribute(at, a, members)
	}
	if !s.Closed {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if _, known := s.Attribute(key); !known {
			c.add(at.member(key), RuleAdditional, "is not part of the contract; remove it (accepted here: %s)", s.attributeNames())
		}
	}
}

func (c *checker) checkAttribute(object *place, a Attribute, members map[string]any) {
	at := object.member(a.Name)
	value, present := members[a.Name]
	switch {
	case !present && !a.Optional:
		c.add(at, RuleRequired, "is missing; add it: %s", a.Shape.describe())
	case !present:
	case value == nil && a.Optional && a.Default != nil:
		c.notice(at, RuleNull, "is null, which is read as %s; emit that, or leave the attribute out", Literal(a.Default))
	default:
		c.check(at, a.Shape, value)
	}
}

// checkAny walks a value of any shape for what no value may hold.
func (c *checker) checkAny(at *place, s Shape, value any) {
	switch v := value.(type) {
	case string:
		if !utf8.ValidString(v) {
			c.add(at, RuleUTF8, "is not UTF-8; emit text, or encode bytes as base64")
		}
	case json.Number:
		if _, ok := wholeNumber(v); s.IntegersOnly && !ok {
			c.add(at, RuleInteger, notWhole)
		}
	case []any:
		for i, item := range v {
			c.checkAny(at.item(i), s, item)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			c.checkKey(at, key)
			c.checkAny(at.member(key), s, v[key])
		}
	}
}

// Complete returns a valid value as consumers read it: attributes that are
// absent or null get their defaults, attributes that the contract does not
// know are gone, and lists are cut to what is kept of them. The value itself
// is left as it is.
func (s Shape) Complete(value any) any {
	switch v := value.(type) {
	case []any:
		if s.Kind != KindList {
			return v
		}
		if s.Truncate > 0 && len(v) > s.Truncate {
			v = v[:s.Truncate]
		}
		items := make([]any, 0, len(v))
		for _, item := range v {
			items = append(items, s.Elem.Complete(item))
		}
		return items
	case map[string]any:
		return s.completeMembers(v)
	default:
		return v
	}
}

func (s Shape) completeMembers(members map[string]any) any {
	switch s.Kind {
	case KindMap:
		out := make(map[string]any, len(members))
		for key, value := range members {
			out[key] = s.Elem.Complete(value)
		}
		return out
	case KindObject:
		out := make(map[string]any, len(s.Attributes))
		for _, a := range s.Attributes {
			value := members[a.Name]
			if value == nil {
				value = a.Default
			}
			out[a.Name] = a.Shape.Complete(value)
		}
		return out
	default:
		return members
	}
}

func (s Shape) attributeNames() string {
	names := make([]string, 0, len(s.Attributes))
	for _, a := range s.Attributes {
		names = append(names, a.Name)
	}
	return strings.Join(names, ", ")
}

// formats holds hand-written equals of patterns that are matched against long values.
var formats = map[string]func(string) bool{"base64": isBase64}

var patterns sync.Map // of pattern to *regexp.Regexp

// matches tells that text has the form that the shape asks for.
func matches(s Shape, text string) bool {
	if match, ok := formats[s.Format]; ok {
		return match(text)
	}
	re, ok := patterns.Load(s.Pattern)
	if !ok {
		re, _ = patterns.LoadOrStore(s.Pattern, regexp.MustCompile(s.Pattern))
	}
	return re.(*regexp.Regexp).MatchString(text)
}

// isBase64 tells that text is padded standard base64; bootstrap payloads are
// long enough for a regular expression to be felt.
func isBase64(text string) bool {
	if len(text)%4 != 0 {
		return false
	}
	body := strings.TrimSuffix(strings.TrimSuffix(text, "="), "=")
	for i := range len(body) {
		b := body[i]
		if !('A' <= b && b <= 'Z' || 'a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == '+' || b == '/') {
			return false
		}
	}
	return true
}

func plural(n int, noun string) string {
	switch n {
	case 0:
		return "no " + noun + "s"
	case 1:
		return "1 " + noun
	default:
		return strconv.Itoa(n) + " " + noun + "s"
	}
}

func shorten(text string) string {
	const longest = 24
	if len(text) > longest {
		return text[:longest] + "…"
	}
	return text
}

func typeName(value any) string {
	switch value.(type) {
	case string:
		return "a string"
	case bool:
		return "a bool"
	case json.Number:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	default:
		return fmt.Sprintf("a Go value of type %T", value)
	}
}
