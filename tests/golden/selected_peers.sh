#!/bin/sh
# Parts of real recordings, and recordings that were cut, beside perf, trace-cmd and xenalyze. What is true is counted from
# what perf script printed of the whole recording, from the whole file, or from the records of the cut one:
#   perf sched timehist  prints 0.000 for a run that began before its CPU's first event: not known here. With --time, it ends what
#                        runs at the end of the window; strata's rows are the runs that begin in it, with their whole length.
#   perf kvm stat        with --vcpu, prints 0.00 us as the shortest exit of each reason.
#   trace-cmd            reads nothing of a trace.dat that was cut; strata what is left, and the rest is unknown.
#   xenalyze             reads a cut file's CPUs one after the other at its end: it may state more time in a state than the
#                        records have.
. "$(dirname "$0")/../lib/golden.sh"
skipped=

skip() {
    echo "selected_peers: SKIPPED in part: $*" >&2
    skipped=yes
}

compare() {
    python3 "$here/selected_peers.py" "$@" >said 2>&1 || fail "$*: $(tail -1 said)"
}

# cut_file FILE: the first 60 % of it.
cut_file() {
    head -c $(($(wc -c <"$1") * 6 / 10)) "$1" >"$1.cut"
}

# sched_of_cut ARGUMENT...: what strata sched says of a file that was cut, and that it was.
sched_of_cut() {
    status=0
    "$strata" sched --keep-going -f json "$@" >rows 2>err || status=$?
    [ $status -le 1 ] || fail "$*: exit status $status: $(cat err)"
    grep -q '"uncounted":[1-9]' rows || fail "$*: does not say that events are missing"
}

case=perf
if command -v perf >/dev/null; then
    for made in packed kvm; do
        xz -dc "$DATA/perf/$made.data.xz" >$made.data
        xz -dc "$DATA/perf/$made.script.xz" >$made.script
    done
    for selection in "" --cpu=0 --cpu=1 --pid=134 --time=35.5,37.2; do
        ours=$selection
        [ "${selection#--time}" = "$selection" ] || ours="--from=35.5 --until=37.2"
        # shellcheck disable=SC2086 # two options, one or none
        "$strata" sched --events -f json $ours packed.data >runs 2>err || fail "$selection: $(cat err)"
        # shellcheck disable=SC2086
        perf sched timehist -i packed.data $selection >peer 2>err || fail "perf sched $selection: $(cat err)"
        compare timehist packed.script runs peer "$selection"
    done
    for selection in "" --vcpu=0; do
        # shellcheck disable=SC2086
        "$strata" exits -f json $selection kvm.data >rows 2>err || fail "$selection: $(cat err)"
        # shellcheck disable=SC2086
        perf kvm --host -i kvm.data stat report $selection >report 2>&1 || fail "perf kvm $selection: $(cat report)"
        compare kvm kvm.script rows report "$selection"
    done
    # What describes the events is at the end of perf's file: neither reads one that was cut.
    cut_file packed.data
    perf sched timehist -i packed.data.cut >peer 2>&1 && fail "perf reads a file that was cut"
    "$strata" sched packed.data.cut >rows 2>err && fail "the end of the file is missing, and that is not said"
else
    skip "perf is not installed"
fi

case=trace-cmd
if command -v trace-cmd >/dev/null; then
    xz -dc "$DATA/kvm/exits.tar.xz" | tar -x
    "$strata" export --to trace.dat -o whole.dat trace 2>err || fail "$(cat err)"
    trace-cmd report -t whole.dat >whole 2>/dev/null || fail "trace-cmd"
    cut_file whole.dat
    trace-cmd report whole.dat.cut >peer 2>/dev/null && fail "trace-cmd reads a file that was cut: compare it"
    sched_of_cut whole.dat.cut
    compare cut-dat whole rows
else
    skip "trace-cmd is not installed"
fi

case=xenalyze
. "$here/../lib/xenalyze.sh"
[ "$xenalyze" ] || skip "xenalyze is missing; fetch it: tools/packages fetch xen build/xen/debs"
for made in xen-4.17-no-guest-class xen-4.17-all xen-4.22-all; do
    xz -dc "$DATA/xen/$made.raw.xz" >$made
    cut_file $made
    sched_of_cut --by vcpu $made.cut
    : >summary
    [ ! "$xenalyze" ] || summarise_xen $made.cut readable >summary 2>err || fail "$made: xenalyze: $(tail -1 err)"
    compare cut-xen $made.cut rows summary
done
if [ "$skipped" ]; then
    exit 77
fi
