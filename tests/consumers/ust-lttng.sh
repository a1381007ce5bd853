#!/bin/sh
# Backend ust: a program traced by a real session daemon of LTTng, read by babeltrace2.
#
#   ust-lttng.sh           as root in a mount namespace of its own, with an empty /run and /dev/shm
#   ust-lttng.sh --inside  does the work: what LTTng leaves in those folders is gone with them
. "${0%/*}/../lib/mount_namespace.sh"
if [ "${1:-}" != --inside ] && has_mount_namespace /run /dev/shm; then
    in_mount_namespace sh -c 'mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /dev/shm && exec "$0" --inside' "$0"
    exit
fi
. "${0%/*}/common.sh"
need lttng lttng-tools
need lttng-sessiond lttng-tools
need babeltrace2 babeltrace2
echo '#include <lttng/tracepoint.h>' | cc -E - >"$dir/log" 2>&1 ||
    skip "there is no <lttng/tracepoint.h> here (Debian package liblttng-ust-dev)"

generate ust
for format in h c; do
    "$strata" gen --format "ust-events-$format" --backend ust --group probes -o "$dir/trace-ust-probes.$format" \
        "$here/probes.trace-events"
done
compile cc "$dir/program" -O2 "$here/probes.c" "$dir/trace-probes.c" "$dir/trace-ust-probes.c" \
    -llttng-ust -ldl
if command -v clang >/dev/null; then
    compile clang "$dir/program-clang" -O2 "$here/probes.c" "$dir/trace-probes.c" \
        "$dir/trace-ust-probes.c" -llttng-ust -ldl
fi
if command -v g++ >/dev/null; then
    # shellcheck disable=SC2086 # a list of words
    g++ -Wall -Wextra -Wconversion -Werror -std=c++17 -I"$include" -I"$dir" -x c++ -c \
        -o "$dir/caller.o" "$here/probes.c"
    compile cc "$dir/program-c++" "$dir/caller.o" "$dir/trace-probes.c" "$dir/trace-ust-probes.c" \
        -llttng-ust -ldl -lstdc++
fi

LTTNG_HOME=$dir/home
LTTNG_UST_REGISTER_TIMEOUT=240000
export LTTNG_HOME LTTNG_UST_REGISTER_TIMEOUT
mkdir "$LTTNG_HOME"
[ "$("$dir/program")" = "nothing 0 texts 0 never 0" ] || fail "no session, but its events are enabled"

ready=
trap 'ready=1' USR1 # what the daemon sends when commands and programs can come
lttng-sessiond --no-kernel --sig-parent >"$dir/sessiond.log" 2>&1 &
sessiond=$!
at_exit='kill $sessiond 2>/dev/null; wait $sessiond'

# lttng WORD...
ask() {
    lttng -n "$@" >"$dir/lttng.log" 2>&1 || {
        cat "$dir/lttng.log" "$dir/sessiond.log" >&2
        fail "lttng $*"
    }
}
n=0
until [ "$ready" ]; do
    kill -0 $sessiond 2>/dev/null || {
        cat "$dir/sessiond.log" >&2
        skip "LTTng's session daemon does not run here"
    }
    n=$((n + 1))
    [ $n -lt 1200 ] || fail "LTTng's session daemon does not become ready: $(cat "$dir/sessiond.log")"
    sleep 0.2
done

# trace SESSION PROGRAM: what babeltrace2 reads of all its events, one a line, without the head.
trace() {
    ask create "$1" --output="$dir/$1"
    ask enable-event --userspace 'probes:*'
    ask start
    "$dir/$2" >"$dir/stdout"
    ask stop
    ask destroy "$1"
    babeltrace2 --no-delta --clock-cycles --names=payload "$dir/$1" >"$dir/$1.raw"
    sed -n 's/.* probes:/probes:/; s/^\(probes:[^:]*:\) { [^}]* }, /\1 /; p' "$dir/$1.raw" >"$dir/$1.txt"
}

cat >"$dir/expected" <<'E2'
probes:nothing: { }
probes:numbers: { i8 = -8, u8 = 208, i16 = -1600, u16 = 65000, i32 = -320000, u32 = 0xDEADBEEF, i64 = -64000000000, u64 = 18364758544493064720, flag = 1, size = 4096 }
probes:ten: { a = 1, b = -2, c = 3, d = -4, e = 5, f = -6, g = 7, h = -8, i = 9, j = -10 }
probes:texts: { name = "a name", other = "other", where = 0x1234, address = "address" }
probes:texts: { name = "(null)", other = "(null)", where = 0x0, address = "(null)" }
probes:words: { next = 1, string = 0x22, self = "self", probe = 0x4, class = 5, printf = 6, next_ = 7 }
probes:types: { ull = 18446744073709551615, uc = 99, cuc = 0xADDR, vpp = 0xADDR, sc = -1, u = 4000000000, li = -5 }
probes:stars: { width = 6, s = "right", precision = 3, t = "cut off" }
probes:linux: { unix_ = 7 }
probes:last__one: { mask = 0xFFFFFFFF00000000, negative = -1 }
E2
for program in program program-clang program-c++; do
    [ -f "$dir/$program" ] || continue
    trace "$program-session" "$program"
    # Addresses are different each time.
    sed 's/\(cuc\|vpp\) = 0x[0-9A-F]\{6,\}/\1 = 0xADDR/g' "$dir/$program-session.txt" >"$dir/found"
    diff -u "$dir/expected" "$dir/found" >&2 || fail "$program: LTTng recorded something else"
    # The program saw that somebody traces.
    [ "$(cat "$dir/stdout")" = "nothing 1 texts 1 never 0" ] ||
        fail "$program: does not see that it is traced: $(cat "$dir/stdout")"
done
echo "LTTng records the events"
