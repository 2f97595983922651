# Sourced by the scripts beside it: runs steps one after the other, all of them, and says at the end which failed.
# shellcheck shell=bash

failed=()

# step NAME COMMAND...
step() {
  local name=$1 start=$SECONDS
  shift
  printf '== %s\n' "$name"
  if "$@"; then
    printf '== %s: ok (%ds)\n' "$name" $((SECONDS - start))
  else
    printf '== %s: FAILED (%ds)\n' "$name" $((SECONDS - start))
    failed+=("$name")
  fi
}

# finish ends the script: with 1 if a step failed.
finish() {
  if [ ${#failed[@]} -gt 0 ]; then
    printf '%s: failed: %s (%ds)\n' "$1" "$(printf '%s, ' "${failed[@]}" | sed 's/, $//')" "$SECONDS"
    exit 1
  fi
  printf '%s: all ok (%ds)\n' "$1" "$SECONDS"
  exit 0
}
