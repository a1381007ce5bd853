#!/bin/sh
# What is generated for programs compiles without a warning - by gcc and clang, as C and as C++, with
# callers in C and in C++ - and does what it should when it runs. A wrong declaration is reported by
# the compiler at its line.
. "${0%/*}/common.sh"
need gcc gcc
need g++ g++

data=$here/../data/gen
cd "$dir"
cp "$data/trace-events" trace-events
warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wcast-qual -Wwrite-strings -Wundef -Werror -O2'
# has HEADER BACKEND: the backend, where its header is here.
has() {
    if echo "#include <$1>" | gcc -E - >/dev/null 2>&1; then
        echo "$2"
    fi
}
backends="nop log syslog ftrace ring simple $(has sys/sdt.h dtrace) $(has lttng/tracepoint.h ust)"
# shellcheck disable=SC2086 # a list of words
all=$(echo $backends | tr ' ' ',')

# make_code BACKENDS
make_code() {
    for format in h c; do
        "$strata" gen -f "$format" --backend "$1" -g gen -o "trace-gen.$format" trace-events
    done
    case ,$1, in
    *,ust,*)
        for format in h c; do
            "$strata" gen -f "ust-events-$format" --backend "$1" -g gen -o "trace-ust-gen.$format" trace-events
        done
        ;;
    esac
}

# clang 19 warns of macros of <sys/sdt.h> where they are used.
clang_sdt=
! echo 'int x;' | clang -Werror -Wno-c23-extensions -x c -fsyntax-only - 2>/dev/null || clang_sdt=-Wno-c23-extensions

# build COMPILER "CALLER'S FLAGS" "CODE'S FLAGS" BACKENDS: ./caller
build() {
    sdt=
    case $1,$4, in
    clang,*dtrace,*) sdt=$clang_sdt ;;
    esac
    # shellcheck disable=SC2086 # lists of words
    {
        "$1" $2 $warnings -I"$include" -I. -c -o caller.o "$here/caller.c"
        "$1" $3 $warnings $sdt -Wno-missing-field-initializers -I"$include" -I. -c -o code.o trace-gen.c
        case ,$4, in
        *,ust,*)
            # LTTng's own macros are not free of warnings.
            "$1" -x c -O2 -I. -c -o ust.o trace-ust-gen.c
            "$1" -o caller caller.o code.o ust.o "$LIBSTRATA" -lpthread -llttng-ust -ldl
            ;;
        *) "$1" -o caller caller.o code.o "$LIBSTRATA" -lpthread ;;
        esac
    }
}

# The lines of the backend log without what is in front of each: by who, and when.
lines() {
    sed 's/^[0-9]*@[0-9]*\.[0-9]*:/:/' err
}

cat >expected <<'END'
:nothing nothing
:no_format
:no_format_no_arguments
:number -7
:numbers 1 99 -1 255 -32768 65535 -1 4294967295 -1 18446744073709551615
:fixed -128 255 -1 0xffff -1 1 -9223372036854775808 0xffffffffffffffff
:others 5 -1 0xabc -2 -3 4
:strings 'a' 'text' cut
:pointers (nil) (nil) (nil) (nil) (nil) (nil)
:stars [   2] [abc] 100%
:escapes "quoted" \ back 	tab 1
:keywords 1 2 3 4 5
:spaces 9 (nil)
:Mixed_Case9 1 2
:x 1
:x_backend 2
END

# check BACKENDS WHAT LANGUAGE: runs ./caller with all events on, and with one.
check() {
    in=1
    heard=1
    case $1 in
    nop) in=0 heard=0 ;;
    dtrace | ust) heard=0 ;; # no consumer, whatever the state says
    esac
    ./caller '*' >out 2>err || fail "$2: exits with $?"
    printf '%s\n' "$3 compiled in $in 0" 'before 0 0' "on $in $heard, x_backend $in" 'after 0' >wanted
    diff -u wanted out >&2 || fail "$2: these are not the states"
    case ,$1, in
    *,log,*) lines | diff -u expected - >&2 || fail "$2: these are not the lines of the log" ;;
    *) [ ! -s err ] || fail "$2: says $(cat err)" ;;
    esac
    ./caller x_backend >out 2>err || fail "$2: exits with $?"
    printf '%s\n' "$3 compiled in $in 0" 'before 0 0' "on 0 0, x_backend $in" 'after 0' >wanted
    diff -u wanted out >&2 || fail "$2: these are not the states with one event on"
}

n=0
for backend in $backends $all; do
    make_code "$backend"
    for compiler in gcc clang; do
        command -v "$compiler" >/dev/null || continue
        # A backend by itself is compiled in C by one compiler and called from C++ by the other; all together, in each way.
        case $compiler,$backend in
        gcc,* | *,"$all")
            build "$compiler" -std=c11 -std=c11 "$backend"
            check "$backend" "$backend, $compiler" C
            n=$((n + 1))
            ;;
        esac
        case $compiler,$backend in
        clang*,* | *,"$all")
            build "$compiler" '-x c++ -std=c++17' '-std=gnu11 -fPIC' "$backend"
            check "$backend" "$backend, $compiler, a caller in C++" C++
            n=$((n + 1))
            ;;
        esac
    done
done
# The generated C is C++ as well, for who compiles all as such.
build g++ '-x c++ -std=c++17' '-x c++ -std=c++17' "$all"
check "$all" "$all, g++" C++

# A disabled event, and the backend nop, generate no code in the caller.
cat >quiet.c <<'END'
#include "trace-gen.h"
void quiet(const char *text);
void quiet(const char *text)
{
    trace_disabled(1, text);
}
END
make_code "$all"
gcc -O2 -I"$include" -I. -c -o quiet.o quiet.c
size=$(nm -S quiet.o | awk '$4 == "quiet" { print $2 }')
echo 'void quiet(const char *text); void quiet(const char *text) { (void)text; }' >quiet.c
gcc -O2 -c -o quiet.o quiet.c
[ "$size" = "$(nm -S quiet.o | awk '$4 == "quiet" { print $2 }')" ] ||
    fail "a disabled event generates code"

# No events at all.
echo '# nothing' >trace-events
make_code log
echo 'int main(void) { return 0; }' >empty.c
# shellcheck disable=SC2086 # lists of words
gcc -std=c11 $warnings -I"$include" -I. -o empty -include trace-gen.h trace-gen.c empty.c "$LIBSTRATA" -lpthread
./empty

# An argument that does not fit the format.
printf '# a comment\n\nwrong(const char *name) "%%d"\nright(int a) "%%d"\n' >trace-events
for backend in log syslog ftrace; do
    make_code $backend 2>log
    for compiler in gcc clang; do
        command -v $compiler >/dev/null || continue
        # shellcheck disable=SC2086 # lists of words
        $compiler $warnings -I"$include" -I. -c -o wrong.o trace-gen.c 2>err &&
            fail "$compiler takes a wrong format"
        grep -q '^trace-events:3:.*error: .*format' err ||
            fail "$compiler does not name the line of the declaration: $(cat err)"
        grep -q '^trace-events:4:' err && fail "$compiler names another line: $(cat err)"
    done
done
# What follows in the header has its own line numbers again.
echo '#error "here"' >>trace-gen.h
gcc -I"$include" -I. -fsyntax-only trace-gen.c 2>err && fail "takes #error"
grep -q "trace-gen.h:$(wc -l <trace-gen.h):" err || fail "the header's lines are lost: $(cat err)"
echo "$n programs"
