#!/bin/sh
# strata export --to parquet: what a reader of its own finds in the files, and the same bytes again.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/kernel_capture.sh"

xz -dc "$DATA/qemu/trace.simpletrace.xz" >boot.trace
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >xen.raw
tar -xf "$DATA/ctf/lttng-ust.tar.xz"
tar -xf "$DATA/io/virtio-blk.tar.xz"
python3 "$here/export_parquet.py" "$strata" "$PWD" boot.trace xen.raw lttng-ust vm >out 2>err ||
    fail "the files differ from the report: $(cat out err)"

"$strata" export --to parquet -o none boot.trace 2>err && fail "exported without a host"
grep -q 'give --host-name=NAME' err || fail "the message is: $(cat err)"
[ ! -e none ] || fail "left a directory"
echo kept >parquet0/file
"$strata" export --to parquet --host-name a -o parquet0 boot.trace 2>err && fail "replaced a directory"
[ "$(cat parquet0/file)" = kept ] || fail "replaced a directory"

# A pipe can be read once only: what is read later does not identify the trace.
for input in /dev/stdin -; do
    cat boot.trace |
        "$strata" export --to parquet --host-name a -o piped "$input" 2>err || fail "from a pipe: $(cat err)"
    grep -rqa 'strata.losses' piped || fail "no metadata"
    grep -rqa 'strata.trace' piped && fail "the trace of a pipe is identified"
    rm -r piped
done

# Times of a clock whose rate is unknown cannot stand beside those of other hosts.
"$strata" export --to parquet --host-name a -o ticks xen.raw 2>err && fail "exported ticks as nanoseconds"
grep -q 'xen.raw: times are ticks .*; give --cpu-hz=HZ$' err || fail "the message is: $(cat err)"
[ ! -e ticks ] || fail "left a directory"
# A rate that the user states is that of a time stamp counter.
kernel_capture local counts
sed -i 's/\[local\]/local/; s/counter/[counter]/' counts/guest/trace_clock
"$strata" export --to parquet --host-name a --cpu-hz 1G -o ticks counts 2>err && fail "exported ticks as nanoseconds"
grep -q 'counts: times are ticks .*; --to sqlite, csv and ctf keep ticks$' err || fail "the message is: $(cat err)"

# A killed export leaves nothing that the patterns of data/questions/duckdb/tables.sql find.
mkdir fleet
mkfifo fleet.in
"$strata" export --to parquet --host-name a -o fleet/boot - <fleet.in 2>err &
export=$!
at_exit='kill -9 $export 2>/dev/null'
exec 3>fleet.in
cat boot.trace >&3
wait_for '[ -n "$(find fleet -path "*/event/*" -name "event=*")" ]'
[ ! -e fleet/boot ] || fail "the directory is there before it is complete"
kill -9 $export
wait $export 2>/dev/null || :
exec 3>&-
at_exit=
[ "$(ls fleet | wc -l)" -eq 1 ] || fail "a killed export left: $(ls fleet)"
for table in event span state loss source clock; do
    [ ! -e "$(echo fleet/*/$table)" ] || fail "a killed export left $(echo fleet/*/$table)"
done
"$strata" export --to parquet --host-name a -o fleet/boot boot.trace 2>err || fail "after a killed export: $(cat err)"
[ "$(echo fleet/*/event)" = fleet/boot/event ] || fail "found $(echo fleet/*/event)"
[ "$(ls fleet | wc -l)" -eq 2 ] || fail "an export left: $(ls fleet)"
