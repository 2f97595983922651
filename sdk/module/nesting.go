package module

import (
	"encoding/json"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// maxNesting is how deep expressions and blocks may nest, operators in a row
// counted like brackets. The parsers recurse, and a program whose stack
// overflows cannot recover.
const maxNesting = 1000

// tooDeep finds where a file nests deeper than maxNesting.
func tooDeep(src []byte, isJSON bool) (hcl.Pos, bool) {
	if roughNesting(src) <= maxNesting {
		return hcl.Pos{}, false // what nearly every file is
	}
	if isJSON {
		return deepJSON(src)
	}
	tokens, _ := hclsyntax.LexConfig(src, "", hcl.InitialPos)
	return deepTokens(tokens)
}

// roughNesting is an upper bound of how deep a file nests. It takes comments
// and strings for code, so that it may be far too high.
func roughNesting(src []byte) int {
	depth, deepest, operators := 0, 0, 0
	for _, c := range src {
		switch c {
		case '(', '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ')', ']', '}':
			depth = max(depth-1, 0)
		case '+', '-', '*', '/', '%', '!', '?', ':', '&', '|', '<', '>', '=':
			operators++
		}
	}
	return deepest + operators
}

// level is one open bracket and the operators so far in the expression in it.
type level struct {
	chain int
	// lines tells whether a line end ends the expression.
	lines bool
}

func deepTokens(tokens hclsyntax.Tokens) (hcl.Pos, bool) {
	stack := []level{{lines: true}}
	total := 0
	reset := func() {
		top := &stack[len(stack)-1]
		total -= top.chain
		top.chain = 0
	}
	for _, t := range tokens {
		top := &stack[len(stack)-1]
		switch t.Type {
		case hclsyntax.TokenOParen, hclsyntax.TokenOBrack, hclsyntax.TokenOBrace, hclsyntax.TokenOQuote,
			hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			if t.Type == hclsyntax.TokenOBrack { // a[b][c] nests to the left
				top.chain++
				total++
			}
			stack = append(stack, level{lines: t.Type == hclsyntax.TokenOBrace})
			total++
		case hclsyntax.TokenCParen, hclsyntax.TokenCBrack, hclsyntax.TokenCBrace, hclsyntax.TokenCQuote,
			hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
			if len(stack) > 1 {
				total -= top.chain + 1
				stack = stack[:len(stack)-1]
			}
		case hclsyntax.TokenComma:
			reset()
		case hclsyntax.TokenNewline:
			if top.lines {
				reset()
			}
		case hclsyntax.TokenPlus, hclsyntax.TokenMinus, hclsyntax.TokenStar, hclsyntax.TokenSlash,
			hclsyntax.TokenPercent, hclsyntax.TokenBang, hclsyntax.TokenQuestion, hclsyntax.TokenColon,
			hclsyntax.TokenAnd, hclsyntax.TokenOr, hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual,
			hclsyntax.TokenLessThan, hclsyntax.TokenLessThanEq, hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq:
			top.chain++
			total++
		}
		if total > maxNesting {
			return t.Range.Start, true
		}
	}
	return hcl.Pos{}, false
}

// deepJSON is the same for JSON syntax, whose strings hold expressions.
func deepJSON(src []byte) (hcl.Pos, bool) {
	depth := 0
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '[', '{':
			if depth++; depth > maxNesting {
				return positionOf(src, i), true
			}
		case ']', '}':
			depth--
		case '"':
			end := stringEnd(src, i)
			if deepString(src[i:end]) {
				return positionOf(src, i), true
			}
			i = end - 1
		}
	}
	return hcl.Pos{}, false
}

// stringEnd returns the offset behind the string literal that starts at i.
func stringEnd(src []byte, i int) int {
	for i++; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(src)
}

func deepString(literal []byte) bool {
	if roughNesting(literal) <= maxNesting {
		return false
	}
	var text string
	if json.Unmarshal(literal, &text) != nil {
		return false // the parser complains of it
	}
	// It depends on the argument whether the string is a template or an
	// expression.
	for _, lex := range []func([]byte, string, hcl.Pos) (hclsyntax.Tokens, hcl.Diagnostics){
		hclsyntax.LexTemplate, hclsyntax.LexExpression,
	} {
		tokens, _ := lex([]byte(text), "", hcl.InitialPos)
		if _, deep := deepTokens(tokens); deep {
			return true
		}
	}
	return false
}
