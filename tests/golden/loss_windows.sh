#!/bin/sh
# What is read of a trace lies within a loss of one of its CPUs, which begins before and ends after: every verb says that events are
# missing, in every format. So it does where a CPU's data have ended before.
. "$(dirname "$0")/../lib/golden.sh"

xz -dc "$DATA/perf/lost.data.xz" >lost.data
tar -xJf "$DATA/kvm/exits.tar.xz"
mv trace kvm
python3 - kvm/host/cpu0.raw kvm/host/cpu1.raw <<'END_OF_SCRIPT'
import struct
import sys

# Of nine pages three are lost, as the page after them says.
for path in sys.argv[1:]:
    pages = open(path, "rb").read()
    kept = b""
    for number in range(len(pages) // 4096):
        page = bytearray(pages[number * 4096:(number + 1) * 4096])
        if number % 9 == 7:
            struct.pack_into("<Q", page, 8, struct.unpack_from("<Q", page, 8)[0] | 1 << 31)
        if number % 9 not in (4, 5, 6):
            kept += page
    open(path, "wb").write(kept)
END_OF_SCRIPT
for format in trace.dat ctf; do
    "$strata" export --keep-going --to $format -o kvm.$format kvm 2>told || fail "$(cat told)"
done

python3 "$here/loss_windows.py" "$strata" lost.data kvm kvm.trace.dat kvm.ctf || fail "a loss that is around what is read"

case="a CPU whose data have ended"
"$strata" export --to trace.dat -o whole.dat kvm 2>told || fail "$(cat told)"
head -c $(($(wc -c <whole.dat) * 50 / 100)) whole.dat >cut.dat
last=$("$strata" report -f json -k cut.dat 2>/dev/null | jq -s '[.[] | select(.event)] | group_by(.cpu) | map(max_by(.time_ns).time_ns) | min')
end=$("$strata" report -f json -k cut.dat 2>/dev/null | jq -s 'map(.time_ns) | max')
[ "$last" -lt "$end" ] || fail "no CPU ends before: $last $end"
from=$((last + (end - last) / 2))
for until in "" "--until=$((end / 1000000000)).$(printf %09d $((end % 1000000000)))"; do
    # shellcheck disable=SC2086 # a word or none
    "$strata" sched --by cpu -f json -k --from "$((from / 1000000000)).$(printf %09d $((from % 1000000000)))" $until cut.dat >part 2>told || :
    jq -e '.lost.places > 0 and .covered_ns < .duration_ns * 0.51' part >/dev/null || fail "$until $(jq -c '{lost, covered_ns, duration_ns}' part)"
done

case="a CPU without data is told once"
cp -r kvm absent
rm absent/host/cpu0.raw
"$strata" report -f json -k --from +1 --until +1.5 absent >lines 2>told || fail "$(cat told)"
jq -se 'map(select(has("lost") and .cpu == 0)) | length == 1' lines >out || fail "$(grep '"lost"' lines)"

case="windows of top: what is known in several is no more than in one"
# shares PERIOD: of the vCPU, RUNS GUEST HYPERV VMM WAIT BLOCKED UNKNOWN.
shares() {
    "$strata" top --batch --iterations 1 -d "$1" kvm 2>told | awk '/^VCPUS/ { getline; print $(NF - 7), $(NF - 6), $(NF - 5), $(NF - 4), $(NF - 3), $(NF - 1), $NF }'
}
whole=$(shares 3)
[ -n "$whole" ] || fail "$(cat told)"
for period in 1 0.5 0.3 0.2 0.1; do
    parts=$(shares $period)
    echo "$whole $parts" | awk '{ for (i = 1; i < 7; i++) if ($(i + 7) > $i + 0.3) exit 1; exit NF != 14 || $14 < $7 - 0.3 }' ||
        fail "$period: $parts; in one window: $whole"
done
