#!/bin/sh
# --from starts reading near that time where pages and packets say theirs: the report equals what a script selects from
# the whole report, and what is earlier is not read.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

. "$here/../lib/kernel_capture.sh"
. "$here/../lib/three_layers.sh"
kernel_capture local guest
# Small packets and pages of trace.dat, of the same events.
"$strata" export --to ctf -o ctf guest
"$strata" export --to trace.dat -o guest.dat guest

tar -xJf "$DATA/ctf/lttng-ust.tar.xz"

# shows_same TRACE...: at random limits.
shows_same() {
    python3 "$here/seek.py" "$strata" "$@" || fail "$*: another selection than a script's"
}

case="one clock"
shows_same guest
shows_same ctf
shows_same guest.dat
shows_same lttng-ust
case="several clocks"
shows_same trace
shows_same --host-time --source guest trace
case="one after another"
shows_same guest/cpu0.raw

# A damaged page ends reading from the beginning, but not reading that starts after it.
case="skips"
cp -r guest damaged
page=$(($(stat -c %s damaged/cpu0.raw) / 4096 / 2))
last=$("$strata" report -f csv guest | tail -n 1 | cut -d, -f1)
printf '\377\377\377\377\377\377\377\377' |
    dd of=damaged/cpu0.raw bs=1 seek=$((page * 4096 + 8)) conv=notrunc status=none
"$strata" report damaged >/dev/null 2>err && fail "reads a damaged page"
"$strata" report --from "$last" damaged >out 2>err || fail "reads what is before --from: $(cat err)"
[ -s out ] || fail "the last event is missing"
