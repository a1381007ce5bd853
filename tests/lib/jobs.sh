# Sourced, after golden.sh: traces for tests of --jobs, most with more events than are read before threads begin, some
# damaged; and what compares several threads with one.
# shellcheck shell=sh
. "$here/../lib/qemu_events.sh"

xz -dc "$DATA/qemu/trace.simpletrace.xz" >boot
xz -dc "$DATA/qemu/stock-qemu.log.xz" >log
xz -dc "$DATA/xen/xen-4.17-no-guest-class.raw.xz" >xen
xz -dc "$DATA/xen/xen-4.22-all.raw.xz" >xen-all
. "$here/../lib/kernel_capture.sh"
kernel_capture local guest
tar -xJf "$DATA/ctf/lttng-ust.tar.xz"
"$strata" export --to ctf -o exported guest 2>err
(. "$here/../lib/three_layers.sh" && manifest "" "" "" b1 2>err || :)
mkdir damaged
head -c 1000002 boot >damaged/cut
{ head -c 700000 boot; head -c 5000 /dev/zero | tr '\0' x; tail -c +700001 boot; } >damaged/boot
{ head -c 300000 xen; head -c 5000 /dev/zero | tr '\0' x; tail -c +300001 xen; } >damaged/xen

# same WORDS...: strata's output, messages and status are those of one thread. Leaves them in one, one.err.
same() {
    one=0
    "$strata" "$@" -j1 >one 2>one.err || one=$?
    many=0
    "$strata" "$@" -j3 >many 2>many.err || many=$?
    [ $many -eq $one ] || fail "$*: status $many, not $one"
    cmp one many || fail "$*: other output"
    cmp one.err many.err || fail "$*: other messages"
}
