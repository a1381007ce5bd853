#!/bin/sh
# A program that closes all descriptors and opens files of its own: no byte of the trace gets into them,
# whatever the sink and the backend, and what has a path is opened again, so that nothing is missing.
# $DAEMON: tests/runtime/daemon.c.
. "$(dirname "$0")/../lib/golden.sh"

cleanup() {
    [ -z "${listener:-}" ] || kill "$listener" 2>/dev/null || :
}
at_exit=cleanup
# The program closes descriptors while the thread of its control socket would be opening some.
STRATA_CONTROL=off
export STRATA_CONTROL

# Only data is in the data files.
check_data() {
    n=0
    for file in data/data-*; do
        printf 'data %s\n' "${file#data/data-}" | cmp - "$file" >&2 || fail "$file: $(head -c 300 "$file")"
        n=$((n + 1))
    done
    [ $n -ge 16 ] || fail "only $n data files"
}

# run OPTION...: the program in a fresh directory for its data. Its standard error is a file.
run() {
    rm -rf data errors
    mkdir data
    "$DAEMON" "$@" data 100 2>errors || fail "ended with $?: $(cat errors)"
    check_data
}

numbers() { # of events in text, each once
    sed -n "s/.*$1 id \([0-9]*\)\$/\1/p" "$2" | sort -n | uniq | wc -l
}

# Messages of connections, each ended by a NUL, until so many have come.
cat >listen.py <<'END2'
import select, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
s.bind("socket")
s.listen(10)
open("ready", "w").close()
n, rest, sockets = int(sys.argv[1]), {}, [s]
while n > 0:
    for ready in select.select(sockets, [], [], 300)[0] or sys.exit(1):
        if ready is s:
            sockets.append(s.accept()[0])
            continue
        data = ready.recv(65536)
        if not data:
            sockets.remove(ready)
        *lines, rest[ready] = (rest.get(ready, b"") + data).split(b"\0")
        for line in lines:
            print(line.decode())
            n -= 1
END2

mkdir tracefs
: >tracefs/trace_marker
case=ctf
run -t '*,ctf=c'
"$STRATA_BIN/strata" report c >report || fail "report"
[ "$(numbers number: report)" -eq 200 ] || fail "$(wc -l <report) events"

case=simple
run -t '*,simple=s'
echo 'number(uint64_t id) "id %" PRIu64' >trace-events
"$STRATA_BIN/strata" report --trace-events trace-events s >report || fail "report"
[ "$(numbers number: report)" -eq 200 ] || fail "$(wc -l <report) events"

case='log to a file'
run -t '*,log=l'
[ "$(numbers number l)" -eq 200 ] || fail "$(wc -l <l) lines"
rm l

# Nobody can open it again: half is lost, and nothing is in the data.
case='log to standard error'
rm -rf data
mkdir data
"$DAEMON" -t '*,log' data 100 2>errors && fail "no loss was reported"
check_data
[ "$(numbers number errors)" -eq 100 ] || fail "$(wc -l <errors) lines"

case='backend log'
run -b log
[ "$(numbers number_log errors)" -eq 100 ] || fail "$(wc -l <errors) lines"
run -b log -t logfile=f
[ "$(numbers number_log f)" -eq 200 ] || fail "$(wc -l <f) lines"
rm f

case=ftrace
: >tracefs/trace_marker
run -t '*,ftrace=tracefs' -b ftrace
[ "$(numbers number_ftrace tracefs/trace_marker)" -eq 200 ] ||
    fail "$(cat tracefs/trace_marker | wc -l) lines of the backend"
[ "$(numbers number tracefs/trace_marker)" -eq 200 ] ||
    fail "$(cat tracefs/trace_marker | wc -l) lines of the sink"

case=syslog
rm -f socket ready
python3 listen.py 400 >messages &
listener=$!
wait_for '[ -e ready ]'
run -t '*,syslog=socket' -b syslog
wait $listener || fail "not all messages arrive: $(wc -l <messages)"
listener=
[ "$(numbers number_syslog messages)" -eq 200 ] || fail "$(wc -l <messages) messages"

case=all
rm -f socket ready
python3 listen.py 400 >messages &
listener=$!
wait_for '[ -e ready ]'
run -t '*,ctf=c,simple=s,log=l,ftrace=tracefs,syslog=socket' -b log -b ftrace -b syslog
wait $listener || fail "not all messages arrive: $(wc -l <messages)"
listener=
rm l
