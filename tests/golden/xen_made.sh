#!/bin/sh
# Small traces of Xen that are made: losses on many CPUs, exits of a machine whose vendor the trace does not state.
. "$(dirname "$0")/../lib/golden.sh"

python3 "$here/made_xen.py" made

case="losses on many CPUs"
"$strata" report made/many-cpus.raw >out 2>err
echo 'strata: 32896 events were lost (CPU 255: 256, CPU 254: 255, CPU 253: 254, CPU 252: 253, and 252 more CPUs) in 256 places' |
    diff - err || fail "report"
for verb in info stat sched; do
    "$strata" $verb made/many-cpus.raw >out 2>&1
    grep -q '32896 events were lost (CPU 255: 256, .*, and 252 more CPUs)' out || fail "$verb"
done
[ "$("$strata" info -f json made/many-cpus.raw | jq -c .lost)" = '{"events":32896,"uncounted":0,"places":256,"skipped_bytes":0}' ] ||
    fail "json"

# exits FILE OPTION...: the reasons of FILE as they are shown.
exits() {
    "$strata" report -f json -e vmexit "$@" 2>/dev/null | jq -r '.names.reason // .fields.reason' | paste -sd' '
}

case="vendor"
[ "$(exits made/intel.raw)" = "$(exits --cpu-vendor intel made/intel.raw)" ] || fail "of Intel: $(exits made/intel.raw)"
[ "$(exits made/amd.raw)" = "$(exits --cpu-vendor amd made/amd.raw)" ] || fail "of AMD: $(exits made/amd.raw)"
case " $(exits made/intel.raw) " in *" ept_violation hlt ept_violation "*) ;; *) fail "reasons: $(exits made/intel.raw)" ;; esac
[ "$(exits made/neither.raw)" = "0 48 50" ] || fail "neither: $(exits made/neither.raw)"
[ "$(exits made/both.raw)" = "12 123" ] || fail "both: $(exits made/both.raw)"
"$strata" info made/intel.raw | grep -q '^  cpu vendor  *intel, by the reasons of VM exits$' || fail "info"
"$strata" info made/both.raw | grep 'cpu vendor' && fail "info of a contradiction"
# What the user says holds.
[ "$(exits --cpu-vendor amd made/neither.raw)" != "0 48 50" ] || fail "--cpu-vendor"
"$strata" info --cpu-vendor amd made/intel.raw | grep 'by the reasons' && fail "info with --cpu-vendor"

# The exit at 2000 may have ended on CPU 0, which is recorded up to there, and the one at 9300 on CPU 0 while the vCPU was away.
case="the records of a CPU end early"
"$strata" exits --events -f json made/ends.raw 2>/dev/null | grep begin_ticks >out
[ "$(sed 's/,$//' out | jq -c '[.begin_ticks,.end_ticks]' | paste -sd' ')" = "[1000,1100] [9100,9200]" ] || fail "exits: $(cat out)"
"$strata" exits -f json made/ends.raw | jq -e '.unpaired.lost == 3 and .covered_ticks == 9600 - (100 + 8000) / 2' >/dev/null ||
    fail "what is not counted"
"$strata" export --to ctf -o ends.ctf made/ends.raw 2>/dev/null || fail "export"
"$strata" exits -f json ends.ctf 2>/dev/null | jq -e '.unpaired.lost == 3 and .rows[0].n == 2' >/dev/null || fail "CTF"
exit 0
