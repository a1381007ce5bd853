#!/bin/sh
# Some seconds of tests/runtime/soak.c; STRATA_TEST_LONG in the environment: an hour. $SOAK is the program.
set -eu

parent=${TMPDIR:-/tmp}
[ -w /dev/shm ] && parent=/dev/shm
dir=$(mktemp -d -p "$parent")
trap 'rm -rf "$dir"' EXIT
seconds=8
[ "${STRATA_TEST_LONG:-}" ] && seconds=3600
unset STRATA_TRACE
# Forked while its parent's pass takes long, a child leaves alone, and so leaks, what it may not touch.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
"$SOAK" -t $seconds "$dir"
