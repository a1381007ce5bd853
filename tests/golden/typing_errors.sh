#!/bin/sh
# What people type by mistake, or as other programs have it: each message names what was meant.
. "$(dirname "$0")/../lib/golden.sh"

xz -dc "$DATA/qemu/trace.simpletrace.xz" >trace.simpletrace
xz -dc "$DATA/xen/xen-4.17-no-guest-class.raw.xz" >xen.raw

# says STATUS MESSAGE WORD…: runs strata WORD… and looks for the message among its lines on standard error.
says() {
    wanted=$1 message=$2
    shift 2
    status=0
    "$strata" "$@" >out 2>err </dev/null || status=$?
    [ $status -eq "$wanted" ] || fail "strata $*: exit status $status, not $wanted: $(cat out err)"
    grep -q -F -x -- "$message" err || fail "strata $*: $(cat err)"
}

# Verbs.
says 2 "strata: unknown command 'reprot'; did you mean 'report'?" reprot trace.simpletrace
says 2 "strata: unknown command 'exprot'; did you mean 'export'?" help exprot
says 2 "strata: unknown command 'verison'; did you mean 'version'?" verison
says 2 "strata: unknown command 'ls'; did you mean 'list'?" ls
says 2 "strata: unknown command 'start'; did you mean 'record'?" start
says 2 "strata: unknown command 'script'; did you mean 'report'?" script
says 2 "strata: unknown command 'nosuchverb'; 'strata help' lists the commands" nosuchverb
says 2 "strata: unknown command 'trace.simpletrace'; to show a trace: strata report trace.simpletrace" trace.simpletrace

"$strata" help >help
"$strata" help help | cmp help -
"$strata" help version | cmp help -

# The version, however it is asked for.
"$strata" --version >version
for words in -V version 'report --version' 'report -V' 'record --version' 'gen --version'; do
    # shellcheck disable=SC2086 # words
    "$strata" $words | cmp version - || fail "$words"
done

# Options.
says 2 "strata report: unknown option '--evnt'; did you mean '--event'?" report --evnt x
says 2 "strata report: unknown option '--nonesuch'" report --nonesuch x
says 2 "strata report: unknown option '-Z'" report -Z x
says 2 "strata report: -e requires GLOB" report -e
says 2 "strata report: --strict accepts no argument" report --strict=1
"$strata" gen --list >list
for option in --list-backends --list-formats; do
    "$strata" gen $option | cmp list - || fail "$option"
done
says 2 "strata gen: unknown option '--backens'; did you mean '--backend'?" gen --backens
says 2 "strata gen: --backend=NAME is required (--list lists the backends)" gen -f h x
! "$strata" gen --help | grep -q -e --list-backends || fail "help has each spelling"

# What stands in the place of a trace.
says 2 "strata latency: 'blokc' is neither a rule ('strata latency --list' lists them) nor a trace" latency blokc trace.simpletrace
says 1 "strata: nonesuch: cannot open it: No such file or directory" latency nonesuch
says 2 "strata sql: 'SELECT 1' is not a trace; a query requires -c: -c 'SELECT 1'" sql trace.simpletrace 'SELECT 1'

# A command without "--".
says 2 "strata record: unknown argument 'ls'; put '--' before the command: strata record -- ls" record -o x ls
says 2 "strata record: unknown option '-A'; if it is an option of 'ls', put '--' before the command" record ls -A
says 2 "strata record: unknown option '--color'; if it is an option of 'ls', put '--' before the command" \
    record ls --color=auto

# A process that is not there, and one that is not traced.
says 1 "strata: no process 4194305" record --attach -o x 4194305
says 1 "strata: process $$ has no rings in /dev/shm/strata-$(id -u): it is not traced, or has had no event yet, or they lie elsewhere (rings=); nor does it run virtual machines of KVM" \
    record --attach -o x $$

# Sizes.
says 2 "strata record: --max-size '1q' is not a size (examples: 4096, 512K, 64M, 2G)" record --max-size 1q -o x -- true

# Seconds have fractions.
says 1 "strata: nothing was recorded: 'true' reported no events; a program has to be built with libstrata (strata-gen(1))" \
    record -t 0.3 -o x -- true
for time in 1x .5 1. -1 '' 1e3; do
    says 2 "strata record: -t '$time' is not a number of seconds (examples: 10, 0.5)" record -t "$time" -o x -- true
done
says 2 "strata collect: --time 'x' is not a number of seconds (examples: 10, 0.5)" collect --time=x -o x
began=$(date +%s)
status=0
"$strata" record -t 0.1 -o x -- sleep 300 >out 2>err || status=$?
[ $status -eq 143 ] || fail "exit status $status: $(cat err)"
[ $(($(date +%s) - began)) -lt 250 ] || fail "--time=0.1 did not end it"

# --until is a time; --to is the format of an export, and no time.
"$strata" report --from +6.5 --until +8 trace.simpletrace >until
[ -s until ]
for format in json text; do
    says 2 "strata export: --to '$format' is not an export format; did you mean 'strata report -f $format'?" \
        export --to $format trace.simpletrace
done
"$strata" export --to csv --from +6.5 --until +8 trace.simpletrace | sed 1d >csv
[ "$(wc -l <until)" -eq "$(wc -l <csv)" ] || fail "report and export differ"
says 2 "strata report: unknown option '--to'" report --to +8 trace.simpletrace
"$strata" stat --until +8 trace.simpletrace >until 2>err || fail "$(cat err)"

# Tables and columns of SQL.
says 1 "strata: -c: no such table: blk_root_atach; did you mean 'vmm_blk_root_attach'?" \
    sql -c 'SELECT * FROM blk_root_atach' trace.simpletrace
says 1 "strata: -c: no such table: spann; did you mean 'span'?" sql -c 'SELECT * FROM spann' trace.simpletrace
says 1 "strata: -c:1: column 8: no such column: evnt; did you mean 'event'?" sql -c 'SELECT evnt FROM event' trace.simpletrace
says 1 "strata: -c:1: column 10: no such column: e.tyme_ns; did you mean 'time_ns'?" \
    sql -c 'SELECT   e.tyme_ns FROM vmm_blk_root_attach e' trace.simpletrace
says 1 "strata: -c:1: column 8: no such column: nosuch" sql -c 'SELECT nosuch FROM event' trace.simpletrace

# A stack that is too small.
(ulimit -s 64 && says 1 "strata: the stack is limited to 64 KiB, and 512 are needed; raise the limit: ulimit -s 8192" \
    report trace.simpletrace)
(ulimit -s 512 && "$strata" summary trace.simpletrace >out 2>err) || fail "$(cat err)"

# A time that ends before it begins, in either order of the options.
says 2 "strata report: --until '8' leaves no time: --from is after --until" report --from 8.5 --until 8 trace.simpletrace
says 2 "strata irq: --from '+2.000000001' leaves no time: --from is after --until" irq --until +2 --from +2.000000001 xen.raw
"$strata" report --from +6.5 --until +6.5 trace.simpletrace >out 2>err || fail "$(cat err)"
"$strata" report --from -1 --until +8 trace.simpletrace >out 2>err || fail "$(cat err)"

# What nothing matches.
first=$("$strata" report trace.simpletrace | sed -n '1s/ .*//p')
last=$("$strata" report trace.simpletrace | sed -n '$s/ .*//p')
says 0 "strata: no event matches the selection by --from; the trace begins at $first and ends at $last" \
    report --from 99999999 trace.simpletrace
says 0 "strata: no event matches the selection by --until; the trace begins at $first" \
    stat --until 1 trace.simpletrace
says 0 "strata: no event matches the selection by --cpu" report --cpu 77 xen.raw
says 0 "strata: no event matches the selection by --cpu, --pid" report --cpu 0-1 --pid 99999 xen.raw
says 0 "strata: no event matches the selection by --layer" report --layer guest xen.raw
# One rule for all verbs: status 1 if nothing is left of what a verb measures, 0 if a verb shows or counts no event.
for verb in report stat summary 'stat --every 1' 'stat --gaps 3' 'export --to csv'; do
    # shellcheck disable=SC2086 # words
    says 0 "strata: no event matches the selection by --from; the trace begins at $first and ends at $last" \
        $verb --from 99999999 trace.simpletrace
done
for verb in exits io irq sched path 'path --waits' 'latency block'; do
    # shellcheck disable=SC2086 # words
    says 1 "strata: no event matches the selection by --from; the trace begins at $first and ends at $last" \
        $verb --from 99999999 trace.simpletrace
done
says 1 "strata: neither trace has what strata stat measures" diff --from 99999999 trace.simpletrace trace.simpletrace
says 1 "strata: none of the 1 requests is of a task 'nosuch'" io --task nosuch trace.simpletrace

# The same of a trace that has what the verb measures.
tar -xJf "$DATA/io/virtio-blk.tar.xz"
tar -xJf "$DATA/kvm/exits.tar.xz"
while IFS='|' read -r verb trace what long; do
    for option in "--task nosuch|of a task 'nosuch'" '--pid 99999999|selected by --pid' '--vcpu 77|selected by --vcpu'; do
        # shellcheck disable=SC2086 # words
        says 1 "strata: none of the $what is ${option#*|}" $verb ${option%|*} $trace
    done
    # shellcheck disable=SC2086 # words
    [ "$long" = - ] || says 1 "strata: none of the $long is 1000 s long or longer" $verb --longer 1000 $trace
    for option in '--task nosuch' '--pid 99999999' '--vcpu 77' '--cpu 77' '--longer 1000'; do
        status=0
        # shellcheck disable=SC2086 # words
        "$strata" $verb $option --events $trace >out 2>err || status=$?
        [ $status -eq 1 ] || fail "strata $verb $option --events: exit status $status: $(cat err)"
        [ "$(wc -l <out)" -eq 1 ] || fail "strata $verb $option --events: $(cat out)"
        grep -q '^strata: no.* in the trace is \|^strata: none of the ' err || fail "strata $verb $option: $(cat err)"
    done
done <<'END'
exits|trace|2044 spans|2043 spans
io|vm|192 requests|192 requests
irq|vm|165 spans|165 spans
sched|vm|125 threads|-
latency block|vm|184 spans|180 spans
path|vm|192 requests|192 requests
path block|vm|180 spans|180 spans
path --waits|vm|4706 waits|4706 waits
END
says 1 "strata: nothing in the trace is selected by --cpu" sched --cpu 77 vm
"$strata" report --limit 0 trace.simpletrace >out 2>err
[ ! -s err ] || fail "$(cat err)"
says 0 "strata: no event in the trace matches 'blk_root_atach'; did you mean 'blk_root_attach'?" \
    report -e blk_root_atach trace.simpletrace
says 0 "strata: no event in the trace matches 'bkl_root_*'; did you mean 'blk_root_attach'?" \
    report -e 'bkl_root_*' trace.simpletrace
says 0 "strata: no event in the trace matches 'attach'; did you mean 'blk_root_attach'?" \
    report -e attach trace.simpletrace
says 0 "strata: no event in the trace matches 'vmm:qqqqqqqqqqqq'; 'strata stat' lists the events" \
    report -e vmm:qqqqqqqqqqqq trace.simpletrace
says 0 "strata: no event in the trace matches 'blk_root_attach: child == 1': --event has names and patterns; 'strata sql' has conditions" \
    report -e 'blk_root_attach: child == 1' trace.simpletrace

# A directory that is no trace: what it is, and which traces lie in it.
mkdir -p empty text all/deep/er
echo hello >text/file
says 1 "strata: empty: not a trace; the directory is empty" report empty
says 1 "strata: text: not a trace; no file in this directory is a trace that strata reads" info text
cp trace.simpletrace all/deep/er/boot
says 1 "strata: all: not a trace; the directory has 1 trace: all/deep/er/boot" report all
"$strata" export --to ctf -o all/ctf trace.simpletrace
head -c 100000 xen.raw >all/xen
mkfifo all/fifo
ln -s . all/loop
says 1 "strata: all/: not a trace; the directory has 3 traces: all/ctf, all/deep/er/boot, all/xen" stat all/
for i in 1 2 3; do cp all/xen "all/xen$i"; done
says 1 "strata: all: not a trace; the directory has 6 traces: all/ctf, all/deep/er/boot, all/xen, all/xen1, …" report all

# The manifest of a directory, or CTF's metadata, given as the trace.
"$strata" report --limit 3 all/ctf >shown
"$strata" report --limit 3 all/ctf/metadata | cmp shown -
(cd all/ctf && "$strata" report --limit 3 metadata) | cmp shown -
mkdir recorded
cp trace.simpletrace recorded/boot
cat >recorded/trace.json <<'END'
{"format": "strata-trace", "version": 1, "recorder": "test", "began": {"realtime_ns": 1, "monotonic_ns": 1},
 "sources": [{"name": "boot", "kind": "simpletrace", "layer": "vmm", "path": "boot", "complete": true}]}
END
"$strata" report --limit 3 recorded >shown 2>err || fail "$(cat err)"
[ -s shown ] || fail "$(cat err)"
"$strata" report --limit 3 recorded/trace.json | cmp shown -
(cd recorded && "$strata" report --limit 3 trace.json) | cmp shown -
