#!/bin/sh
# libstrata and generated code built for aarch64, and run by qemu-user: what is emitted arrives, by the
# counter of the processor and by CLOCK_MONOTONIC.
. "$(dirname "$0")/../lib/golden.sh"

for need in aarch64-linux-gnu-gcc qemu-aarch64 python3; do
    command -v $need >/dev/null || {
        echo "$need is not installed"
        exit 77
    }
done
unset STRATA_TRACE_CLOCK

# cross WORD...: the compiler, as strict as the build.
cross() {
    aarch64-linux-gnu-gcc -std=gnu11 -O2 -Wall -Wextra -Wconversion -Wshadow -Werror -D_GNU_SOURCE \
        -DSTRATA_VERSION='"test"' -I"$tree/src" -I"$tree/include" "$@"
}

echo '#include <stdio.h>' | cross -E - >/dev/null 2>&1 || {
    echo "libc6-dev-arm64-cross is not installed"
    exit 77
}
mkdir library
for source in "$tree"/src/filter/*.c "$tree"/src/runtime/*.c "$tree"/src/runtime/*/*.c; do
    name=${source#"$tree"/src/}
    cross -c -o "library/$(echo "${name%.c}" | tr / _).o" "$source" || fail "$name is not compiled"
done
cross -static -o emit "$tree/tests/runtime/emit.c" library/*.o -pthread || fail "emit is not linked"

# qemu-user says of a process that it began at another time than the kernel says. A recorder that runs beside this takes
# rings with such a name for those of a process that has ended, and removes them.
mkdir rings
rings=$work/rings
for clock in '' monotonic; do
    STRATA_TRACE_CLOCK=$clock qemu-aarch64 ./emit -t '*,ctf=t.ctf,simple=t.st,log=t.log' -t "rings=$rings" 3000 2 >emitted 2>errors
    [ "$(cat errors)" = 'dropped 0 unwritten 0' ] || fail "clock '$clock': $(cat errors)"
    python3 "$tree/tests/runtime/compare.py" log emitted t.log || fail "clock '$clock': the log"
    "$STRATA_BIN/strata" report --trace-events "$tree/tests/runtime/emit.trace-events" t.st >report
    sed -n 's/^[0-9.]* \[[-0-9]*\] *[0-9]* \(emit_[a-z]*\): /\1 /p' report >shown
    python3 "$tree/tests/runtime/compare.py" text emitted shown || fail "clock '$clock': simpletrace"
    if command -v babeltrace2 >/dev/null; then
        babeltrace2 t.ctf >shown
        python3 "$tree/tests/runtime/compare.py" babeltrace emitted shown || fail "clock '$clock': ctf"
    fi
    rm -rf t.*
done

# What the generator makes.
cat >trace-events <<'END'
device_write(uint64_t where, const char *what, unsigned len) "where %" PRIu64 " what %s len %u"
END
for format in h c; do
    "$STRATA_BIN/strata" gen --format=$format --group=device --backend=ring -o trace-device.$format trace-events
done
cat >program.c <<'END'
#include "trace-device.h"

int main(void)
{
    for (unsigned i = 0; i < 100; i++)
        trace_device_write(i, "sixteen letters.", i * 2);
    return 0;
}
END
cross -static -I. -o program program.c trace-device.c library/*.o -pthread || fail "generated code is not built"
STRATA_TRACE="*,log=device.log,rings=$rings" qemu-aarch64 ./program
[ "$(grep -c 'device_write where [0-9]* what sixteen letters. len [0-9]*$' device.log)" -eq 100 ] ||
    fail "generated code: $(cat device.log)"
echo "aarch64 emits"
