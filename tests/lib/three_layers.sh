# Sourced, from the directory $here: makes the directory `trace`, as a recorder of a VMM's log, a guest's kernel and the host's leaves it.
# shellcheck shell=sh
mkdir -p trace/vmm
. "$here/../lib/kernel_capture.sh"
kernel_capture local trace/guest-guest
kernel_capture tsc trace/host

# The guest's clock was 0 at 995.4 s, the host's counter runs at 2.7 GHz, the VMM has the time of day.
cat >trace/guest-guest/clock-pairs <<'END'
# host ns, ticks, error ns
1000000000000 4600000000 40000
1000050000000 4650000000 62000
1000100000000 4700000000 40000
END
cat >trace/host/clock-pairs <<'END'
999990000000 22000000000 500
1000112222222 22330000000 500
END
cat >trace/vmm/clock-pairs <<'END'
999000000000 1699999999000000000 1200
1000200000000 1700000000200000000 1200
END
echo 'disk_read(uint64_t sector, int n) "sector %"PRIu64" n %d"' >trace/vmm/trace-events
cat >trace/vmm/trace.log <<'END'
4713@1700000000.020000:disk_read sector 7 n 8
4714@1700000000.040001:disk_read sector 8 n 8
4715@1700000000.050000:disk_read sector 9 n 8
4711@1700000000.070000:disk_read sector 10 n 8
END
manifest() { # QEMU'S CLOCK, GUEST'S CLOCK, HOST'S CLOCK, BOOT ID OF THE LAST
    cat >trace/trace.json <<END
{"format": "strata-trace", "version": 1, "sources": [
 {"name": "qemu", "kind": "qemu-log", "layer": "vmm", "path": "vmm/trace.log", "events": ["vmm/trace-events"],
  "clock": {"name": "realtime", "hz": 1000000000$1}, "host": {"boot_id": "b1", "name": "build7"},
  "vmm": {"pid": 4711, "program": "qemu",
          "threads": [{"id": 4711, "name": "qemu"}, {"id": 4713, "name": "CPU 0/TCG", "vcpu": 0},
                      {"id": 4714, "name": "CPU 1/TCG", "vcpu": 1},
                      {"id": 4715, "vcpu": 1}, {"id": 4715, "vcpu": 2}, {"id": 150, "vcpu": 1}]},
  "complete": true},
 {"name": "guest", "kind": "ftrace", "layer": "guest", "path": "guest-guest",
  "clock": {"name": "local", "hz": 1000000000$2}, "host": {"boot_id": "b1"},
  "guest": {"boot_id": "g1"}, "complete": true},
 {"name": "host", "kind": "ftrace", "layer": "host", "path": "host",
  "clock": {"name": "x86-tsc"$3}, "host": {"boot_id": "$4"}, "complete": true}]}
END
}
all() {
    manifest ', "pairs": "vmm/clock-pairs"' ', "pairs": "guest-guest/clock-pairs"' ', "pairs": "host/clock-pairs"' b1
}
all
# The kernels' recorders state their files: all are there, so that no CPU ends before the recording does.
state_files() {
    for cpus in guest-guest host; do
        jq --arg path $cpus --argjson files "$(cd trace && stat -c '"%n": %s' $cpus/cpu*.raw | sed '1s/^/{/; $!s/$/,/; $s/$/}/')" \
            '(.sources[] | select(.path == $path)).files = $files' trace/trace.json >stated && mv stated trace/trace.json
    done
}
