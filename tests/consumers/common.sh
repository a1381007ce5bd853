# What the tests of consumers share. Sourced; needs $STRATA_BIN and $LIBSTRATA (see meson.build).
# shellcheck shell=sh
. "$(dirname "$0")/../lib/golden.sh"
include=$tree/include
dir=$work

# skip WHY: the whole test.
skip() {
    echo "SKIPPED: $(basename "$0" .sh): $*" >&2
    exit 77
}

# need COMMAND PACKAGE
need() {
    command -v "$1" >/dev/null || skip "there is no $1 here (Debian package $2)"
}

# The warnings that generated code must not give.
warnings='-Wall -Wextra -Wconversion -Wshadow -Wmissing-prototypes -Werror'

# generate BACKENDS: trace-probes.h and .c of the test's declarations, in the test's folder.
generate() {
    "$strata" gen --format h --backend "$1" --group probes -o "$dir/trace-probes.h" \
        "$here/probes.trace-events"
    "$strata" gen --format c --backend "$1" --group probes -o "$dir/trace-probes.c" \
        "$here/probes.trace-events"
}

# compile COMPILER OUTPUT FLAG... FILE...
compile() {
    compiler=$1 output=$2
    shift 2
    # shellcheck disable=SC2086 # a list of words
    "$compiler" $warnings -g -I"$include" -I"$dir" -o "$output" "$@" "$LIBSTRATA" -lpthread
}
