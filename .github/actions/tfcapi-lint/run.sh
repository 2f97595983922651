#!/usr/bin/env bash
# Runs tfcapi-lint for action.yml. All inputs come through LINT_* variables.
set -euo pipefail

# Exit code of the linter for a wrong command line.
readonly usage=3

fail() {
  printf '::error title=tfcapi-lint::%s\n' "$1"
  exit "$usage"
}

# flag NAME VALUE tells whether a yes-or-no input is yes.
flag() {
  case "$2" in
    true) return 0 ;;
    false | '') return 1 ;;
    *) fail "the input $1 is true or false" ;;
  esac
}

command -v go > /dev/null || fail 'there is no Go on this runner; run actions/setup-go before this action'

# The action's checkout is the whole repository.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
bin=${RUNNER_TEMP:-$(mktemp -d)}/tfcapi-lint
if ! go build -C "$root" -buildvcs=auto -o "$bin" ./lint/cmd/tfcapi-lint; then
  fail 'tfcapi-lint does not build'
fi

args=()
case "${LINT_COMMAND:-module}" in
  module) args+=(module) ;;
  schema) args+=(schema) ;;
  *) fail 'the input command is module or schema' ;;
esac
[[ -n ${LINT_TARGET:-} ]] || fail 'the input target is missing'
[[ -z ${LINT_ROLE:-} ]] || args+=("--role=$LINT_ROLE")
[[ -z ${LINT_CONTRACT:-} ]] || args+=("--contract=$LINT_CONTRACT")
if [[ ${args[0]} == module ]]; then
  if flag recursive "${LINT_RECURSIVE:-}"; then args+=(--recursive); fi
  if flag strict "${LINT_STRICT:-}"; then args+=(--strict); fi
  output=${LINT_OUTPUT:-github}
  if flag json "${LINT_JSON:-}"; then output=json; fi
  args+=("--output=$output")
  read -r -d '' -a allowed <<< "${LINT_ALLOW_WARNINGS:-}" || true
  for id in ${allowed[@]+"${allowed[@]}"}; do args+=("--allow-warning=$id"); done
fi
read -r -d '' -a extra <<< "${LINT_ARGS:-}" || true
args+=(${extra[@]+"${extra[@]}"} -- "$LINT_TARGET")

code=0
if [[ -n ${LINT_OUTPUT_FILE:-} ]]; then
  "$bin" "${args[@]}" > "$LINT_OUTPUT_FILE" || code=$?
  cat -- "$LINT_OUTPUT_FILE"
else
  "$bin" "${args[@]}" || code=$?
fi

if [[ -n ${GITHUB_OUTPUT:-} ]]; then
  {
    printf 'exit-code=%s\n' "$code"
    printf 'version=%s\n' "$("$bin" --version)"
  } >> "$GITHUB_OUTPUT"
fi
exit "$code"
