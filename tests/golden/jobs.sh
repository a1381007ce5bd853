#!/bin/sh
# --jobs: what several threads write is what one writes, byte by byte, of every format, also where the input is damaged,
# the output ends early, or the input comes slowly. Each capture has more events than are printed before threads begin.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

STRATA_EVENTS=/usr/share/qemu/trace-events-all
[ -r "$STRATA_EVENTS" ] || { echo "SKIPPED: qemu-system-common is not installed, whose declarations this reads"; exit 77; }
export STRATA_EVENTS

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

n=0
for capture in boot log xen xen-all guest exported trace lttng* damaged/*; do
    for words in "report" "report -f json" "report -f csv" "report -f csv --spreadsheet" "export --to csv" \
        "report --limit 12345" "report -k" "report -k -f json" "report --cpu 1 -f csv"; do
        # shellcheck disable=SC2086 # words
        same $words "$capture"
        n=$((n + 1))
    done
    "$strata" report -j1 "$capture" >one 2>one.err || :
    [ "$(wc -l <one)" -lt 10000 ] || threaded="${threaded-} $capture"
done
[ $n -ge 90 ]
for capture in xen guest; do
    case " $threaded " in *" $capture "*) ;; *) fail "$capture has too few events for threads" ;; esac
done
same report boot xen --cpu-hz 1G
LC_ALL=C same report exported
same report boot -e 'nothing_*'
same report boot --last 30000
same report damaged/cut
grep -q "the file ends within a record" one.err
[ "$(wc -l <one)" -gt 8192 ]
# Lines of more than a megabyte in a block are written in pieces.
sed '/^serial_/s/%02x/%800x/g' "$STRATA_EVENTS" >wide
same report boot --limit 20000 --trace-events wide
[ "$(wc -c <one)" -gt 30000000 ]
for words in 0 x 1x ""; do
    if "$strata" report -j "$words" boot >/dev/null 2>err; then fail "-j '$words'"; fi
    grep -q "is not a number of threads" err
done

# A reader that closes the pipe, and a disk that is full.
for words in "report" "report -f json"; do
    # shellcheck disable=SC2086 # words
    { "$strata" $words -j3 boot 2>err || echo $? >status; } | head -n 20000 >many
    "$strata" report boot -j1 | head -n 20000 >one
    [ "$words" != report ] || cmp one many
    [ ! -s err ] || fail "$words: $(cat err)"
    [ "$(cat status)" -eq 141 ] || fail "$words: status $(cat status)"
done
if [ -w /dev/full ]; then
    status=0
    "$strata" report -j3 boot >/dev/full 2>err || status=$?
    [ "$status" -eq 1 ]
    echo "strata: cannot write to standard output: No space left on device" | cmp err -
fi

# A pipe whose writer waits: all that can be shown is shown meanwhile.
mkfifo fifo
(cat boot && while [ ! -e seen ]; do sleep 0.02; done) >fifo &
"$strata" report -j3 - <fifo >live &
wait_for "[ \"\$(wc -l <live)\" -eq $("$strata" report -j1 boot | wc -l) ]"
: >seen
wait
"$strata" report -j1 boot | cmp live -
