#!/bin/sh
# How a user switches a program's events and says where they go: by its option, by STRATA_TRACE, by files
# of patterns; with messages for what is wrong. And the sinks syslog and ftrace, by a real socket and,
# where this may, the kernel's tracefs. $EMIT: tests/runtime/emit.c.
. "$(dirname "$0")/../lib/golden.sh"

instance=
listener=
cleanup() {
    [ -z "$listener" ] || kill "$listener" 2>/dev/null || :
    [ -z "$instance" ] || rmdir "$instance" 2>/dev/null || :
}
at_exit=cleanup

# expect WANT GOT: the same lines.
expect() {
    printf '%s\n' "$1" >want
    diff want "$2" >&2 || fail "$case: $2 is other than expected"
}

# names FILE: which events are in a log, each once.
names() {
    sed -n 's/^[0-9]*@[0-9.]*:\([a-z_]*\) .*/\1/p' "$1" | sort -u | tr '\n' ' ' | sed 's/ $//'
}

case=help
"$EMIT" -t help 1 1 >out
expect 'emit_words
emit_ints
emit_text
emit_small
emit_none
emit_mixed
emit_never' out
"$EMIT" -t enable=help 1 1 >out2
cmp out out2 || fail "$case: enable=help"

case=patterns
"$EMIT" -q -t 'emit_*s,log=a.log' -t '-emit_ints' -t 'enable=emit_?ixed' 60 1 2>errors
expect 'emit_mixed emit_words' /dev/stdin <<END
$(names a.log)
END
expect 'dropped 0 unwritten 0' errors

case=messages
"$EMIT" -q -t emit_nothing -t emit_never -t 'nothing*' -t 'emit_none,log=b.log' 60 1 2>errors
expect "emit: warning: trace event 'emit_nothing' does not exist
emit: warning: trace event 'emit_never' is not traceable
dropped 0 unwritten 0" errors
mkfifo fifo
for wrong in events=fifo events=/dev/zero 'emit_none,flog=x' 'ring=many' 'ring=1M,subbuffer=1M' mode=fast timestamps=maybe '*,logfile' events=/nonexistent \
    'logfile=/nonexistent/x' 'enable='; do
    timeout 120 "$EMIT" -q -t "$wrong" 1 1 2>errors && fail "$case: $wrong was taken"
    [ "$(wc -l <errors)" -eq 1 ] || fail "$case: $wrong: $(cat errors)"
done
"$EMIT" -q -t 'emit_none,flog=x' 1 1 2>errors || :
grep -q "unknown trace option 'flog'" errors || fail "$case: $(cat errors)"

case=events-file
cat >events <<'END'
# a comment

emit_*
-emit_small
emit_nothing
-emit_t*
END
printf '%s' '-emit_mixed' >>events # no newline at the end
"$EMIT" -q -t 'events=events,log=c.log' 60 1 2>errors
expect 'emit_ints emit_none emit_words' /dev/stdin <<END
$(names c.log)
END
expect "emit: events:5: warning: trace event 'emit_nothing' does not exist
dropped 0 unwritten 0" errors

case=environment
STRATA_TRACE='emit_*;-emit_words;emit_nothing,log=d,,1.log;emit_never;ring=64k' "$EMIT" -q 60 1 2>errors
expect 'emit_ints emit_mixed emit_none emit_small emit_text' /dev/stdin <<END
$(names d,1.log)
END
sort errors >sorted
expect "dropped 0 unwritten 0
emit: warning: trace event 'emit_never' is not traceable
emit: warning: trace event 'emit_nothing' does not exist" sorted

case=by-default
"$EMIT" -q -t emit_none 60 1 2>errors
set -- strata-*
[ $# -eq 1 ] && [ -s "$1/metadata" ] && [ -s "$1/stream-0" ] || fail "$case: $(ls)"
rm -rf "$1"
"$EMIT" -q 60 1 2>errors # no event on: no trace
[ ! -e strata-* ] || fail "$case: $(ls)"
for nothing in 'no*' -emit_words; do
    "$EMIT" -q -t "$nothing" 60 1 2>errors
    STRATA_TRACE=$nothing "$EMIT" -q 60 1 2>errors
    [ ! -e strata-* ] || fail "$case: $nothing: $(ls)"
done
"$EMIT" -q -t 'no*,ctf=named' 60 1 2>errors # what was named is there
[ -s named/metadata ] || fail "$case: $(ls)"
"$EMIT" -q -t 'emit_none,file=e' 60 1 2>errors
[ -s e/stream-0 ] || fail "$case: file= is no native trace"
"$EMIT" -q -t 'emit_none,ctf=e-%p' 60 1 2>errors
ls -d e-[0-9]* >/dev/null || fail "$case: %p: $(ls)"
rm -rf e e-*

case=timestamps
"$EMIT" -q -t 'emit_none,log=f.log,timestamps=off' 5 1 2>errors
expect 'emit_none 100% nothing' f.log

case=syslog
cat >listen.py <<'END'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("socket")
s.settimeout(100)
open("ready", "w").close()
for i in range(int(sys.argv[1])):
    print(s.recv(8192).decode(), flush=True)
END
python3 listen.py 6 >messages &
listener=$!
wait_for '[ -e ready ]'
"$EMIT" -t '*,syslog=socket' 6 1 >emitted 2>errors
wait $listener || fail "$case: not all messages arrive: $(cat messages)"
listener=
[ "$(grep -cE '^<30>[A-Z][a-z]{2} [ 0-9]{2} [0-9:]{8} emit\[[0-9]+\]: emit_[a-z]+ ' messages)" -eq 6 ] ||
    fail "$case: $(cat messages)"
sed 's/^[^]]*\]: //' messages >texts
python3 -c '
import json, sys
for line in open("emitted"):
    event = json.loads(line)
    print(event["event"], event["text"])' >said
cmp said texts || fail "$case: $(diff said texts)"
"$EMIT" -q -t '*,syslog=nowhere' 6 1 2>errors
grep -q 'unwritten 6$' errors || fail "$case: $(cat errors)"

case=ftrace
mkdir tracefs
: >tracefs/trace_marker
"$EMIT" -q -t '*,ftrace=tracefs' 6 1 2>errors
expect 'dropped 0 unwritten 0' errors
[ "$(grep -cE '^[0-9]+@[0-9]+\.[0-9]{6}:emit_' tracefs/trace_marker)" -eq 6 ] ||
    fail "$case: $(cat tracefs/trace_marker)"
instance=/sys/kernel/tracing/instances/strata-test-$$
if mkdir "$instance" 2>/dev/null; then
    "$EMIT" -q -t "*,ftrace=$instance" 600 1 2>errors
    expect 'dropped 0 unwritten 0' errors
    [ "$(grep -cE 'tracing_mark_write: [0-9]+@[0-9.]+:emit_' "$instance/trace")" -eq 600 ] ||
        fail "$case: $(tail -3 "$instance/trace")"
    # Switched off, the kernel takes nothing, and that is counted.
    echo 0 >"$instance/tracing_on"
    "$EMIT" -q -t "*,ftrace=$instance" 600 1 2>errors
    expect 'dropped 0 unwritten 600
emit: 600 events are lost, which the trace (ftrace) does not report' errors
else
    instance=
    echo "no instance of tracefs can be made here: the kernel's part of ftrace was not tried"
fi
