#!/bin/sh
# Bad input: what was readable is shown, then what is wrong and where; --keep-going and --strict.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

made=$DATA/qemu/made
STRATA_EVENTS=$made/trace-events
export STRATA_EVENTS

# run STATUS OPTION...: into out and err.
run() {
    wanted=$1
    shift
    status=0
    "$strata" "$@" >out 2>err || status=$?
    [ "$status" -eq "$wanted" ] || {
        echo "strata $*: status $status instead of $wanted; $(cat err)" >&2
        exit 1
    }
}
# says WORDS: the last run said so.
says() {
    grep -qF -- "$1" err || {
        echo "no '$1' in: $(cat err)" >&2
        exit 1
    }
}

xz -dc "$DATA/qemu/trace.simpletrace.xz" >boot
xz -dc "$DATA/xen/xen-4.17-no-guest-class.raw.xz" >xen
. "$here/../lib/kernel_capture.sh"
kernel_capture local guest
for capture in boot xen guest; do
    "$strata" report $capture >$capture.all 2>/dev/null
    [ "$(wc -l <$capture.all)" -gt 1000 ]
done

# A packet of CTF that ends too early, after its last event: no byte is there that could be skipped.
tar -xf "$DATA/ctf/lttng-ust.tar.xz"
chmod u+w lttng-ust/chan_0
truncate -s -1 lttng-ust/chan_0
run 0 report --keep-going lttng-ust
[ "$(grep -c 'LOST: .*, where the input is damaged$' out)" -eq 1 ]
says "; the input is damaged"

# Cut in the middle of a record.
head -c 1000002 boot >cut
run 1 report cut
says "strata: cut: offset "
says "the file ends within a record"
lines=$(wc -l <out)
[ "$lines" -gt 1000 ] && sed "${lines}q" boot.all | cmp out -
for verb in info stat; do
    run 1 $verb cut
    says "strata: cut: offset "
    grep -q "$lines" out
done
run 1 info cut
grep -q '^  lost  *unknown: reading stopped' out || {
    echo "info of a cut trace: $(grep lost out)" >&2
    exit 1
}
run 1 info -f json cut
[ "$(jq -c .lost out)" = '{"uncounted":0,"places":0,"skipped_bytes":0}' ] || {
    echo "info of a cut trace, in JSON: $(cat out)" >&2
    exit 1
}
run 1 report -fjson cut
[ "$(wc -l <out)" -eq "$lines" ]
# With --keep-going it is a loss, and no error; with --strict that is told.
run 0 report --keep-going cut
[ "$(grep -c ' LOST: ' out)" -eq 1 ]
sed "${lines}q" boot.all >cut.lines
grep -v ' LOST: ' out | cmp - cut.lines
says "damaged bytes were skipped"
run 3 report -k --strict cut
run 3 stat -k --strict cut
run 3 info -k --strict cut
run 0 report --strict boot

# Garbage in the middle.
head -c 1000002 boot >garbled
head -c 3000 "$strata" >>garbled
tail -c +1003003 boot >>garbled
run 1 report garbled
says "strata: garbled: offset "
run 0 report -k garbled
kept=$(grep -vc ' LOST: ' out)
whole=$(wc -l <boot.all)
[ "$kept" -gt $((whole - 100)) ] && [ "$kept" -lt "$whole" ]
# Each kept line is one of the whole report's, but for the record that the garbage stands in.
grep -v ' LOST: ' out | sort >a
sort boot.all >b
[ "$(comm -23 a b | wc -l)" -le 1 ]

# The other formats.
head -c 500000 xen >cut.xen
run 1 report cut.xen
says "strata: cut.xen: offset 500000: the file ends within"
[ "$(wc -l <out)" -gt 1000 ]
run 0 report -k cut.xen
says "lost"
truncate -s 30000 guest/cpu1.raw
run 1 report guest
says "cpu1.raw: offset "
run 0 report -k guest
printf 'hello' | dd of=guest/cpu0.raw bs=1 seek=41000 conv=notrunc 2>/dev/null
run 1 report guest

# What is no trace.
run 1 report ''
says "strata: the path is empty"
run 1 report - boot - <boot
says "strata: standard input: can be read only once"
[ ! -s out ]
run 1 report --kallsyms folder-that-is-not guest
says "folder-that-is-not: cannot read it: No such file or directory"
run 1 report --kallsyms guest guest
says "strata: guest: is a directory, not a file"
run 0 report -n 1 --kallsyms guest boot
says "strata: guest is not used: --kallsyms is for raw ftrace pages"
run 1 report nothing
says "strata: nothing: cannot open it: No such file or directory"
: >empty
run 1 report empty
says "strata: empty: is empty"
run 1 report "$strata"
says "not a known trace format"
run 1 report "$DATA/qemu/trace.simpletrace.xz"
says "is compressed; unpack it first, as in: xz -dc"
for format in perfetto sqlite; do
    "$strata" export --to=$format -o exported boot 2>err
    run 1 report exported
    says "strata: exported: is a"
    says ", which strata exports but does not read; open it with "
    rm exported
done
mkdir folder
run 1 report folder
says "strata: folder: "
head -c 30 boot >short
run 1 report short
says "strata: short: offset "
head -c 5 boot >shorter
run 1 report shorter
# Of several traces one that is bad: nothing is shown.
run 1 report boot nothing
[ ! -s out ]
# info takes each by itself.
run 1 info nothing boot
grep -q '^boot$' out

# Declarations that are wrong, or missing where they are needed.
run 1 report --trace-events nothing boot
says "strata: nothing: cannot open it"
printf 'good(int a) "a %%d"\nbad(int\n' >wrong
run 1 report --trace-events wrong boot
says "strata: wrong:2: column"
if [ ! -r /usr/share/qemu/trace-events-all ] && [ ! -r /usr/local/share/qemu/trace-events-all ]; then
    STRATA_EVENTS=
    run 1 report "$made/v2.simpletrace"
    says "with --trace-events"
    run 0 report boot
    says "with --trace-events"
    run 0 report "$made/v4-big-endian.simpletrace"
    STRATA_EVENTS=$made/trace-events
fi

# Declarations that know none of a log's events, or not all of a simpletrace's.
printf 'virtio_blk_req %d\nvirtio_notify %d\n' 1 2 >log
run 0 report log
says "strata: log: none of its lines matches a declared event"
run 0 info log
says "with --trace-events"
printf 'virtio_notify(int n) "%%d"\n' >some
run 0 report --trace-events some log
[ ! -s err ]
run 0 report --trace-events some boot
says "strata: boot: some of its events are not declared"

# Usage.
run 2 report
says "strata report: no trace file given"
says "Try 'strata report --help'."
run 2 stat
run 2 info
run 2 info --limit 3 boot
says "unknown option '--limit'"
run 2 nosuchverb
says "unknown command 'nosuchverb'"
run 2
grep -q '^Usage: strata COMMAND' err

# Nowhere to write.
if [ -w /dev/full ]; then
    status=0
    "$strata" report boot >/dev/full 2>err || status=$?
    [ "$status" -eq 1 ]
    says "strata: cannot write to standard output: No space left on device"
fi

# Neither the names of files and options nor what a trace holds may command a terminal.
esc=$(printf '\033')
head -c 1000 boot >"cut$esc[31m
name"
run 1 info "cut$esc[31m
name"
says 'strata: cut\x1b[31m\x0aname: offset '
run 1 report "no$esc"
says 'strata: no\x1b: cannot open it'
run 2 report --from "$esc" boot
says "--from '\\x1b' is not a time"
run 2 "$esc"
