#!/bin/sh
# The metrics of analyses: of a trace that is read in windows, each of which opens it again, they are what strata exits, sched,
# io and irq print for all of it. $1: tests/watch/families.c.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

families=$1
. "$here/../lib/analysis_captures.sh"

# Losses that are longer than a window.
cp -r kvm lossy
. "$here/../lib/lose_pages.sh"
lose_pages lossy/host/cpu0.raw 0.2 0.5
lose_pages lossy/host/cpu1.raw 0.6 0.8

# Xen's, as it is recorded: with the rate of its clock, and the names of domains.
mkdir -p xen/xen
cp xen-4.17-all xen/xen/trace.raw
cat >xen/trace.json <<'END'
{"format": "strata-trace", "version": 1, "sources": [
 {"name": "xen", "kind": "xentrace", "layer": "hypervisor", "path": "xen/trace.raw",
  "clock": {"name": "tsc", "hz": 2400000000}, "host": {"boot_id": "b", "name": "build7"},
  "xen": {"version": "4.17.7", "cpu_vendor": "amd", "domains": [{"id": 0, "name": "Domain-0"}, {"id": 1, "name": "web"}]},
  "complete": true}]}
END

python3 "$here/watch_families.py" "$strata" "$families" >out 2>&1 || fail "$(cat out)"
