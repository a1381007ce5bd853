#!/bin/sh
# Backend syslog: messages arrive at a real datagram socket - at /dev/log where the test can have a
# /dev of its own (root, in a mount namespace), and at one that an option names.
#
#   syslog-socket.sh [--inside]    --inside: /dev is ours
. "${0%/*}/../lib/mount_namespace.sh"
if [ "${1:-}" != --inside ] && has_mount_namespace "${TMPDIR:-/tmp}" /dev; then
    in_mount_namespace sh -c '
        dev=$(mktemp -d) && mount -t tmpfs tmpfs "$dev" || exit 1
        for node in null zero urandom; do
            : >"$dev/$node" && mount --bind "/dev/$node" "$dev/$node" || exit 1
        done
        mount --bind "$dev" /dev && rm -f /dev/log && exec "$0" --inside' "$0"
    exit
fi
. "${0%/*}/common.sh"
. "$here/../lib/wait_for.sh"
need python3 python3

generate syslog
compile cc "$dir/program" -O2 "$here/probes.c" "$dir/trace-probes.c"

cat >"$dir/listen.py" <<'E2'
"""Prints the datagrams that arrive at the socket argv[1] until one has the word argv[2] in it."""
import socket, sys

with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
    listener.settimeout(100)
    listener.bind(sys.argv[1])
    print("ready", flush=True)
    data = b""
    while sys.argv[2].encode() not in data:
        data = listener.recv(65536)
        print(data.decode().rstrip("\n\0"), flush=True)
E2

# run PATH OPTIONS WORD: what arrives at PATH, up to the message with WORD in it, into found.
run() {
    rm -f "$dir/messages" # the file shows that the listener is ready
    python3 "$dir/listen.py" "$1" "$3" >"$dir/messages" &
    listener=$!
    wait_for '[ -s "$dir/messages" ]'
    STRATA_TRACE=$2 "$dir/program" >"$dir/stdout" 2>"$dir/stderr" || fail "the program fails"
    [ ! -s "$dir/stderr" ] || { cat "$dir/stderr" >&2 && fail "it complains"; }
    wait $listener || fail "not all messages arrive: $(cat "$dir/messages")"
    sed 1d "$dir/messages" >"$dir/found"
}
# Facility daemon, level info; a time; the program and the process's number.
head='^<30>[A-Z][a-z][a-z] [ 0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9] program\[[0-9]*\]: '
same() {
    ! grep -v "$head" "$dir/found" >&2 || fail "$1: not as syslog(3) begins a message"
    sed "s/$head//"'
        s/^\(types .* c\) 0x[0-9a-f]* 0x[0-9a-f]* /\1 0xADDR 0xADDR /
        s/\(address=\)0x[0-9a-f]*/\10xADDR/' "$dir/found" >"$dir/texts"
    diff -u "$dir/expected" "$dir/texts" >&2 || fail "$1: other messages"
}

cat >"$dir/expected" <<'E2'
nothing nothing at all
numbers -8 208 -1600 65000 -320000 0xdeadbeef -64000000000 18364758544493064720 1 4096
ten 1 -2 3 -4 5 -6 7 -8 9 -10
texts name=a name other=other    where=0x1234 address=0xADDR 100%
texts name=(null) other=(null)   where=(nil) address=(nil) 100%
words next=1 string=0x22 self=self probe=4 class=5 printf=6 next_=7
types 18446744073709551615 c 0xADDR 0xADDR -1 4000000000 -5
stars [ right] [cut] "quoted" \ %
linux 7
last__one mask=0xffffffff00000000 negative=4294967295
E2
run "$dir/socket" "syslog=$dir/socket;enable=*" last__one
same "a socket of its own"
if [ "${1:-}" = --inside ]; then
    run /dev/log 'enable=*' last__one
    same "/dev/log"
else
    echo "syslog-socket: /dev/log is not ours: only a socket that an option names was tried"
fi
echo "the messages arrive"
