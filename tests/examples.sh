#!/bin/sh
# Strata in other people's builds: builds the generator and libstrata of libc alone, installs them, and
# builds and runs each of examples/ with that, by gcc and by clang.
#
# Of each: it runs and is traced; a second build does nothing, nor does one after a change that changes
# no code; a changed declaration is in the program after the next build; a wrong one is told. By clang some only run.
#
# $STRATA_BIN is the directory of a strata that reads traces; by hand, build/bin.
set -eu

tree=$(cd "$(dirname "$0")/.." && pwd)
for tool in gcc g++ clang clang++ cmake make meson ninja pkg-config readelf; do
    command -v $tool >/dev/null || {
        echo "examples: $tool is not installed (tools/packages install build check)"
        exit 77
    }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir" "/dev/shm/strata-examples-$$"' EXIT
mkdir "$dir/nothing"
prefix=$dir/prefix
strata=${STRATA_BIN:-$tree/build/bin}/strata
what=

fail() {
    echo "examples: ${what:+$what: }$*" >&2
    exit 1
}

. "$tree/tests/lib/wait_for.sh"

# loud COMMAND...: shows what it printed only if it fails.
loud() {
    "$@" >"$dir/log" 2>&1 || {
        cat "$dir/log" >&2
        fail "failed: $*"
    }
}

# ---- Of libc alone ----

export PKG_CONFIG_LIBDIR="$dir/nothing"
loud meson setup "$dir/strata" "$tree" -Dreading=disabled -Dwerror=true -Dbuildtype=debug \
    -Dprefix="$prefix"
loud ninja -C "$dir/strata"
loud meson install -C "$dir/strata" --no-rebuild
unset PKG_CONFIG_LIBDIR

"$prefix/bin/strata" --version | grep -q '^strata [0-9]' || fail "strata --version"
"$prefix/bin/strata" help >"$dir/help"
! grep -q simpletrace "$dir/help" || fail "strata help names what is not there"
for binary in "$prefix/bin/strata" "$(find "$prefix" -name libstrata.so)"; do
    needed=$(readelf -d "$binary" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
        grep -v -e '^libc\.so' -e '^ld-linux' || :)
    [ -z "$needed" ] || fail "$binary also needs: $needed"
done

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name strata-trace.pc)")
LD_LIBRARY_PATH=$(dirname "$(find "$prefix" -name libstrata.so)")
export PKG_CONFIG_PATH LD_LIBRARY_PATH

# ---- The examples ----

# What the build has made, and when.
made() {
    find "$dir/example" -path '*/subprojects' -prune -o \( -name '*.o' -o -name 'trace-*.[ch]' \
        -o -name "$program" \) -type f -printf '%P %T@\n' | LC_ALL=C sort
}

# example NAME PROGRAM OUTPUT EVENT ARGUMENT...: the example NAME, configured and built by the functions
# configure and build, makes PROGRAM, which called with the ARGUMENTs prints OUTPUT and has an event that
# reads EVENT.
example() {
    name=$1 program=$2 output=$3 event=$4
    shift 4
    loud configure
    loud build
    binary=$(find "$dir/example" -name "$program" -type f -perm -u+x)
    [ -x "$binary" ] || fail "there is no program $program"
    runs "$output" "$event" "$@"
    # What is built anew is decided by the build, not by the compiler.
    [ "$CC" = gcc ] || [ "$name" = cmake ] || { echo "ok: $what" && return; }

    made >"$dir/before"
    [ "$(wc -l <"$dir/before")" -ge 5 ] || fail "too few files made: $(cat "$dir/before")"
    loud build
    made | cmp -s "$dir/before" - || fail "a second build does something"

    echo '# More to come.' >>"$dir/example/trace-events"
    loud build
    made | diff "$dir/before" - || fail "a comment in trace-events has something built again"
    find "$dir/example" -type f -printf '%P %T@\n' | LC_ALL=C sort | grep -v -e '\.ninja' -e meson-logs -e CMakeFiles >"$dir/all-before"
    loud build
    find "$dir/example" -type f -printf '%P %T@\n' | LC_ALL=C sort | grep -v -e '\.ninja' -e meson-logs -e CMakeFiles |
        diff "$dir/all-before" - || fail "and the build after that one does something"

    sed -i.old '/^[a-z].* "/s/"/"NEW /' "$dir/example/trace-events"
    loud build
    runs "$output" "$(echo "$event" | sed 's/ / NEW /')" "$@"

    echo 'wrong(int)' >>"$dir/example/trace-events"
    ! build >"$dir/log" 2>&1 || fail "a wrong declaration is taken"
    line=$(wc -l <"$dir/example/trace-events")
    grep -q "trace-events:$line:.*error" "$dir/log" || {
        cat "$dir/log" >&2
        fail "the error of a wrong declaration is not shown"
    }
    sed -i '$d' "$dir/example/trace-events"
    loud build
    echo "ok: $what"
}

# runs OUTPUT EVENT ARGUMENT...
runs() {
    output=$1 event=$2
    shift 2
    "$binary" "$@" >"$dir/out" 2>"$dir/err" || fail "$program failed"
    [ "$(tail -n 1 "$dir/out")" = "$output" ] || fail "$program printed: $(cat "$dir/out")"
    [ ! -s "$dir/err" ] || fail "$program is traced though nobody asked: $(cat "$dir/err")"

    # As text at the call, and by way of the rings into a file that strata reads.
    STRATA_TRACE="*;simple=$dir/trace" "$binary" "$@" >"$dir/traced" 2>"$dir/err" ||
        fail "$program failed when traced"
    cmp "$dir/out" "$dir/traced" || fail "$program prints something else when traced"
    sed 's/^[0-9]*@[0-9.]*://' "$dir/err" | grep -qxF "$event" ||
        fail "no '$event' in the log: $(cat "$dir/err")"
    "$strata" report --trace-events "$dir/example/trace-events" "$dir/trace" >"$dir/report" ||
        fail "strata cannot read the trace"
    grep -qF "${event%% *}: ${event#* }" "$dir/report" ||
        fail "no '$event' in the trace: $(cat "$dir/report")"
    [ "$(wc -l <"$dir/report")" -eq "$(wc -l <"$dir/err")" ] ||
        fail "log and trace have not the same number of events"
}

# The program has probes for SystemTap and tracepoints for LTTng.
probes() {
    readelf -n "$binary" | grep -q stapsdt || fail "no probes are in it"
    readelf -d "$binary" | grep -q liblttng-ust || fail "it is not linked with lttng-ust"
}

# A whole machine with several threads: each of two vCPUs reads and writes the disk three times.
tiny_vmm() {
    program=tiny-vmm
    binary=$(find "$dir/example" -name $program -type f -perm -u+x)
    rm -f "$dir/text" # is appended to
    head -c 2048 /dev/zero >"$dir/disk"
    timeout 240 "$binary" -rounds 3 "$dir/disk" >"$dir/out" 2>"$dir/err" || fail "failed: $(cat "$dir/err")"
    [ "$(head -n 1 "$dir/out" | fold -w 1 | sort | tr -d '\n')" = 000111 ] || fail "the guest said: $(cat "$dir/out")"
    [ ! -s "$dir/err" ] || fail "traced though nobody asked: $(cat "$dir/err")"
    od -A d -t u4 "$dir/disk" | grep -q '^0000000  *3 ' || fail "vcpu 0 has not counted on the disk"
    od -A d -t u4 "$dir/disk" | grep -q '^0000512  *3 ' || fail "vcpu 1 has not counted on the disk"

    # All of it as a native trace and as text, from one run.
    timeout 240 "$binary" -rounds 3 -trace '*' -trace "ctf=$dir/native,log=$dir/text" "$dir/disk" \
        >"$dir/out" 2>"$dir/err" || fail "failed when traced: $(cat "$dir/err")"
    [ ! -s "$dir/err" ] || fail "traced, it says: $(cat "$dir/err")"
    "$strata" report --strict "$dir/native" >"$dir/report" || fail "strata cannot read the trace"
    [ "$(wc -l <"$dir/report")" -eq "$(wc -l <"$dir/text")" ] || fail "text and trace are not the same"
    has() {
        n=$(grep -c -e "$2" "$dir/report" || :)
        [ "$n" -eq "$1" ] || fail "$n, not $1, of '$2' in: $(cat "$dir/report")"
    }
    has 2 'vcpu[01]-[0-9]* vcpu_start: vcpu [01] ram 0x[0-9a-f]* pc 0x80000000$'
    has 2 'vcpu_stop: vcpu [01] after [0-9]* instructions: done$'
    has 6 'vcpu0-[0-9]* blk_submit: vcpu 0 \(read\|write\) sector 0 buffer 0x'
    has 6 ' blk-[0-9]* blk_complete: vcpu 1 \(read\|write\) sector 1: fine$'
    has 12 'vcpu_irq: vcpu [01] irq 11 at pc'
    has 6 'uart_write: vcpu [01] byte 0x3[01]$'
    [ "$(grep -c ' timer-[0-9]* timer_fire' "$dir/report")" -ge 6 ] || fail "the timer does not fire"
    if command -v babeltrace2 >/dev/null; then
        babeltrace2 "$dir/native" >"$dir/babeltrace2"
        [ "$(wc -l <"$dir/report")" -eq "$(wc -l <"$dir/babeltrace2")" ] ||
            fail "babeltrace2 sees another number of events"
    fi

    timeout 240 "$binary" -rounds 1 -trace vcpu_step -trace nothing "$dir/disk" >"$dir/out" 2>"$dir/err" ||
        fail "failed: $(cat "$dir/err")"
    grep -q "'vcpu_step' is not traceable" "$dir/err" || fail "no word of what is compiled out"
    grep -q "'nothing' does not exist" "$dir/err" || fail "no word of what does not exist"
    sed -i 's/^disable //' "$dir/example/vcpu/trace-events"
    loud build
    timeout 240 "$binary" -rounds 1 -trace "vcpu_step,simple=$dir/steps" "$dir/disk" >"$dir/out" 2>"$dir/err"
    [ ! -s "$dir/err" ] || fail "compiled in, and: $(cat "$dir/err")"
    "$strata" report --trace-events "$dir/example/vcpu/trace-events" "$dir/steps" | grep -q 'vcpu_step: vcpu 0 pc' ||
        fail "no steps are traced"

    # For ever, until it is told to stop; meanwhile its events are switched.
    rm "$dir/out"
    mkdir -p "$dir/runtime"
    chmod 700 "$dir/runtime"
    XDG_RUNTIME_DIR=$dir/runtime
    export XDG_RUNTIME_DIR
    rm -rf "$dir/live"
    "$binary" -trace "ctf=$dir/live" "$dir/disk" >"$dir/out" 2>"$dir/err" &
    pid=$!
    wait_for '[ -s "$dir/out" ]'
    wait_for '"$strata" list | grep -q "^ *$pid .* 0/15 .* tiny-vmm  ctf $dir/live"'
    "$strata" ctl $pid on 'blk_*' || fail "strata ctl cannot switch events on"
    wait_for '"$strata" ctl $pid flush && "$strata" report "$dir/live" 2>"$dir/log" | grep -q " blk_complete: "'
    kill -TERM $pid
    wait $pid || fail "it does not end well when told to stop: $(cat "$dir/err")"
    "$strata" report --strict "$dir/live" >"$dir/log" || fail "strata cannot read what it left"
    ! grep -q -e ' vcpu_' -e ' timer_' "$dir/log" || fail "more is traced than was switched on"
    unset XDG_RUNTIME_DIR
    ! "$binary" /dev/null/none >"$dir/out" 2>"$dir/err" || fail "a disk that is not there is not an error"
}

# Several processors with per-CPU buffers, recorded by the command that records Xen.
toy_hypervisor() {
    binary=$dir/example/toy-hypervisor
    rm -rf "$dir/recorded"
    "$binary" -wait -buffer "strata-examples-$$" -exits 1000 -pages 512 >"$dir/out" 2>"$dir/err" &
    pid=$!
    wait_for '[ -s "$dir/out" ]'
    "$strata" record --percpu "strata-examples-$$" --trace-events "$dir/example/events" -o "$dir/recorded" \
        >"$dir/log" 2>"$dir/err" &
    recorder=$!
    wait $pid || fail "it failed: $(cat "$dir/err")"
    wait $recorder || fail "it cannot be recorded: $(cat "$dir/err")"
    "$strata" report --strict "$dir/recorded" >"$dir/report" || fail "strata cannot read the trace"
    n=$(sed -n 's/^cpu.* \([0-9]*\) records$/\1/p' "$dir/out" | awk '{ n += $1 } END { print n }')
    [ "$(wc -l <"$dir/report")" -eq "$n" ] || fail "$(wc -l <"$dir/report") records, not $n"
    [ "$(grep -c ' vmexit: reason=' "$dir/report")" -eq 2000 ] || fail "not as many exits as there were"
    grep -q ' toy_tick: ' "$dir/report" || fail "its own events are not known"
}

# ---- What strata-gen(1) and the guide show ----

# The literal text number N of that section of the page.
shown() {
    sed -n '/^\.Ss Building a program/,/^\.Sh EXIT STATUS/p' "$tree/docs/man/strata-gen.1" |
        awk -v n="$1" '/^\.Bd/ { k++; inside = 1; next } /^\.Ed/ { inside = 0 } inside && k == n'
}
python3 - "$tree/docs/guide/trace-a-program.md" "$tree/docs/man/strata-gen.1" <<'END' || fail "the guide has other lines than strata-gen(1)"
import re, sys
guide, page = (open(path).read() for path in sys.argv[1:])
section = page[page.index(".Ss Building a program"):page.index(".Sh EXIT STATUS")]
blocks = re.findall(r"^\.Bd .*?\n(.*?)^\.Ed$", section, re.M | re.S)
for block in blocks[1:5]: # the declaration is made by a command there
    if "\n" + block + "```" not in guide:
        sys.exit(block)
if blocks[0].strip() not in guide or len(blocks) != 6:
    sys.exit(blocks[0])
END
for way in make cmake meson; do
    what="the program of strata-gen(1) by $way"
    rm -rf "$dir/example" "$dir/recorded"
    mkdir "$dir/example"
    shown 1 >"$dir/example/trace-events"
    shown 2 >"$dir/example/main.c"
    case $way in
    make)
        shown 3 >"$dir/example/Makefile"
        loud make -C "$dir/example"
        ;;
    cmake)
        shown 4 >"$dir/example/CMakeLists.txt"
        loud env CMAKE_PREFIX_PATH="$prefix" sh -c 'cd "$0" && cmake -B build && cmake --build build' "$dir/example"
        ;;
    meson)
        shown 5 >"$dir/example/meson.build"
        loud sh -c 'cd "$0" && meson setup build && ninja -C build' "$dir/example"
        ;;
    esac
    binary=$(find "$dir/example" -name main -type f -perm -u+x)
    loud "$strata" record -o "$dir/recorded" -- "$binary"
    "$strata" report "$dir/recorded" >"$dir/report" || fail "strata cannot read the trace"
    [ "$(grep -c 'disk_write: sector [0-9]* count 4096$' "$dir/report")" -eq 3 ] || fail "$(cat "$dir/report")"
    cp "$dir/report" "${SHOW_REPORT:-/dev/null}"
    echo "ok: $what"
done

copy() {
    rm -rf "$dir/example"
    cp -R "$tree/examples/$1" "$dir/example"
}

for CC in gcc clang; do
    case $CC in
    gcc) CXX=g++ generator='Unix Makefiles' ;;
    *) CXX=clang++ generator=Ninja ;;
    esac
    export CC CXX

    what="examples/make with $CC"
    copy make
    configure() { :; }
    build() { make -C "$dir/example" CC=$CC CFLAGS='-std=c11 -Wall -Wextra -Wconversion -Werror' "$@"; }
    example make calc 35 "calc_apply * of 7 and 5 is 35" 3 4 + 5 '*'

    what="examples/make with $CC and all kinds of backends"
    copy make
    loud build
    loud build STRATA_BACKENDS=ring,log,dtrace,ust
    binary=$dir/example/calc
    runs 35 'calc_apply * of 7 and 5 is 35' 3 4 + 5 '*'
    probes # though it was built with other backends before
    made >"$dir/before"
    loud build STRATA_BACKENDS=ring,log,dtrace,ust
    made | cmp -s "$dir/before" - || fail "a second build does something"
    loud build STRATA_BACKENDS=ring,log,dtrace,ust clean
    ls "$dir/example" >"$dir/left"
    ls "$tree/examples/make" | diff - "$dir/left" || fail "make clean leaves something"

    what="examples/cmake with $CXX, $generator"
    copy cmake
    configure() {
        cmake -S "$dir/example" -B "$dir/example/build" -G "$generator" -DCMAKE_PREFIX_PATH="$prefix" \
            -DCMAKE_C_FLAGS='-Wall -Wextra -Wconversion -Werror' \
            -DCMAKE_CXX_FLAGS='-Wall -Wextra -Wconversion -Werror'
    }
    build() { cmake --build "$dir/example/build"; }
    example cmake blockcache "1 hits, 3 misses, 1 blocks written" "cache_evict block 2 dirty 1" \
        2 r1 w2 r1 r3

    what="examples/cmake with $CXX and all kinds of backends"
    copy cmake
    sed -i 's/BACKENDS .*)/BACKENDS ring log dtrace ust)/' "$dir/example/CMakeLists.txt"
    loud configure
    loud build
    binary=$dir/example/build/blockcache
    runs "1 hits, 3 misses, 1 blocks written" "cache_evict block 2 dirty 1" 2 r1 w2 r1 r3
    probes

    what="examples/meson-installed with $CC"
    copy meson-installed
    configure() { meson setup "$dir/example/build" "$dir/example" -Dwerror=true -Dc_args=-Wconversion; }
    build() { ninja -C "$dir/example/build"; }
    example meson-installed uart "20 ticks" "uart_sent tick 4: byte 0x68" hello

    what="examples/tiny-vmm with $CC"
    copy tiny-vmm
    if [ $CC = gcc ]; then
        configure() { :; }
        build() { make -C "$dir/example" CC="$CC" CFLAGS='-O2 -std=c11 -Wall -Wextra -Wconversion -Werror'; }
    else
        configure() { meson setup "$dir/example/build" "$dir/example" -Dwerror=true -Dc_args=-Wconversion; }
        build() { ninja -C "$dir/example/build"; }
    fi
    loud configure
    loud build
    tiny_vmm
    ! readelf -d "$binary" | grep -q 'NEEDED.*lttng' ||
        fail "$what: is linked with LTTng, of which it has no tracepoint"
    echo "ok: $what"

    what="examples/toy-hypervisor with $CC"
    copy toy-hypervisor
    build() { make -C "$dir/example" CC="$CC" CFLAGS='-O2 -std=c11 -Wall -Wextra -Wconversion -Werror' "$@"; }
    loud build
    toy_hypervisor
    loud build clean
    ls "$dir/example" >"$dir/left"
    ls "$tree/examples/toy-hypervisor" | diff - "$dir/left" || fail "make clean leaves something"
    echo "ok: $what"

    # Strata from the tree, not from where it is installed. One of the two is a cross build, as far as
    # meson can tell: what is built for the other machine is not run.
    what="examples/meson-subproject with $CC"
    copy meson-subproject
    ln -s "$tree" "$dir/example/subprojects/strata"
    cross=
    if [ $CC = clang ]; then
        what="$what, cross build"
        cross="--cross-file $dir/cross"
        cat >"$dir/cross" <<END
[binaries]
c = 'clang'
ar = 'ar'
objcopy = 'objcopy'
strip = 'strip'
[properties]
needs_exe_wrapper = true
[host_machine]
system = 'linux'
cpu_family = '$(uname -m)'
cpu = '$(uname -m)'
endian = 'little'
END
        CC=gcc
    fi
    configure() {
        # shellcheck disable=SC2086 # words
        PKG_CONFIG_LIBDIR=$dir/nothing PKG_CONFIG_PATH='' \
            meson setup "$dir/example/build" "$dir/example" -Dwerror=true $cross
    }
    build() { ninja -C "$dir/example/build"; }
    example meson-subproject pager "3 faults, 1 pages written" "page_evict page 1 from frame 0, dirty 1" \
        2 w1 r2 r3
done
