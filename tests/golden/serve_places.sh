#!/bin/sh
# What strata serve answers at random places, at every level of detail, is what is in the report: see tests/web/places.py.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"
command -v python3 >/dev/null || { echo "SKIPPED: python3 is not installed"; exit 77; }
export XDG_CACHE_HOME="$work/cache"
mkdir cache

case="a guest's kernel, QEMU and the host"
tar -xJf "$DATA/io/virtio-blk.tar.xz"
python3 "$here/../web/places.py" "$strata" vm || fail "another answer"

case="Xen, which lost events"
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >xen.raw
python3 "$here/../web/places.py" "$strata" --cpu-hz 2.4G xen.raw 2>err || fail "$(cat err)"

case="Xen, which lost events in between"
xz -dc "$DATA/xen/xen-4.22-all.raw.xz" >whole.raw
python3 "$here/unknown.py" lose whole.raw lost.raw
STRATA_TEST_PLACES=400 python3 "$here/../web/places.py" "$strata" --cpu-hz 2.4G lost.raw 2>err || fail "$(cat err)"

# A CPU's file is shorter than its recorder wrote it, or than it will: what follows is a loss, or not there yet.
case="a CPU that ends early"
. "$here/../lib/kernel_capture.sh"
mkdir cut
kernel_capture local cut/guest
size=$(wc -c <cut/guest/cpu0.raw)
truncate -s $((size / 4096 / 2 * 4096)) cut/guest/cpu0.raw
manifest() { # MORE
    cat >cut/trace.json <<END
{"format": "strata-trace", "version": 1, "sources": [
 {"name": "guest", "kind": "ftrace", "layer": "guest", "path": "guest", $1}]}
END
}
manifest "\"files\": {\"guest/cpu0.raw\": $size}, \"complete\": true"
python3 "$here/../web/places.py" "$strata" --cut --keep-going cut 2>err || fail "$(cat err)"

case="a CPU that is missing"
mv cut/guest/cpu0.raw .
python3 "$here/../web/places.py" "$strata" --cut --keep-going cut 2>err || fail "$(cat err)"
mv cpu0.raw cut/guest

case="a CPU whose pages are not all recorded yet"
manifest '"complete": false'
mkdir -m 700 run run/strata-record-aaaaaa
printf '%s\n%s' $$ "$PWD/cut" >run/strata-record-aaaaaa/recording
XDG_RUNTIME_DIR=$PWD/run flock run/strata-record-aaaaaa \
    python3 "$here/../web/places.py" "$strata" --cut cut 2>err || fail "$(cat err)"

# What only the recorder counted is lost as well, and what it did not count is unknown, not 0.
case="losses that no record tells"
rm -r cut/guest
kernel_capture local cut/guest
read_in_time cut/guest
lost() { # MANIFEST
    manifest "$1"
    python3 - "$strata" cut <<'END'
import json, subprocess, sys, urllib.request
server = subprocess.Popen([sys.argv[1], "serve", sys.argv[2]], stdout=subprocess.PIPE, text=True)
address = server.stdout.readline().strip().rstrip("/")
print(json.load(urllib.request.urlopen(f"{address}/api/trace"))["lost"])
server.terminate()
server.wait()
END
}
for wanted in '0:"complete": true' '12:"complete": true, "lost": 12' 'None:"complete": true, "lost": 12, "lost_uncounted": true'; do
    [ "$(lost "${wanted#*:}")" = "${wanted%%:*}" ] || fail "$wanted: $(lost "${wanted#*:}")"
done
