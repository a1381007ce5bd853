#!/bin/sh
# What the verbs say of made machines, of which parts are missing, is what happened there (simulation/check.py).
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

TMPDIR=$work python3 "$here/../simulation/check.py" "$strata" || fail "a number is not true"
