# Sourced first by the tests of golden/, by `. "$(dirname "$0")/../lib/golden.sh"`. It brings
#
#     $here, $tree, $strata    the directory of the test, that of the project, the command
#     $work                    a directory of the test's own: the current one from here on, removed at the end
#     fail MESSAGE             ends the test, with its name and that of its $case
#     wait_for CONDITION       see wait_for.sh
#     can_trace_kernel         whether this machine's kernel can be traced here; if not, $no_kernel says why
#
# and looks at what the test may set: at_exit, words of sh that are run before $work is removed; many_files, before it
# sources this, where it makes thousands of files, whose removal takes seconds on a disk: $work is in memory then, where
# there is enough.
# shellcheck shell=sh
# shellcheck disable=SC2034 # what others use
set -eu

here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
strata=$STRATA_BIN/strata
at_exit=
case=

parent=
[ -z "${many_files-}" ] || parent=$("$here/../lib/memory_directory.sh" 1000000)
work=$(mktemp -d "${parent:-${TMPDIR:-/tmp}}/test.XXXXXX")
trap 'case $? in 0 | 77) ;; *) say_newest ;; esac; eval "$at_exit" || :; rm -rf "$work"' EXIT
cd "$work"
# What the user of this machine traces is not the test's, and nor is the width of the terminal.
unset STRATA_TRACE COLUMNS

has_said=
fail() {
    has_said=yes
    echo "$(basename "$0" .sh): ${case:+$case: }$*" >&2
    exit 1
}

can_trace_kernel() {
    if [ "$(id -u)" -ne 0 ]; then
        no_kernel="only root may trace this machine's kernel"
    elif [ ! -d /sys/kernel/tracing/instances ]; then
        no_kernel="this machine's kernel cannot be traced: tracefs is not mounted at /sys/kernel/tracing"
    elif [ ! -w /sys/kernel/tracing/instances ]; then
        no_kernel="this machine's kernel cannot be traced: /sys/kernel/tracing cannot be written"
    elif [ ! -x "$STRATA_BIN/strata-agent" ]; then
        no_kernel="this machine's kernel cannot be traced: strata-agent was not built"
    else
        no_kernel=
    fi
    [ -z "$no_kernel" ]
}

# A command failed that has no message of its own: the ends of the files that were written last tell which.
say_newest() {
    [ -z "$has_said" ] || return 0
    echo "$(basename "$0" .sh): ${case:+$case: }a command failed; written last:" >&2
    find . -type f -size -64k -printf '%T@ %P\n' | sort -rn | head -n 4 | cut -d ' ' -f 2- | while read -r name; do
        echo "$name:"
        tail -n 3 "$name" | cut -c -300
    done >&2
}

. "$here/../lib/wait_for.sh"
