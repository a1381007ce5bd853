#!/bin/sh
# Backend dtrace: the probes that debuggers and tracers find in the ELF notes of a program - their
# names, semaphores, and the size and sign of each argument - whatever compiles it.
. "${0%/*}/common.sh"
need readelf binutils
[ -f /usr/include/sys/sdt.h ] || [ -f "/usr/include/$(cc -print-multiarch)/sys/sdt.h" ] ||
    skip "there is no <sys/sdt.h> here (Debian package systemtap-sdt-dev)"

cat >"$dir/expected" <<'E2'
last__one 8 -4
linux -4
nothing
numbers -1 1 -2 2 -4 4 -8 8 1 8
stars -4 8 -4 8
ten -4 -4 -4 -4 -4 -4 -4 -4 -4 -4
texts 8 8 8 8
types 8 1 8 8 -1 4 -8
words -4 8 8 -4 1 -4 -4
E2

# notes FILE: a line per probe, its name and the sizes of its arguments; "no semaphore" where there
# is none.
notes() {
    readelf -n "$1" | awk '
        /Provider:/ { provider = $2 }
        /Name:/ { name = $2 }
        /Semaphore:/ { semaphore = $NF }
        /Arguments:/ {
            line = name
            for (i = 2; i <= NF; i++)
                line = line " " substr($i, 1, index($i, "@") - 1)
            if (provider != "probes")
                line = line " provider " provider
            if (semaphore ~ /^0x0*$/)
                line = line " no semaphore"
            print line
        }' | sort
}

# check WHAT FILE
check() {
    notes "$2" >"$dir/found"
    diff -u "$dir/expected" "$dir/found" >&2 || fail "$1: these are not the probes"
}

generate dtrace
grep -q sdt "$dir/trace-probes.h" && fail "callers need <sys/sdt.h>"
for compiler in cc clang; do
    command -v "$compiler" >/dev/null || continue
    for flags in -O0 '-O2 -std=c11 -D_POSIX_C_SOURCE=200809L' '-O2 -fPIC -pie'; do
        # shellcheck disable=SC2086 # a list of words
        compile "$compiler" "$dir/program" $flags "$here/probes.c" "$dir/trace-probes.c"
        check "$compiler $flags" "$dir/program"
        [ "$("$dir/program")" = "nothing 0 texts 0 never 0" ] || fail "no consumer, but its probes are enabled"
    done
done
# The linker optimises too, and would throw away what only a note refers to.
compile cc "$dir/program" -O2 -flto -ffunction-sections -fdata-sections -Wl,--gc-sections \
    "$here/probes.c" "$dir/trace-probes.c"
check "gcc, link time optimisation" "$dir/program"

# A shared library with its own probes, and C++ callers.
# shellcheck disable=SC2086 # a list of words
cc $warnings -O2 -fPIC -shared -I"$include" -I"$dir" -o "$dir/libprobes.so" "$dir/trace-probes.c" \
    "$here/probes.c" -L"${LIBSTRATA%/*}" -lstrata
check "shared library" "$dir/libprobes.so"
if command -v g++ >/dev/null; then
    # shellcheck disable=SC2086 # a list of words
    g++ -Wall -Wextra -Wconversion -Werror -std=c++17 -I"$include" -I"$dir" -x c++ -c \
        -o "$dir/caller.o" "$here/probes.c"
    compile cc "$dir/program" "$dir/caller.o" "$dir/trace-probes.c"
    check "C++ caller" "$dir/program"
fi

# With another backend beside it, and another provider.
"$strata" gen -f h --backend log,dtrace --group probes --provider other -o "$dir/trace-probes.h" \
    "$here/probes.trace-events"
"$strata" gen -f c --backend log,dtrace --group probes --provider other -o "$dir/trace-probes.c" \
    "$here/probes.trace-events"
compile cc "$dir/program" "$here/probes.c" "$dir/trace-probes.c"
sed 's/$/ provider other/' "$dir/expected" >"$dir/other" && mv "$dir/other" "$dir/expected"
check "provider other" "$dir/program"
echo "the probes are in the notes"
