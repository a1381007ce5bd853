#!/bin/sh
# strata gen and tracetool with arguments and files that are wrong: one clear message each, the right
# exit status, and an output file that is whole or as it was.
. "$(dirname "$0")/../lib/golden.sh"

PATH=$STRATA_BIN:$PATH

cat >trace-events <<'END'
one(int a, const char *b) "a %d b %s"
END
echo before >before

fail() {
    echo "$1" >&2
    shift
    for file; do
        head -c 2000 "$file" >&2
    done
    exit 1
}

# wrong STATUS PATTERN COMMAND...: exits with STATUS, prints nothing but one line that has PATTERN in it
# (and where to find help), and leaves "out" as it was.
wrong() {
    wanted=$1
    pattern=$2
    shift 2
    cp before out
    status=0
    "$@" >stdout 2>err </dev/null || status=$?
    [ "$status" -eq "$wanted" ] || fail "'$*' exits with $status, not $wanted" err
    [ ! -s stdout ] || fail "'$*' prints:" stdout
    grep -v "^Try 'strata gen --help'.$" err >told || :
    [ "$(wc -l <told)" -eq 1 ] || fail "'$*' does not print one line but:" err
    grep -q -- "$pattern" told || fail "'$*' does not print '$pattern' but:" err
    cmp -s before out || fail "'$*' has changed its output"
    [ "$(find . -name 'out.*')" = '' ] || fail "'$*' leaves a temporary file"
}
# The same of declarations, whose errors may be shown with the line.
wrong_file() {
    pattern=$1
    shift
    cp before out
    status=0
    strata gen -g g -f h --backend log -o out "$@" >stdout 2>err || status=$?
    [ "$status" -eq 1 ] || fail "'$*' exits with $status, not 1" err
    [ ! -s stdout ] || fail "'$*' prints:" stdout
    [ "$(grep -c 'error: ' err)" -eq 1 ] || fail "'$*' does not have one error but:" err
    grep -q -- "$pattern" err || fail "'$*' does not print '$pattern' but:" err
    cmp -s before out || fail "'$*' has changed its output"
    status=0
    tracetool --format=h --backends=log --group=g "$@" out >stdout 2>err || status=$?
    [ "$status" -eq 1 ] || fail "tracetool of '$*' exits with $status, not 1" err
    [ ! -s stdout ] || fail "tracetool of '$*' prints:" stdout
    grep -q '^Error at ' err || fail "tracetool of '$*' does not tell of an error but:" err
    cmp -s before out || fail "tracetool of '$*' has changed its output"
}

# Arguments of strata gen.
gen='strata gen'
# shellcheck disable=SC2086 # words
{
    wrong 2 '--format=FORMAT is required' $gen -g g --backend log -o out trace-events
    wrong 2 '--backend=NAME is required' $gen -g g -f h -o out trace-events
    wrong 2 'no trace-events file given' $gen -g g -f h --backend log -o out
    wrong 2 "'hh' is not a format (valid: c, d, h, .* and ust-events-h)" \
        $gen -g g -f hh --backend log -o out trace-events
    wrong 2 "'lag' is not a backend (valid: nop, dtrace, .* and ust)" \
        $gen -g g -f h --backend lag -o out trace-events
    wrong 2 "'log,' contains '', which is not a backend" $gen -g g -f h --backend log, -o out trace-events
    wrong 2 "contains 'lag', which is not a backend" $gen -g g -f h --backend log,lag,simple -o out trace-events
    wrong 2 'format h requires --group=NAME' $gen -f h --backend log -o out trace-events
    wrong 2 'format c requires --group=NAME' $gen -f c --backend log -o out trace-events
    wrong 2 'format stap requires --probe-prefix=NAME' $gen -f stap --backend dtrace -o out trace-events
    wrong 2 'format stap requires --binary=PATH' \
        $gen -f stap --backend dtrace --probe-prefix p -o out trace-events
    wrong 2 "'qemus' is not one of strata or qemu" $gen --target qemus -o out trace-events
    wrong 2 "unknown option '--backens'; did you mean '--backend'" $gen --backens log
    wrong 2 'depfile requires --output' $gen -g g -f h --backend log --depfile d trace-events
    wrong 1 'the name of the group is empty' $gen -g '' -f h --backend log -o out trace-events
    wrong 1 "the group '1g' begins with a digit" $gen -g 1g -f h --backend log -o out trace-events
    wrong 1 "the format 'tcg-h' is only for QEMU's own tree: --target qemu" $gen -g g -f tcg-h --backend log -o out trace-events
}

# Files.
h='strata gen -g g -f h --backend log'
# shellcheck disable=SC2086 # words
{
    wrong 1 'nofile: .*No such file' $h -o out nofile
    wrong 1 'nofile: .*No such file' $h -o out trace-events nofile
    wrong 1 'is a directory' $h -o out .
    wrong 1 'nofolder/out: .*No such file' $h -o nofolder/out trace-events
    wrong 1 'Is a directory' $h -o . trace-events
    wrong 1 'Not a directory' $h -o trace-events/out trace-events
    wrong 1 'trace-events: is an input as well' $h -o trace-events trace-events
    ln -s trace-events link
    ln trace-events hard
    wrong 1 'link: is an input as well' $h -o link trace-events
    wrong 1 'hard: is an input as well' $h -o hard trace-events
    wrong 1 'trace-events: is an input as well' $h -o out --depfile trace-events trace-events
    wrong 1 'out: is both the output and the depfile' $h -o out --depfile out trace-events
    # Root is refused nothing, unless it gives its privileges up.
    plain=
    [ "$(id -u)" -ne 0 ] || plain='setpriv --bounding-set=-all --'
    cp trace-events secret
    chmod 0 secret
    wrong 1 'secret: .*Permission denied' $plain $h -o out secret
    mkdir closed
    chmod 500 closed
    wrong 1 'closed/out: .*Permission denied' $plain $h -o closed/out trace-events
    if [ -c /dev/full ]; then
        wrong 1 '/dev/full: cannot write: No space left' $h -o /dev/full trace-events
        status=0
        $h trace-events >/dev/full 2>err || status=$?
        [ "$status" -eq 1 ] || fail "a full standard output is not reported"
        grep -q 'standard output: cannot write: No space left' err ||
            fail "a full standard output is not told of" err
    fi
    # A file that cannot become as large as it should: what was there stays.
    i=0
    while [ $i -lt 200 ]; do
        echo "event$i(int a) \"a %d\""
        i=$((i + 1))
    done >longer
    wrong 1 'out: cannot write: File too large' \
        sh -c 'trap "" XFSZ; ulimit -f 1; exec strata gen -g g -f h --backend log -o out longer'
}

# Declarations.
printf 'a(void) "x"' >file
wrong_file 'file:1:.* newline' file
printf 'a(void) "x\0y"\n' >file
wrong_file 'file:1:' file
printf '\0\n' >file
wrong_file 'file:1:' file
head -c 1000000 /dev/zero | tr '\0' x >file
echo >>file
wrong_file 'file:1:' file
[ "$(wc -c <err)" -lt 2000 ] || fail 'a long line is shown whole'
printf 'a(struct x *p) ""\n' >file
wrong_file 'file:1:' trace-events file
strata gen -g g -f h --backend log - <file >stdout 2>err && fail 'standard input is not checked'
[ ! -s stdout ] || fail 'prints:' stdout

# A line of a megabyte that is right.
{
    printf 'a(int a) "'
    head -c 1000000 /dev/zero | tr '\0' x
    echo '"'
} >file
# shellcheck disable=SC2086 # words
$h -o out file
[ "$(wc -c <out)" -gt 1000000 ]

# Many errors: an end to it, soon, and nothing written.
awk 'BEGIN { for (i = 0; i < 10000; i++) print "bad" i "(struct x a) \"\"" }' >file
cp before out
status=0
# shellcheck disable=SC2086 # words
$h -o out file >stdout 2>err || status=$?
[ "$status" -eq 1 ] || fail "10,000 errors exit with $status"
grep -q 'file:1:' err
[ "$(wc -c <err)" -lt 5000000 ]
cmp -s before out

# tracetool's arguments: always 1, as with the script.
t='tracetool --format=h --backends=log'
# shellcheck disable=SC2086 # words
{
    wrong 1 '^Error: no backends specified' tracetool --format=h --group=g trace-events out
    wrong 1 '^Error: format not set' tracetool --backends=log --group=g trace-events out
    wrong 1 '^Error: unknown format: hh' tracetool --format=hh --backends=log --group=g trace-events out
    wrong 1 "^Error: unknown backend: 'lag'" tracetool --format=h --backends=log,lag --group=g \
        trace-events out
    wrong 1 '^Error: group name is required' $t trace-events out
    wrong 1 '^Error: group name is required' $t trace-events
    wrong 1 '^Error: --binary is required' tracetool --format=stap --backends=dtrace --group=g \
        --probe-prefix=p trace-events out
    wrong 1 '^Error: --probe-prefix, or ' tracetool --format=stap --backends=dtrace --group=g \
        --binary=b trace-events out
    wrong 1 '^Error: --probe-prefix, or ' tracetool --format=stap --backends=dtrace --group=g \
        --binary=b --target-type=system trace-events out
    wrong 1 '^Error: option --formal not recognized' tracetool --formal=h
    wrong 1 '^Error: option -f not recognized' tracetool -f h
    wrong 1 '^Error: option --format requires argument' tracetool --format
    wrong 1 '^Error: option --help must not have an argument' tracetool --help=yes
    wrong 1 '^Error: option --b is ambiguous' tracetool --b=log
    wrong 1 'nofile: .*No such file' $t --group=g nofile out
    wrong 1 'link: is an input as well' $t --group=g trace-events ./link
    wrong 1 "^Error: unknown target 'kvm'" $t --group=g --target=kvm trace-events out
}
