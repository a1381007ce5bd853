#!/bin/sh
# --jobs: what several threads write is what one writes, byte by byte, of every format, also where the input is damaged,
# the output ends early, or the input comes slowly.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

. "$here/../lib/jobs.sh"

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
