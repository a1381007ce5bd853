#!/bin/sh
# The files of src/runtime form no circle: no file calls a function, or uses data, of a file that needs it in turn,
# directly or through others. No header includes another one in a circle.
#
#   tests/runtime_layers.sh LIBRARY               checks the objects of the static library, and the headers
#   tests/runtime_layers.sh --self-test LIBRARY   puts a circle into copies, and sees that each is found
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# needs OBJECT...: "FILE OTHER SYMBOL" for each symbol that FILE uses and OTHER has.
needs() {
    for object; do
        name=${object##*/}
        nm -g "$object" | sed "s/^[0-9a-f]* *//; s/^/${name%.c.o} /"
    done | awk '
        $2 != "U" && $2 != "w" && $2 != "v" { home[$3] = $1; next }
        { user[++n] = $1; used[n] = $3 }
        END {
            for (i = 1; i <= n; i++)
                if (used[i] in home && home[used[i]] != user[i])
                    print user[i], home[used[i]], used[i]
        }' | sort -u
}

# includes HEADER...: the same of headers that include each other.
includes() {
    for header; do
        name=${header##*/}
        sed -n "s/^ *# *include \"runtime\/\([a-z_]*\/\)*\([a-z_]*\.h\)\".*/$name \2 include/p" "$header"
    done
}

# check_circles WHAT: no circle in the lines of standard input. Prints one, with what makes it.
check_circles() {
    cat >"$work/needs"
    if ! [ -s "$work/needs" ]; then
        echo "$1: nothing found to check" >&2
        return 1
    fi
    cut -d' ' -f1,2 "$work/needs" | LC_ALL=C tsort >/dev/null 2>"$work/circles" && return 0
    sed -n 's/^tsort: \([a-z_0-9.]*\)$/\1/p' "$work/circles" | sort -u >"$work/members"
    echo "$1 of src/runtime need each other in a circle:" >&2
    awk 'NR == FNR { in_circle[$1] = 1; next } in_circle[$1] && in_circle[$2] { print "  " $1 " needs " $2 ": " $3 }' \
        "$work/members" "$work/needs" >&2
    return 1
}

check_objects() {
    needs "$@" | check_circles files
}

check_headers() {
    includes "$@" | check_circles headers
}

# expect PATTERN CHECK FILE...: CHECK must fail, with PATTERN.
expect() {
    pattern=$1
    shift
    if "$@" 2>"$work/out"; then
        echo "circle not found: $pattern" >&2
        exit 1
    fi
    if ! grep -q -- "$pattern" "$work/out"; then
        echo "expected '$pattern' in:" >&2
        cat "$work/out" >&2
        exit 1
    fi
}

self_test=
if [ "$1" = --self-test ]; then
    self_test=1
    shift
fi
library=$(cd "$(dirname "$1")" && pwd)/${1##*/}

mkdir "$work/objects" "$work/headers"
# The archive is thin: it names its objects, those of src/filter/ among them.
for object in $(ar t "$library"); do
    cp "$object" "$work/objects/"
done
cp "$here"/src/runtime/*.h "$here"/src/runtime/*/*.h "$work/headers/"
check_objects "$work"/objects/*.o
check_headers "$work"/headers/*.h

if [ "$self_test" ]; then
    # The lowest file calls the highest.
    objcopy --redefine-sym clock_gettime=strata_group_register "$work/objects/clock.c.o"
    expect 'clock needs control_registration: strata_group_register' check_objects "$work"/objects/*.o
    echo '#include "runtime/sinks/sink.h"' >>"$work/headers/clock.h"
    expect 'clock.h needs sink.h: include' check_headers "$work"/headers/*.h
    echo "circles are found"
fi
