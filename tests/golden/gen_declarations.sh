#!/bin/sh
# How strata gen and tracetool report errors in declarations: the place, the line, what to write.
. "$(dirname "$0")/../lib/golden.sh"

PATH=$STRATA_BIN:$PATH

# shows STATUS COMMAND...: COMMAND exits with STATUS, and prints the content of "expected" on standard error.
shows() {
    wanted=$1
    shift
    status=0
    "$@" >stdout 2>err || status=$?
    [ "$status" -eq "$wanted" ] || { echo "'$*' exits with $status" && cat err && exit 1; }
    diff expected err || { echo "'$*' shows something else" && exit 1; }
}
gen='strata gen -g g -f h --backend log -o out'

# All errors of all files, in order; tabs, letters beyond ASCII, wide ones.
printf '%s\n' 'ok(int a) "%d"' 'two(u32 a, struct foo *p)  "%d' >one
printf '%b\n' 'disabled	tab(int	\ta, float	f)  "\0302\0267 %x"' \
    'wide(int a) "\0346\0274\0242\0345\0255\0227\0303\0251 %m"' 'ok(void) ""' >other
cat >expected <<'END'
one:2:5: error: the argument type 'u32' is not allowed
    2 | two(u32 a, struct foo *p)  "%d
      |     ^~~ write 'uint32_t'
one:2:12: error: the argument type 'struct foo *' is not allowed
    2 | two(u32 a, struct foo *p)  "%d
      |            ^~~~~~~~~~~~ write 'void *'
one:2:28: error: a string that is not ended: a closing '"' is missing
    2 | two(u32 a, struct foo *p)  "%d
      |                            ^~~ end the line with '"'
other:1:1: error: unknown property 'disabled'
    1 | disabled        tab(int         a, float        f)  "· %x"
      | ^~~~~~~~ write 'disable'
other:1:22: error: the argument type 'float' is not allowed
    1 | disabled        tab(int         a, float        f)  "· %x"
      |                                    ^~~~~ events have no floating point: scale it to an integer, as 'int64_t'
other:2:23: error: '%m' is not allowed in a format
    2 | wide(int a) "漢字é %m"
      |                    ^~ pass the error as an argument
other:3:1: error: the event 'ok' is declared a second time
    3 | ok(void) ""
      | ^~
one:1: the first one is here
END
# shellcheck disable=SC2086 # words
shows 1 $gen one other
[ ! -e out ]

# What could command a terminal, or turn the text around, is shown as what it is.
printf '%b\n' 'esc(int \0033[31ma) ""' 'turn(int \0342\0200\0256a, u8 b) "\0302\0233"' >hostile
cat >expected <<'END'
hostile:1:9: error: '\x1b' has no place in an argument
    1 | esc(int \x1b[31ma) ""
      |         ^~~~
hostile:2:10: error: '\u202e' has no place in an argument
    2 | turn(int \u202ea, u8 b) "\u009b"
      |          ^~~~~~
hostile:2:16: error: the argument type 'u8' is not allowed
    2 | turn(int \u202ea, u8 b) "\u009b"
      |                   ^~ write 'uint8_t'
END
# shellcheck disable=SC2086 # words
shows 1 $gen hostile

# Of a long line, only the part around the place is shown.
awk 'BEGIN { printf "long(int a) \""; for (i = 0; i < 50000; i++) printf "0123456789"
             printf " %%m"; for (i = 0; i < 50000; i++) printf "abcdefghij"; print "\"" }' >long
cat >expected <<'END'
long:1:500015: error: '%m' is not allowed in a format
    1 | ...123456789012345678901234567890123456789 %mabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcde...
      |                                            ^~ pass the error as an argument
END
# shellcheck disable=SC2086 # words
shows 1 $gen long

# Other bytes, other ends of lines.
printf 'a(void) ""\r\nb(int a) "%%d"\r\nc(int) ""\r\nd(void) ""' >crlf
cat >expected <<'END'
crlf:3:6: error: the argument 'int' has no name
    3 | c(int) ""
      |      ^ write 'int NAME'
crlf:4:11: error: the file does not end with a newline
    4 | d(void) ""
      |           ^
END
# shellcheck disable=SC2086 # words
shows 1 $gen crlf
printf '\357\273\277a(void) ""\n# \344\nb(void) "\344"\n' >encoded
cat >expected <<'END'
encoded:1:1: error: the file begins with a byte order mark
    1 | 
      | ^ save the file without
encoded:2:3: error: the byte 0xe4, here at first, is not UTF-8
    2 | # \xe4
      |   ^~~~ save the file as UTF-8
END
# shellcheck disable=SC2086 # words
shows 1 $gen encoded

# Warnings do not keep it from anything; for what is compiled out there is nothing worse.
printf '%s\n' 'w(uint64_t a, size_t b, int c) "%d %x"' 'disable n(void) "%s"' >warned
cat >expected <<'END'
warned:1:33: warning: '%d' requires an int, but 'a' is 'uint64_t'
    1 | w(uint64_t a, size_t b, int c) "%d %x"
      |                                 ^~ write '%" PRIu64 "'
warned:1:36: warning: '%x' requires an int, but 'b' is 'size_t'
    1 | w(uint64_t a, size_t b, int c) "%d %x"
      |                                    ^~ write '%zx'
warned:1:32: warning: the format has no conversion for the argument 'c'
    1 | w(uint64_t a, size_t b, int c) "%d %x"
      |                                ^~~~~~~ name it in the format, or leave it out
warned:2:18: warning: no argument for '%s'
    2 | disable n(void) "%s"
      |                  ^~ add an argument, or write '%%' for a percent sign
END
# shellcheck disable=SC2086 # words
shows 0 $gen warned
grep -q trace_w out
rm out

# An error in one's own code, a warning in QEMU's tree, where compilers decide.
printf '%s\n' 'e(int a) "%s"' >string
cat >expected <<'END'
string:1:11: error: '%s' requires a string, but 'a' is 'int'
    1 | e(int a) "%s"
      |           ^~ write '%d'
END
# shellcheck disable=SC2086 # words
shows 1 $gen string
cat >expected <<'END'
Warning at string:1: '%s' requires a string, but 'a' is 'int'
    1 | e(int a) "%s"
      |           ^~ write '%d'
END
shows 0 tracetool --format=h --backends=nop --group=g string out

# How many are shown.
awk 'BEGIN { for (i = 0; i < 10000; i++) print "e" i "(u32 a)" }' >many
cat >expected <<'END'
many:1:4: error: the argument type 'u32' is not allowed
    1 | e0(u32 a)
      |    ^~~ write 'uint32_t'
... and 9999 more errors
END
# shellcheck disable=SC2086 # words
shows 1 $gen --max-errors=1 many
# shellcheck disable=SC2086 # words
$gen many 2>err && exit 1
[ "$(grep -c error: err)" -eq 20 ] && tail -n 1 err | grep -q '^\.\.\. and 9980 more errors$'
# shellcheck disable=SC2086 # words
$gen --max-errors=0 many 2>err && exit 1
[ "$(grep -c error: err)" -eq 10000 ]

# A tree of QEMU knows what its own tracetool knows.
mkdir -p tree/trace
: >tree/trace/control.h
printf '%s\n' 'vcpu v(int a) "%d"' 'tcg t(TCGv a) "", "%" PRIx64' 'n(void) "a\nb"' >tree/trace-events
for version in 5.2.0 7.2.0 10.0.0 10.2.0; do
    echo $version >tree/VERSION
    strata gen --target qemu -g g -f h --backend nop -o out tree/trace-events 2>&1 | sed -n "s/.*events:\([0-9]*\):.*: /$version \1: /p"
done >got
cat >expected <<'END'
7.2.0 2: the property 'tcg' is one of QEMU before 7.2
10.0.0 2: the property 'tcg' is one of QEMU before 7.2
10.0.0 3: the format must not hold a newline
10.2.0 1: the property 'vcpu' is one of QEMU 10.0 and older
10.2.0 2: the property 'tcg' is one of QEMU before 7.2
10.2.0 3: the format must not hold a newline
END
diff expected got
