#!/bin/sh
# Code for QEMU's tree, compiled with the warnings that QEMU asks for and run against small headers
# that stand for QEMU's own (tests/qemu): its interface of three versions, each backend, C and C++.
# tools/qemu-trial does the same to QEMU itself.
set -eu

tests=$(cd "$(dirname "$0")/.." && pwd)/qemu
bin=${STRATA_BIN:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$*" >&2
    exit 1
}

# Those of QEMU's configure that are about what generated code may do.
warnings='-Wall -Werror -Wundef -Wwrite-strings -Wredundant-decls -Wtype-limits -Wformat-security
    -Wformat-y2k -Winit-self -Wignored-qualifiers -Wempty-body -Wendif-labels -Wexpansion-to-defined
    -Wno-psabi'
c_warnings='-Wmissing-prototypes -Wstrict-prototypes -Wold-style-definition -Wnested-externs
    -Wdeclaration-after-statement'

# generate TREE FORMAT GROUP BACKENDS INPUT OUTPUT: as QEMU's build does, from a directory of its own.
generate() {
    (
        cd "$work"
        "$bin/tracetool" "--format=$2" "--backends=$4" "--group=$3" "$1/$5" "$6"
    ) 2>"$work/messages" || fail "$(cat "$work/messages"); tracetool --format=$2 --backends=$4 --group=$3 failed"
}

# trial VERSION BACKENDS CC CXX: leaves what the program said in $work/out and its simpletrace file.
trial() {
    tree=$work/$1
    define=
    [ "$1" = 5.2 ] || define=-DWITH_MESSAGE
    groups=standin
    # The parts of the stand-in that all versions share lie in the tree as well.
    if ! [ -e "$tree/VERSION" ]; then
        cp -R "$tests/$1" "$tree"
        cp -R "$tests/any/." "$tree/"
    fi
    rm -f "$work"/*.[cho] "$work"/*.o "$work/simple.trace" "$work/program"
    generate "$tree" h standin "$2" trace-events trace-standin.h
    generate "$tree" c standin "$2" trace-events trace-standin.c
    if [ "$1" != 10.2 ]; then
        groups="$groups root"
        generate "$tree" h root "$2" trace-events-vcpu trace-root.h
        generate "$tree" c root "$2" trace-events-vcpu trace-root.c
    fi
    objects=
    for source in $(for g in $groups; do echo "$work/trace-$g.c"; done) "$tree/main.c" \
        "$tree/standin.c" "$tree"/util/*.c; do
        object=$work/$(basename "$source").o
        # shellcheck disable=SC2086 # lists of words
        "$3" -std=gnu11 -O1 $warnings $c_warnings $define -I"$tree" -I"$tree/include" -I"$work" \
            -I"$tests/../../include" -c -o "$object" "$source" || fail "$1, $2: $3 does not take $source"
        objects="$objects $object"
    done
    # shellcheck disable=SC2086 # lists of words
    "$4" -std=gnu++11 -O1 $warnings $define -I"$tree" -I"$tree/include" -I"$work" \
        -c -o "$work/caller.o" "$tree/caller.cc" || fail "$1, $2: $4 does not take it"
    # shellcheck disable=SC2086 # a list of words
    "$4" -o "$work/program" $objects "$work/caller.o" $LIBSTRATA -pthread ||
        fail "$1, $2: does not link"
    SIMPLE=$work/simple.trace STRATA_TRACE=simple=$work/ring.trace "$work/program" \
        >"$work/all" 2>"$work/errors" || fail "$1, $2: the program failed: $(cat "$work/errors")"
    ! [ -s "$work/errors" ] || fail "$1, $2: $(cat "$work/errors")"
    sed -E 's/4321@[0-9]+\.[0-9]{6}:/4321@TIME:/; s/0x0*([0-9a-f]+)/0x\1/g; s/\(nil\)/0x0/g' \
        "$work/all" >"$work/out"
}

# What each call says, by text; only trees before 8.1 have events of a vCPU.
lines() {
    cat <<EOF
plain nothing to say
numbers i -1 u 4000000000 l -9223372036854775808 b 0xff flag 1 n 7
words a 'one' p 0x10 b ''
words a '$long' p 0x0 b 'two'
pointers a 0x20 list 0x30 out 0x40
keywords new 1 class 2 rec 3
EOF
    echo "silent "
    echo "ten 1 2 3 4 5 6 7 8 9 10"
    [ "$1" = 10.2 ] || echo "guest_call cpu=CPU nr 2 what on"
    echo "keywords new 4 class 5 rec 6"
}

# The same as records: all numbers as 64 bits, strings cut at 512 bytes.
records() {
    cat <<EOF
plain
numbers i=0xffffffffffffffff u=0xee6b2800 l=0x8000000000000000 b=0xff flag=0x1 n=0x7
words a=b'one' p=0x10 b=b''
words a=b'$(printf '%.512s' "$long")' p=0x0 b=b'two'
pointers a=0x20 list=0x30 out=0x40
keywords new=0x1 class=0x2 _rec=0x3
silent a=0x5
ten a1=0x1 a2=0x2 a3=0x3 a4=0x4 a5=0x5 a6=0x6 a7=0x7 a8=0x8 a9=0x9 a10=0xa
EOF
    [ "$1" = 10.2 ] || echo "guest_call __cpu=CPU nr=0x2 what=b'on'"
    echo "keywords new=0x4 class=0x5 _rec=0x6"
    echo "plain"
}

# What the program tells of itself: states, and the events that are registered. With nop they can be
# switched, but no backend wants them.
frame() {
    echo "off: 0 0"
    if [ "$2" = nop ]; then echo "on: 1 0 0"; else echo "on: 1 1 0"; fi
    [ "$1" = 10.2 ] || printf '%s\n' 'guest_absent 0 0' 'guest_call 1 258' 'guest_step 1 258'
    for event in plain numbers words pointers keywords silent ten; do echo "$event 1 1"; done
    echo "absent 0 0"
    if [ "$1" = 10.2 ]; then echo "8 events"; else echo "11 events"; fi
}

expect() {
    LC_ALL=C diff "$work/expected" - || fail "$1: not as expected"
}

# The vCPU lies elsewhere each time.
vcpu() {
    sed -E 's/cpu=0x[0-9a-f]+/cpu=CPU/'
}

check_log() {
    lines "$1" | case $1 in
    5.2) sed 's/^/4321@TIME:/' ;;
    7.2) sed '$s/^/4321@TIME:/' ;;
    10.2) sed '$s/^/2026-11-21T12:00:00.123456Z /' ;;
    esac >"$work/expected"
    sed -n 's/^log: //p' "$work/out" | vcpu | expect "$1 log"
}

# 6 is LOG_INFO. The last event is suppressed only by the mask of the log.
check_syslog() {
    { lines "$1" && echo "plain nothing to say"; } | sed 's/^/<6>/' >"$work/expected"
    sed -n 's/^syslog: //p' "$work/out" | vcpu | expect "$1 syslog"
}

check_ftrace() {
    { lines "$1" && echo "plain nothing to say"; } | cut -c 1-510 >"$work/expected"
    grep -vE '^(log|syslog|on|off): |^[a-z_]+ [01] [0-9]+$|^[0-9]+ events$' "$work/out" | vcpu |
        expect "$1 ftrace"
}

check_simple() {
    records "$1" >"$work/expected"
    cat "$work/$1"/trace-events "$work/$1"/trace-events-vcpu >"$work/events"
    "$bin/simpletrace" "$work/events" "$work/simple.trace" | sed -E 's/ [0-9.-]+ pid=1234//' | vcpu |
        expect "$1 simple"
}

# The same records, with the thread's number and the time by libstrata itself.
check_ring() {
    records "$1" >"$work/expected"
    cat "$work/$1"/trace-events "$work/$1"/trace-events-vcpu >"$work/events"
    "$bin/simpletrace" "$work/events" "$work/ring.trace" | sed -E 's/ [0-9.-]+ pid=[0-9]+//' | vcpu |
        expect "$1 ring"
}

check_frame() {
    frame "$1" "$2" | LC_ALL=C sort >"$work/expected"
    grep -E '^(on|off): |^[a-z_]+ [01] [0-9]+$|^[0-9]+ events$' "$work/out" | LC_ALL=C sort |
        expect "$1 $2"
}

long=$(awk 'BEGIN {for (i = 0; i < 599; i++) printf "x"}')

# Where libstrata is built for a sanitizer, plain programs cannot be linked with it.
ring=ring
: "${LIBSTRATA=}"
[ -n "$LIBSTRATA" ] || ring=

for version in 5.2 7.2 10.2; do
    # Backends differ between versions in what they write, which all together show; alone, in what they include.
    alone=log
    [ $version != 7.2 ] || alone="log syslog ftrace simple $ring"
    for backends in nop $alone log,syslog,ftrace,simple${ring:+,ring}; do
        trial $version $backends "${CC:-cc}" "${CXX:-c++}"
        check_frame $version $backends
        for backend in $(echo $backends | tr , ' '); do
            [ "$backend" = nop ] || "check_$backend" $version
        done
    done
    if command -v clang clang++ >/dev/null; then
        trial $version $backends clang clang++
        check_frame $version $backends
        for backend in log syslog ftrace simple $ring; do "check_$backend" $version; done
    fi
done

# With ring, libstrata switches QEMU's events as well, but those of vCPUs.
if [ -n "$ring" ]; then
    trial 7.2 ring "${CC:-cc}" "${CXX:-c++}"
    check_ring 7.2
    STRATA_TRACE="plain;numbers;-plain;simple=$work/ring.trace" "$work/program" >"$work/out"
    [ "$(head -n 1 "$work/out")" = "off: 0 0" ] || fail "-plain does not hold"
    STRATA_TRACE="plain,simple=$work/ring.trace;guest_call" "$work/program" >"$work/out" 2>"$work/errors"
    [ "$(head -n 1 "$work/out")" = "off: 1 1" ] || fail "STRATA_TRACE does not switch QEMU's events"
    grep -q "'guest_call' is not traceable" "$work/errors" || fail "$(cat "$work/errors")"
    "$bin/simpletrace" "$work/events" "$work/ring.trace" >"$work/read"
    [ "$(grep -c '^plain ' "$work/read")" -eq 3 ] || fail "$(cat "$work/read")"
    # A condition changes nothing in QEMU's states, and holds also for what QEMU has switched on.
    STRATA_TRACE="numbers: i != -1;words: p == 0x10;simple=$work/ring.trace" "$work/program" >"$work/out"
    check_frame 7.2 ring
    "$bin/simpletrace" "$work/events" "$work/ring.trace" >"$work/read"
    ! grep '^numbers ' "$work/read" || fail "a condition does not hold"
    [ "$(grep -c '^words ' "$work/read")" -eq 2 ] || fail "$(cat "$work/read")"
    # A recorder from outside gets descriptions of what QEMU switches on as well as of what libstrata does.
    "$bin/strata" record -o "$work/recorded" -e plain -- "$work/program" >"$work/out" 2>"$work/errors" ||
        fail "$(cat "$work/errors")"
    "$bin/strata" report --format json "$work/recorded" | sed -n 's/.*"event":"\([^"]*\)".*/\1/p' |
        LC_ALL=C sort | uniq -c | awk '{print $1, $2}' >"$work/read"
    printf '%s\n' '1 guest_call' '2 keywords' '1 numbers' '3 plain' '1 pointers' '1 silent' '1 ten' '2 words' \
        >"$work/expected"
    expect "recorded" <"$work/read"
    # Nobody asks libstrata for a trace, as QEMU switches its events: it is there if something was traced.
    (cd "$work" && STRATA_TRACE='' "$work/program" off) >"$work/out"
    ! ls -d "$work"/strata-* 2>"$work/errors" || fail "there is a trace of nothing"
    (cd "$work" && STRATA_TRACE='' "$work/program") >"$work/out"
    grep -q pointers "$work"/strata-*/metadata || fail "there is no trace without STRATA_TRACE"
    [ "$(cat "$work"/strata-*/stream-* | wc -c)" -gt 500 ] || fail "there are no records"
fi

# A wrong format is reported at the declaration, not in the generated code.
echo 'wrong(int a) "a %s"' >"$work/7.2/trace-events-wrong"
generate "$work/7.2" h standin log trace-events-wrong trace-standin.h
generate "$work/7.2" c standin log trace-events-wrong trace-standin.c
if "${CC:-cc}" -Wall -I"$work/7.2" -I"$work/7.2/include" -fsyntax-only "$work/trace-standin.c" \
    2>"$work/messages"; then :; fi
grep -q 'trace-events-wrong:1:.*warning.*%s' "$work/messages" || {
    cat "$work/messages" >&2
    fail "a wrong format is not told where it is declared"
}

# A group without events compiles, and does not end QEMU's walk over the groups behind it.
echo '# nothing' >"$work/7.2/trace-events-none"
generate "$work/7.2" h standin simple,log trace-events-none trace-standin.h
generate "$work/7.2" c standin simple,log trace-events-none trace-standin.c
# shellcheck disable=SC2086 # lists of words
"${CC:-cc}" $warnings $c_warnings -I"$work/7.2" -I"$work/7.2/include" -c -o "$work/none.o" \
    "$work/trace-standin.c"
if nm "$work/none.o" | grep -q trace_event_register_group; then
    fail "a group without events is registered"
fi
