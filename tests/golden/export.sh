#!/bin/sh
# strata export: what all formats have in common, and CSV. Each other format has a test of its own.
. "$(dirname "$0")/../lib/golden.sh"

# says STATUS TEXT COMMAND...: it exits with STATUS, says TEXT and leaves no file.
says() {
    want=$1 text=$2
    shift 2
    status=0
    ls -A >before
    "$@" >out 2>err || status=$?
    [ $status -eq "$want" ] || fail "$*: exit $status: $(cat err)"
    grep -qF -- "$text" err || fail "$*: does not say '$text' but: $(cat err)"
    ls -A | grep -vxF -f before >new || :
    [ ! -s new ] || fail "$*: leaves $(cat new)"
}
touch before new out err

xz -dc "$DATA/qemu/trace.simpletrace.xz" >boot.trace
tar -xf "$DATA/ctf/lttng-ust.tar.xz"

# ---- csv: what the report shows ----
"$strata" report -f csv boot.trace >report.csv
"$strata" export --to csv boot.trace >out
cmp report.csv out || fail "csv differs from the report's"
"$strata" export --to csv -o file.csv boot.trace
cmp report.csv file.csv || fail "csv in a file differs"
[ "$(stat -c %a file.csv)" = "$(printf '%o' $((0666 & ~$(umask))))" ] || fail "rights: $(stat -c %a file.csv)"
"$strata" export --to csv - <boot.trace | cmp report.csv - || fail "csv of standard input differs"
"$strata" export --to=csv --output=/dev/stdout boot.trace | cmp report.csv - || fail "a device differs"

# Selection.
"$strata" report -f csv -e 'bdrv_*' --from +0.5 -n 20 boot.trace >report.csv
"$strata" export --to csv -e 'bdrv_*' --from +0.5 -n 20 boot.trace | cmp report.csv - || fail "selection"
"$strata" report -f csv --until 5572.2 boot.trace >report.csv
"$strata" export --to csv --until 5572.2 boot.trace | cmp report.csv - || fail "--until"
[ "$(wc -l <report.csv)" -gt 1 ]
"$strata" export --to csv -e nosuchevent boot.trace >out 2>err
grep -q "no event in the trace matches 'nosuchevent'" err || fail "$(cat err)"

# Losses are reported, and count for --strict.
says 3 '1381 events were lost' "$strata" export --to csv --strict lttng-ust

# ---- what is read is not overwritten, under whatever name ----
cp boot.trace itself
ln itself other-name
says 1 'itself: is an input as well' "$strata" export --to csv -o itself itself
says 1 'other-name: is an input as well' "$strata" export --to csv -o other-name boot.trace itself
"$strata" export --to ctf -n 5 -o own.ctf boot.trace
says 1 'own.ctf: is an input as well' "$strata" export --to ctf -o own.ctf own.ctf
says 1 'itself: is an input as well' "$strata" summary --html=itself itself
cmp boot.trace itself || fail "its own trace was overwritten"

# ---- damage: what was readable is exported ----
head -c 100000 boot.trace >cut.trace
"$strata" report -f csv cut.trace >report.csv 2>err && fail "the cut trace is not noticed"
status=0
"$strata" export --to csv -o cut.csv cut.trace 2>err || status=$?
[ $status -eq 1 ] || fail "cut: exit $status"
grep -q '^strata: cut.trace: ' err || fail "$(cat err)"
cmp report.csv cut.csv || fail "a cut trace"

# ---- a signal ends the reading, and what was read is exported ----
mkfifo fifo
"$strata" export --to csv -o signal.csv - <fifo 2>err &
child=$!
exec 9>fifo
head -c 1000000 boot.trace >&9
# Its temporary file says that it has begun to read.
wait_for '[ -n "$(find . -name "signal.csv.*" -size +0)" ] || ! kill -0 $child'
kill -TERM $child
tail -c +1000001 boot.trace >&9 || :
exec 9>&-
status=0
wait $child || status=$?
[ $status -eq 1 ] || fail "a signal: exit $status"
grep -q 'stopped by a signal' err || fail "a signal: $(cat err)"
"$strata" report -f csv boot.trace >report.csv
head -c "$(stat -c %s signal.csv)" report.csv | cmp - signal.csv || fail "what a signal leaves is no beginning"
[ -z "$(find . -name 'signal.csv.*')" ] || fail "a signal leaves $(ls)"

# ---- a second signal ends it, and nothing is left, of a file or of a directory ----
for format in csv ctf trace.dat; do
    # In the background of sh SIGINT is ignored.
    env --default-signal=INT "$strata" export --to $format -o second - <fifo 2>err &
    child=$!
    exec 9>fifo
    head -c 1000000 boot.trace >&9
    wait_for '[ -n "$(find . -name "second.*")" ] || ! kill -0 $child'
    # Both wait for it to go on, so that it does nothing between them.
    kill -STOP $child
    kill -TERM $child
    kill -INT $child
    kill -CONT $child
    status=0
    wait $child || status=$?
    exec 9>&-
    [ $status -gt 128 ] || fail "two signals, $format: exit $status: $(cat err)"
    [ -z "$(find . -name 'second*')" ] || fail "two signals, $format: $(find . -name 'second*')"
done

# ---- memory does not grow with the trace; a sanitised program needs more ----
if [ -n "${LIBSTRATA:-}" ]; then
    python3 - <<'END'
import struct
with open("long.trace", "wb") as f:
    f.write(struct.pack("=QQQQQI", 2**64 - 1, 0xF2B177CB0AA429B4, 4, 0, 0, 4) + b"long")
    for n in range(0, 3000000, 10000):
        f.write(b"".join(struct.pack("=QQQIIQ", 1, 0, 10**9 + i, 32, 7, i) for i in range(n, n + 10000)))
END
    echo 'long(uint64_t n) "%" PRIu64' >long.events
    # 120 MB of events in 64 MB of address space.
    for format in csv ctf perfetto simpletrace sqlite trace.dat trace-events; do
        (ulimit -v 65536 && exec "$strata" export --to $format -o long.$format --trace-events long.events long.trace) ||
            fail "$format needs more memory for a long trace"
        rm -r long.$format
    done
    rm long.trace
fi

# ---- times before 0 of the clock, and as far from it as 64 bits hold ----
# -OFFSET and the first event's 5572.089026368 s are added by the shell, whose numbers have 64 bits as well.
"$strata" export --to ctf -n 50 -o times boot.trace
for offset in -5573 -6000 -9223371000; do
    rm -rf shifted
    cp -r times shifted
    sed -i "s/offset_s = 0;/offset_s = $offset;/" shifted/metadata
    first_ns=$((offset * 1000000000 + 5572089026368))
    first=-$((-first_ns / 1000000000)).$(printf %09d $((-first_ns % 1000000000)))
    "$strata" report shifted >shown
    [ "$(wc -l <shown)" -eq 50 ] && [ "$(sed -n '1s/ .*//p' shown)" = "$first" ] ||
        fail "times from $offset s on: $(head -n 2 shown)"
    "$strata" export --to ctf -o again shifted
    "$strata" report again | cmp - shown || fail "ctf: times from $offset s on"
    rm -rf again
    "$strata" export --to sqlite -o again shifted
    [ "$(sqlite3 again 'SELECT min(time_ns) FROM events')" = $first_ns ] ||
        fail "sqlite: times from $offset s on: $(sqlite3 again 'SELECT min(time_ns) FROM events')"
    rm again
    # These times are unsigned in trace.dat: they come back less 2^64 ns, and as far from one another.
    "$strata" export --to trace.dat -o again shifted
    for trace in again shifted; do
        "$strata" report -f csv $trace | cut -d, -f1 | tail -n +2 |
            python3 -c 'import sys; from decimal import Decimal
times = [Decimal(t) for t in sys.stdin]; print(len(times), *[t - times[0] for t in times])' >distances.$trace
    done
    cmp distances.again distances.shifted ||
        fail "trace.dat: times from $offset s on"
    rm again
done

# ---- errors ----
# A full disk; the other formats' tests have it, too.
mkdir small
(
    ulimit -f 100
    exec env --default-signal=XFSZ "$strata" export --to csv -o small/export.csv boot.trace 2>err
) && fail "a file larger than is allowed"
grep -q '^strata: small/export.csv: .*File too large' err || fail "no room: $(cat err)"
[ -z "$(ls -A small)" ] || fail "no room: leaves $(ls -A small)"
says 2 '--to=FORMAT is required' "$strata" export boot.trace
says 2 'no trace file given' "$strata" export --to csv
says 2 'is not an export format (formats: ' "$strata" export --to word boot.trace
says 1 'no/such/folder.csv: cannot create the file: No such file' "$strata" export --to csv -o no/such/folder.csv boot.trace
says 1 'is a directory' "$strata" export --to csv -o / boot.trace
[ ! -w /dev/full ] || says 1 'No space left' "$strata" export --to csv -o /dev/full boot.trace
says 1 'nosuch' "$strata" export --to csv -o new.csv nosuch
