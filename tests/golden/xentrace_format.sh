#!/bin/sh
# xentrace_format against what Xen's own program (its Python 3 version) printed: real traces with a
# file of formats, and small streams with rules that try what Python's % operator can do.
set -eu
x="$STRATA_BIN/xentrace_format"
d="$DATA/xen"
failed=0

fail() {
    echo "FAILED: $*"
    failed=1
}

for tool in xz sha256sum; do
    command -v $tool >/dev/null || { echo "no $tool"; exit 77; }
done

while read -r sum name option; do
    [ "$option" = - ] && option=
    # shellcheck disable=SC2086 # an empty option is none
    got=$(xz -dc "$d/$name.raw.xz" | "$x" $option "$d/formats" | sha256sum | cut -d' ' -f1)
    [ "$got" = "$sum" ] || fail "$name $option"
done <"$d/xentrace_format.sha256"

# On a big-endian machine: the same words.
swap_words='import array, sys
words = array.array("I", sys.stdin.buffer.read())
words.byteswap()
sys.stdout.buffer.write(words)'
read -r sum name option <"$d/xentrace_format.sha256"
[ "$option" = - ] && option=
# shellcheck disable=SC2086 # an empty option is none
got=$(xz -dc "$d/$name.raw.xz" | python3 -c "$swap_words" | "$x" $option "$d/formats" | sha256sum | cut -d' ' -f1)
[ "$got" = "$sum" ] || fail "$name with big-endian words"

out=$(mktemp)
trap 'rm -f "$out"' EXIT
while read -r name status options; do
    got=0
    # shellcheck disable=SC2086 # several options
    "$x" $options "$d/rules/$name.formats" <"$d/rules/$name.raw" >"$out" 2>/dev/null || got=$?
    [ "$got" = "$status" ] || fail "rules/$name: exit status $got, not $status"
    cmp "$out" "$d/rules/$name.out" || fail "rules/$name $options"
done <"$d/rules/cases"

# The file that is installed is understood, and says what the events' table says of these.
"$x" "$DATA/../../data/formats" </dev/null || fail "data/formats"
xz -dc "$d/xen-4.17-no-guest-class.raw.xz" | "$x" "$DATA/../../data/formats" >"$out"
grep -q 'unknown_0x' "$out" && fail "data/formats does not know an event of a real trace"

# What has no rule at all, and what cannot be opened.
got=0
"$x" /nonexistent </dev/null >"$out" 2>/dev/null || got=$?
[ "$got" = 1 ] || fail "exit status of a file that is not there: $got"
[ "$(cat "$out")" = "[Errno 2] No such file or directory: '/nonexistent'" ] || fail "$(cat "$out")"
got=0
"$x" >"$out" 2>/dev/null </dev/null || got=$?
[ "$got" = 1 ] && [ ! -s "$out" ] || fail "usage"
"$x" -c nonsense "$d/formats" </dev/null >"$out" 2>/dev/null && fail "-c nonsense"
printf 'hello\n' >"$out"
"$x" "$out" </dev/null 2>/dev/null && fail "a bad file of formats"

exit $failed
