#!/bin/sh
# The socket of strata record --flight: clients that say nothing, go away or are many, a recorder without descriptors, names
# that are taken by what was left, and directories with long and odd paths. $EMIT: tests/runtime/emit.c.
. "$(dirname "$0")/../lib/golden.sh"

XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
mkdir -m 700 run
pids=
at_exit='[ -z "$pids" ] || kill -KILL $pids 2>/dev/null || :'

# begin DIR: records a program, until end.
begin() {
    rm -f go
    "$strata" record -o "$1" --flight=60s -- "$EMIT" -q -w go 1000 1 >out 2>err &
    recorder=$!
    pids="$pids $recorder"
    directory=$1
    # shellcheck disable=SC2016 # for wait_for
    wait_for '[ -S "$directory/control.sock" ] && [ -e "$directory/program/stream-0" ]'
}
end() {
    : >go
    wait $recorder || fail "exit status $?: $(cat out err)"
    left=$(find "$1/snapshots" -name '.*')
    [ -z "$left" ] || fail "left: $left"
}

case=clients
begin clients
python3 - $recorder <<'END' || fail "clients"
import os, resource, signal, socket, sys, time

recorder = int(sys.argv[1])
signal.alarm(400)

def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect("clients/control.sock")
    s.settimeout(60)
    return s

def ask(line, s=None):
    s = s or connect()
    if line:
        s.sendall(line)
    answer = b""
    while part := s.recv(4096):
        answer += part
    return answer

# The recorder can have only N descriptors more.
limits = resource.prlimit(recorder, resource.RLIMIT_NOFILE)
def limit_descriptors(n):
    # Now and then it has one open for a moment.
    used = set(range(limits[0]))
    for _ in range(50):
        used &= {int(name) for name in os.listdir(f"/proc/{recorder}/fd")}
        time.sleep(0.02)
    free = [number for number in range(limits[0]) if number not in used]
    resource.prlimit(recorder, resource.RLIMIT_NOFILE, (free[n], limits[1]))

# The recorder's sockets, of which clients have all but one. (Of other descriptors it opens some when it has been idle.)
def sockets():
    def target(name):
        try:
            return os.readlink(f"/proc/{recorder}/fd/{name}")
        except FileNotFoundError:
            return ""
    return sum(target(name).startswith("socket:") for name in os.listdir(f"/proc/{recorder}/fd"))

# Clients that send no whole request give way to those that do.
before = sockets()
silent = []
for _ in range(20):
    silent.append(connect())
    silent[-1].send(b"flu")
for _ in range(20):
    assert ask(b"flush\n").startswith(b"ok "), "silent clients"
for s in silent:
    s.close()
# Many that go away, with half a request or before its answer; and some that do not read.
deaf = [connect() for _ in range(5)]
for s in deaf:
    s.sendall(b"flush\n")
for i in range(2000):
    s = connect()
    s.sendall(b"flush\n" if i % 2 else b"snap")
    s.close()
for i in range(10):
    s = connect()
    s.sendall(b"snapshot gone-%d\n" % i)
    s.close()
assert ask(b"snapshot after\n").endswith(b"/snapshots/after\n")
for line in b"\n", b"snapshot \n", b"snapshot ..\n", b"flush x\n", b"\xff\n", b"x" * 255:
    assert ask(line).startswith(b"error "), line
for s in deaf:
    s.close()

# A recorder without a descriptor for another client does not spin, and serves it when it has one.
while sockets() > before:
    time.sleep(0.01)
limit_descriptors(0)
s = connect()
s.sendall(b"flush\n")
# (By the CPU time that it takes: on a busy machine one that does not spin may wait for a CPU as well.)
def cpu_seconds():
    words = open(f"/proc/{recorder}/stat").read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
ran, began = cpu_seconds(), time.monotonic()
time.sleep(0.6)
ran, took = cpu_seconds() - ran, time.monotonic() - began
resource.prlimit(recorder, resource.RLIMIT_NOFILE, limits)
assert ran < took / 4, f"it takes {ran} s of CPU in {took} s"
assert ask(b"", s).startswith(b"ok ")

# Where no process can be started, nothing is left; nor does what a killed recorder has left keep a name.
os.mkdir("clients/snapshots/.left")
os.mkdir("clients/snapshots/.left/program")
os.symlink("/", "clients/snapshots/.link")
for name in b"left", b"link":
    answer = ask(b"snapshot %s\n" % name)
    assert answer.endswith(b"/snapshots/%s\n" % name), answer
limit_descriptors(2) # one for the client, one for the directory, none for its answer
answer = ask(b"snapshot none\n")
resource.prlimit(recorder, resource.RLIMIT_NOFILE, limits)
assert answer.startswith(b"error "), answer
assert not os.path.lexists("clients/snapshots/.none")
answer = ask(b"snapshot none\n")
assert answer.endswith(b"/snapshots/none\n"), answer
END
end clients

case="a long path"
long=$work
for _ in 1 2 3 4 5 6; do
    long=$long/$(printf 'x%.0s' $(seq 200))
    mkdir "$long"
done
begin "$long/trace"
[ "$("$strata" ctl "$long/trace" snapshot one)" = "$long/trace/snapshots/one" ] || fail "not the path"
end "$long/trace"

case="a directory that is renamed"
begin before
mv before after
directory=after
[ "$("$strata" ctl after snapshot one)" = "$work/after/snapshots/one" ] || fail "not the path"
end after
[ ! -e before ] && [ "$(jq '[.sources[].complete] | all' after/trace.json)" = true ] || fail "$(cat after/trace.json err)"
