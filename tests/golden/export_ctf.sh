#!/bin/sh
# strata export --to ctf: event by event as babeltrace2 shows it, and as strata reads it.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
strata=$STRATA_BIN/strata
cd "$dir"

fail() {
    echo "export_ctf: $*" >&2
    exit 1
}

xz -dc "$DATA/qemu/trace.simpletrace.xz" >boot.trace
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >xen.raw
tar -xf "$DATA/ctf/lttng-ust.tar.xz"
. "$here/../lib/kernel_capture.sh"
kernel_capture local guest

# compare CAPTURE... [OPTION...]: exported and reported with the same.
compare() {
    rm -rf export
    "$strata" export --to ctf -o export "$@" 2>err
    "$strata" report -f json "$@" >report 2>err
    babeltrace2 --clock-cycles export >shown 2>err || fail "$*: $(cat err)"
    python3 "$here/export_ctf.py" report shown err || fail "$* differs"
    # What both readers agree on is enough here: strata's is compared with babeltrace2 by ctf.sh.
    "$strata" report -f json export >again 2>err
    [ "$(wc -l <again)" -eq "$(wc -l <report)" ] || fail "$*: strata reads $(wc -l <again) of $(wc -l <report)"
}
compare boot.trace
compare lttng-ust
compare guest
compare xen.raw -n 20000
compare xen.raw --cpu 1 -n 5000 --cpu-hz 2.4G
cp boot.trace again.trace
compare boot.trace again.trace -n 2000

# What a trace of QEMU says as text is what it said before.
"$strata" report boot.trace | tr -s ' ' >before
"$strata" export --to ctf -o boot.ctf boot.trace
"$strata" report boot.ctf | tr -s ' ' >after
cmp before after || fail "the text of a trace of QEMU differs"

# A folder that is empty is taken, one that is not is left alone; nothing half done stays.
mkdir empty
"$strata" export --to ctf -o empty/ boot.trace
diff -r boot.ctf empty || fail "an empty directory"
status=0
"$strata" export --to ctf -o guest boot.trace 2>err || status=$?
[ $status -eq 1 ] && grep -q 'guest: directory exists and is not empty; name another directory' err ||
    fail "a directory with something in it: $(cat err)"
# An export is replaced, and nothing else: not with another file in it, a trace of another tracer, a link.
"$strata" export --to ctf -o empty/ --limit 5 boot.trace
[ "$("$strata" report empty | wc -l)" -eq 5 ] || fail "an export is not replaced"
"$strata" export --to ctf -o empty empty
[ "$("$strata" report empty | wc -l)" -eq 5 ] || fail "an export is not replaced by itself"
for what in file folder tracer link; do
    rm -rf kept
    cp -r empty kept
    case $what in
    file) : >kept/notes ;;
    folder) mkdir kept/7 ;;
    tracer) sed -i s/strata-export/strata/ kept/metadata ;;
    link) mv kept elsewhere && ln -s elsewhere kept ;;
    esac
    cp -r kept before-$what
    status=0
    "$strata" export --to ctf -o kept boot.trace 2>err || status=$?
    [ $status -eq 1 ] && grep -q 'kept: directory exists and is not empty' err || fail "$what: $(cat err)"
    diff -r before-$what kept || fail "$what: changed"
done
status=0
"$strata" export --to ctf boot.trace 2>err || status=$?
[ $status -eq 2 ] && grep -q -e '--output=DIR is required: the format is a directory' err || fail "no name: $(cat err)"
[ -z "$(find . -maxdepth 1 -name '*.??????' ! -name '*.trace')" ] || fail "leaves $(ls)"

# Nothing selected: a trace without events.
"$strata" export --to ctf -o none -e nosuch boot.trace 2>err
[ -s none/metadata ] || fail "nothing selected"
