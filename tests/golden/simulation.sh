#!/bin/sh
# What the verbs say of made machines, of which parts are missing, is what happened there (simulation/check.py).
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

# shellcheck disable=SC2046 # a list of seeds
TMPDIR=$work python3 "$here/../simulation/check.py" "$strata" $(seq 20) || fail "a number is not true"
