#!/bin/sh
# Every event that Xen can trace has a name and all its words: made records of each, as several versions
# write them, against how they should read. tests/golden/xen_events.sh --update writes that anew, to be
# read before it is kept.
set -eu
LC_ALL=C
export LC_ALL

# What real Xens wrote: nothing is unknown, too short or too long.
for capture in "$DATA"/xen/*.raw.xz; do
    if xz -dc "$capture" | "$STRATA_BIN/strata" report - 2>/dev/null | grep -E ' unknown_0x|=\?|more=\['; then
        echo "$capture: the events above"
        exit 1
    fi
done

# Hypercalls have their arguments as fields, and are one row whatever these are.
capture=$DATA/xen/xen-4.17-all.raw.xz
calls=$(xz -dc "$capture" | "$STRATA_BIN/strata" report -e hypercall --format json - 2>/dev/null |
    sed -n 's/.*"fields":\({[^}]*}\).*/\1/p' | grep -E '"op":(20|23|24|29)[,}]' | sed 's/"op":\([0-9]*\).*/\1 &/' |
    sort -s -u -k2,2n -t: | sed 's/.*"op"/{"op"/; s/:[0-9]*/:N/g' | sort -u)
[ "$calls" = '{"op":N,"cmd":N,"count":N}
{"op":N,"cmd":N,"vcpu":N}
{"op":N,"cmd":N}
{"op":N}' ] || { echo "fields of hypercalls: $calls"; exit 1; }
xz -dc "$capture" | "$STRATA_BIN/strata" stat - 2>/dev/null | grep -c '^hypercall ' | grep -qx 1

# What a big-endian machine would have written: the same words, the same events, also from a time on.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
xz -dc "$capture" >"$dir/little"
python3 - "$dir/little" "$dir/big" <<'END'
import array, sys
words = array.array("I", open(sys.argv[1], "rb").read())
words.byteswap()
open(sys.argv[2], "wb").write(words)
END
for options in '-f json' '-f json --cpu-hz 2400000000 --from 18 --until 19'; do
    for order in little big; do
        # shellcheck disable=SC2086 # words
        "$STRATA_BIN/strata" report $options "$dir/$order" >"$dir/$order.out" 2>/dev/null
    done
    [ "$(wc -l <"$dir/little.out")" -gt 100 ] || { echo "report $options: few events"; exit 1; }
    cmp "$dir/little.out" "$dir/big.out"
done
"$STRATA_BIN/strata" info "$dir/big" | grep -q '^ *byte order *big-endian$' || { echo "info: no byte order"; exit 1; }
rm -rf "$dir"

here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/xen_events.py" "$STRATA_BIN/strata" "$DATA/xen" "$here/../../data/xen-events" "$@"
