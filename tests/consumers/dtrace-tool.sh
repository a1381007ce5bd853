#!/bin/sh
# Format d: the dtrace tool takes it without a warning, and its macros make the probes. This is how
# QEMU's tree uses it.
. "${0%/*}/common.sh"
need dtrace systemtap-sdt-dev

# provider GROUP FILE
provider() {
    "$strata" gen --target qemu --format d --backend dtrace --group "$1" --provider probes \
        -o "$dir/$1.d" "$2"
    for step in -h -G; do
        suffix=$([ $step = -h ] && echo h || echo o)
        # It leaves files where it runs.
        (cd "$dir" && dtrace -DSTAP_SDT_V2 $step -s "$1.d" -o "$1.$suffix") >"$dir/log" 2>&1 ||
            { cat "$dir/log" >&2 && fail "dtrace $step fails"; }
        [ ! -s "$dir/log" ] || { cat "$dir/log" >&2 && fail "dtrace $step warns"; }
    done
}
provider probes "$here/probes.trace-events"

cat >"$dir/program.c" <<'E2'
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include "probes.h"

int main(int argc, char **argv)
{
    if (PROBES_NOTHING_ENABLED())
        return 1;
    PROBES_NOTHING();
    PROBES_NUMBERS((int8_t)-8, (uint8_t)208, (int16_t)argc, (uint16_t)argc, argc, (unsigned)argc,
                   (long)argc, (uint64_t)argc, argc > 1, sizeof argc);
    PROBES_TEN(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    PROBES_WORDS(1, 2ul, argv[0], 4, (uint8_t)5, 6, 7);
    /* The tool joins "__" in its macros, not in the name of the probe. */
    PROBES_LAST_ONE((uint64_t)argc, argc);
    return PROBES_LAST_ONE_ENABLED() != 0;
}
E2
compile cc "$dir/program" -std=c11 "$dir/program.c" "$dir/probes.o"
"$dir/program" || fail "no consumer, but its probes are enabled"
readelf -n "$dir/program" | awk '/Provider:/ { p = $2 } /Name:/ { n = $2 } /Arguments:/ { print p, n, NF - 1 }' |
    sort >"$dir/found"
cat >"$dir/expected" <<'E2'
probes last__one 2
probes nothing 0
probes numbers 10
probes ten 10
probes words 7
E2
diff -u "$dir/expected" "$dir/found" >&2 || fail "other probes are in the program"
! grep -q -i never "$dir/probes.h" || fail "a disabled event has a macro"

# Without any event that is on, the file is empty, as it takes no provider without probes.
printf '# none\ndisable off(int a) "%%d"\n' >"$dir/none"
provider none "$dir/none"
[ ! -s "$dir/none.d" ] || fail "a provider without probes"

# What --target=qemu's header says to the tool's macros.
"$strata" gen --target qemu --format h --backend dtrace --group probes --provider probes \
    "$here/probes.trace-events" >"$dir/header" 2>"$dir/err" || { cat "$dir/err" >&2 && fail "format h"; }
grep -q '^#include "trace-dtrace-probes.h"' "$dir/header" || fail "the tool's header is not included"
grep -q '^ *PROBES_LAST_ONE(mask, negative);' "$dir/header" || fail "the tool's macro is not called"
grep -q '^ *PROBES_NOTHING();' "$dir/header" || fail "the tool's macro is not called"
grep -q 'PROBES_WORDS_ENABLED() ||' "$dir/header" || fail "the tool's macro is not asked"
! grep -q 'PROBES_NEVER' "$dir/header" || fail "a disabled event has a probe"
echo "the dtrace tool makes the probes"
