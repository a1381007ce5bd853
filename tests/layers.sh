#!/bin/sh
# The layer rule: each file of src/ includes only its own layer and those that the table in
# docs/architecture.md allows it, and only the libraries named there.
#
#   tests/layers.sh [ROOT]        checks the tree at ROOT
#   tests/layers.sh --self-test   puts wrong includes into a copy and sees that each is found
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)

check() {
    (
        cd "$1"
        find src -name '*.[ch]' | LC_ALL=C sort >"$work/files"
        # shellcheck disable=SC2046 # a list of words
        awk -f "$here/tests/layers.awk" docs/architecture.md $(cat "$work/files")
    )
}

# expect PATTERN FILE LINE: a copy of the tree with LINE added to FILE must fail with PATTERN.
expect() {
    rm -rf "$work/tree"
    mkdir -p "$work/tree/docs"
    cp -r "$here/src" "$work/tree/src"
    cp "$here/docs/architecture.md" "$work/tree/docs/"
    mkdir -p "$work/tree/$(dirname "$2")"
    printf '%s\n' "$3" >>"$work/tree/$2"
    if check "$work/tree" >"$work/out" 2>&1; then
        echo "not found: $2: $3" >&2
        exit 1
    fi
    if ! grep -q -- "$1" "$work/out"; then
        echo "$2: $3: expected '$1' in:" >&2
        cat "$work/out" >&2
        exit 1
    fi
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ "${1:-}" = --self-test ]; then
    expect 'base may not use event' src/base/text.h '#include "event/item.h"'
    expect 'event may not use format/simpletrace' src/event/class.c '#include "format/simpletrace/simpletrace.h"'
    expect 'timeline may not use schema/trace_events' src/timeline/merge.c \
        '  #  include "schema/trace_events/trace_events.h"'
    expect 'format/ctf may not use format/ftrace' src/format/ctf/ctf.c '#include "format/ftrace/ftrace.h"'
    expect 'event may not use the library jansson' src/event/class.c '#include <jansson.h>'
    expect 'timeline may not use the library zlib' src/timeline/merge.c '#include <zlib.h>'
    expect 'not known to be libc' src/base/text.c '#include <glib.h>'
    expect 'directory is not in the table' src/stray/stray.c '#include "base/text.h"'
    expect 'name it from src/' src/base/text.c '#include "text.h"'
    expect 'name it from src/' src/base/text.c '#include "../event/item.h"'
    echo "wrong includes are found"
else
    check "${1:-$here}"
fi
