#!/bin/sh
# shellcheck disable=SC2016 # names that hold a $
# The files that strata gen and tracetool write: only when something changed, with a depfile that make
# understands; and the three forms of tracetool's operands.
. "$(dirname "$0")/../lib/golden.sh"
PATH=$STRATA_BIN:$PATH
cp "$DATA/gen/trace-events" "$work"

# Written only if changed.
h='strata gen -g g -f h --backend log'
# shellcheck disable=SC2086 # words
{
    $h -o out trace-events
    touch -d '2001-01-01' out
    chmod 640 out
    $h -o out trace-events
    [ "$(date -r out +%Y)" = 2001 ] || fail 'the same is written again'
    echo 'another(int a) "%d"' >other
    $h -o out trace-events other
    [ "$(date -r out +%Y)" != 2001 ] || fail 'what changed is not written'
    grep -q trace_another out
    [ "$(stat -c %a out)" = 640 ] || fail 'the mode is lost'
    $h -o out other # much shorter
    ! grep -q trace_nothing out || fail 'something of before is left'

    # Through a link, which stays.
    mkdir folder
    ln -s ../out folder/link
    $h -o folder/link trace-events
    [ -L folder/link ] || fail 'the link is gone'
    grep -q trace_nothing out
    [ "$(ls folder)" = link ] || fail "there is $(ls folder)"

    # A target that is not a regular file is written to.
    mkfifo fifo
    cat fifo >through &
    $h -o fifo other
    wait
    $h other >direct
    sed -i 's/"fifo"/"-"/' through
    grep -v '^#line' through | cmp - direct
    [ -p fifo ] || fail 'the pipe is gone'
    $h - <other | cmp - direct || fail 'standard input gives something else'
    ! grep -q '^#line' direct || fail '#line without a name of the output'
}
! find . -name '*.tmp*' -o -name 'out.*' | grep . || fail 'temporary files are left'

# A depfile for make: names with blanks, '#', '$' and backslashes.
mkdir 'a b'
cp trace-events 'a b/c#d$e'
echo 'third(void) ""' >'back\ slash'
strata gen -g g -f h --backend log --depfile dep -o 'out $1' 'a b/c#d$e' other 'back\ slash' - </dev/null
printf 'include dep\nout\\ $$1:\n\tfalse\n' >makefile
touch -d '2001-01-01' 'out $1' && touch -d '2000-01-01' 'a b/c#d$e' other 'back\ slash'
make -q 'out $1' || fail 'make does not understand the depfile'
for file in 'a b/c#d$e' other 'back\ slash'; do
    touch "$file"
    ! make -q 'out $1' || fail "make does not know of '$file'"
    touch -d '2000-01-01' "$file"
done

# tracetool: the same as strata gen --target qemu, whatever the form.
for format in h c; do
    t="tracetool --format=$format --backend=log,simple --group=hw_net"
    strata gen --target qemu -f $format --backend log,simple -g hw_net -o out-form trace-events other
    cp out-form wanted
    $t trace-events other out-form
    cmp wanted out-form || fail "tracetool --format=$format makes something else"

    # To standard output: one file, and several whose last is called trace-events.
    strata gen --target qemu -f $format --backend log,simple -g hw_net trace-events >wanted
    $t trace-events | cmp - wanted
    mkdir -p hw/net
    cp other hw/net/trace-events
    strata gen --target qemu -f $format --backend log,simple -g hw_net trace-events hw/net/trace-events >wanted
    $t trace-events hw/net/trace-events | cmp - wanted
    cp other trace-events-all
    strata gen --target qemu -f $format --backend log,simple -g hw_net trace-events trace-events-all >wanted
    $t trace-events ./trace-events-all | cmp - wanted
    # Options may be apart from what they take, cut short, and end with "--".
    tracetool --form $format --back log,simple --group hw_net -- trace-events ./trace-events-all |
        cmp - wanted
done
# The generator accepts the old tool's spelling of --backend as well.
strata gen --target qemu -f h --backends=log,simple -g hw_net trace-events >by-backends
strata gen --target qemu -f h --backend=log,simple -g hw_net trace-events | cmp - by-backends
# No operands: standard input, and no group is asked for.
tracetool --format=h --backend=log <other >out-20
grep -q 'trace_another(int a)' out-20

# For SystemTap.
strata gen --target qemu -f stap --backend dtrace --binary /bin/q --probe-prefix qemu.system.x86_64 trace-events >wanted
tracetool --format=stap --backends=dtrace --group=all --binary=/bin/q --target-type=system \
    --target-name=x86_64 trace-events | cmp - wanted
tracetool --format=stap --backends=dtrace --group=all --binary=/bin/q \
    --probe-prefix=qemu.system.x86_64 trace-events | cmp - wanted

# What configure asks.
[ "$(tracetool --list-backends)" = 'nop, dtrace, ftrace, log, ring, simple, syslog, ust' ]
tracetool --backends=log,simple --check-backends >out 2>&1
[ ! -s out ]
status=0
tracetool --backends=log,lag --check-backends >out 2>&1 || status=$?
[ $status -eq 1 ] && [ ! -s out ]
tracetool --help | grep -q '^Usage: tracetool '
