#!/bin/sh
# strata serve: what it answers is what the other commands print, and it answers those alone who know its secret.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"
command -v python3 >/dev/null || { echo "SKIPPED: python3 is not installed"; exit 77; }

. "$here/../lib/kernel_capture.sh"
. "$here/../lib/three_layers.sh"
export XDG_CACHE_HOME="$work/cache"
mounted=
cleanup() {
    [ -z "$mounted" ] || umount -l "$mounted"
}
at_exit=cleanup

case="usage"
"$strata" serve 2>err && fail "serves nothing"
grep -q "no trace file given" err || fail "$(cat err)"
"$strata" serve - 2>err && fail "serves standard input"
grep -q "standard input cannot be read again" err || fail "$(cat err)"
"$strata" serve nothing >out 2>err && fail "serves what there is not"
[ ! -s out ] || fail "prints an address: $(cat out)"
[ "$(wc -l <err)" -eq 1 ] || fail "not one line: $(cat err)"
for address in 192.0.2.1:99999 : '[::1' 8080x: 70000; do
    "$strata" serve --listen "$address" trace >out 2>err && fail "listens on $address"
    [ "$(wc -l <err)" -eq 1 ] || fail "not one line: $(cat err)"
done
grep -q "invalid port '70000'" err || fail "$(cat err)"

ask() {
    python3 "$here/serve.py" "$strata" "$@" || fail "$*"
}

case="answers"
ask answers trace

case="refused headers"
ask headers trace

case="no times"
mkdir timeless
cat >timeless/metadata <<'END'
/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { uint32_t magic; }; };
stream { event.header := struct { uint32_t id; }; };
event { id = 0; name = "e"; fields := struct { uint32_t n; }; };
END
{
    printf '\301\037\374\301'
    head -c 160 /dev/zero
} >timeless/stream
XDG_CACHE_HOME=$work/timeless.cache ask timeless timeless

# The index of the servers above is used by the next ones; it is this user's alone.
case="cache"
kept=$(ls -i cache/strata/index/*.index)
[ "$(echo "$kept" | wc -l)" -eq 1 ] || fail "several indexes of one trace: $kept"
[ "$(stat -c %a cache/strata/index)" = 700 ] || fail "other users may read the cache"

case="view"
mkdir desktop
cat >desktop/xdg-open <<'END'
#!/bin/sh
printf %s "$1" >"${0%/*}/opened.part"
mv "${0%/*}/opened.part" "${0%/*}/opened"
END
chmod +x desktop/xdg-open
ask view trace "$work/desktop"
[ "$(ls -i cache/strata/index/*.index)" = "$kept" ] || fail "another index"

# Another setting has an index of its own, and where there is no cache there is still an answer.
case="hostile"
(mkdir hostile && cd hostile && python3 "$here/escapes.py" make)
ask hostile --trace-events hostile/events hostile/simple.trace
[ "$(find cache/strata/index -name '*.index' | wc -l)" -eq 2 ] || fail "no second index"
XDG_CACHE_HOME=/dev/null ask hostile hostile/ctf
(unset XDG_CACHE_HOME HOME && ask hostile hostile/ctf)
[ "$(find cache/strata/index -name '*.index' | wc -l)" -eq 2 ] || fail "writes to a cache that was not named"

case="several traces"
kernel_capture local one
kernel_capture local two
ask traces one two

case="ticks"
xz -dc "$DATA/xen/xen-4.22-all.raw.xz" | head -c 200000 >xen.raw
ask unit ticks -k xen.raw
ask unit ns -k --cpu-hz 2.4G xen.raw

case="damaged"
head -c 100001 xen.raw >cut.raw
"$strata" serve cut.raw >out 2>err && fail "serves what is damaged"
grep -q '^strata: use --keep-going to skip what is damaged' err || fail "$(cat err)"

# A trace, or its index, that is cut while it is served is not shown as if nothing were.
case="changed"
kernel_capture local three
ask changed three three/cpu0.raw 410 "was changed after it was indexed"
kernel_capture local four
before=$(ls cache/strata/index)
"$strata" serve four >address 2>err &
server=$!
wait_for '[ -s address ]'
kill "$server" && wait "$server" || fail "$(cat err)"
for index in cache/strata/index/*.index; do
    echo "$before" | grep -qxF "${index##*/}" || new=$index
done
ask changed four "$new" 500 "was cut meanwhile"

case="replaced"
xz -dc "$DATA/xen/xen-4.17-no-guest-class.raw.xz" >first.raw
xz -dc "$DATA/xen/xen-4.22-all.raw.xz" >second.raw
ask replaced first.raw second.raw

# On a full disk the trace is read once more, and its index is not kept.
case="full disk"
mkdir small
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=16k none small 2>/dev/null; then
    mounted=$work/small
    (export XDG_CACHE_HOME="$work/small" && ask unit ns four)
    umount -l small
    mounted=
else
    echo "serve: SKIPPED in part: no small file system can be mounted" >&2
fi

# Other indexes are removed when one is built.
case="index-cache-size"
"$strata" serve --index-cache-size 1Q xen.raw 2>err && fail "a size of 1Q"
grep -q "1Q" err || fail "$(cat err)"
[ "$(find cache/strata/index -name '*.index' | wc -l)" -gt 1 ] || fail "nothing to remove"
ask unit ns -k --index-cache-size 0 --cpu-hz 2.5G xen.raw
[ "$(find cache/strata/index -name '*.index' | wc -l)" -eq 1 ] || fail "not one index is left"
