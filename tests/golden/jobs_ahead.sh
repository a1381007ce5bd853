#!/bin/sh
# --jobs of what reads ahead: analyses and exports of a trace that a thread reads are those of one thread, byte by byte,
# with their messages and status, also where the input is damaged or ends early.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

. "$here/../lib/jobs.sh"
tar -xJf "$DATA/io/virtio-blk.tar.xz"
mkdir kvm
tar -C kvm -xJf "$DATA/kvm/exits.tar.xz"
for name in kvm packed; do
    xz -dc "$DATA/perf/$name.data.xz" >"$name.data"
done
"$strata" export --to simpletrace -o simple guest 2>err

# same_files FORMAT CAPTURE [OPTIONS...]: the same of an export to files.
same_files() {
    format=$1
    shift
    rm -rf out-1 out-3
    for jobs in 1 3; do
        status=0
        "$strata" export --to "$format" -o out "$@" -j$jobs >text 2>"err-$jobs" || status=$?
        echo $status >>"err-$jobs"
        [ ! -e out ] || mv out "out-$jobs"
    done
    cmp err-1 err-3 || fail "$format of $*: other messages or status"
    if [ -e out-1 ]; then
        diff -r out-1 out-3 >text || fail "$format of $*: $(head -n 3 text)"
    else
        [ ! -e out-3 ] || fail "$format of $*: only several threads write it"
    fi
}

n=0
for capture in boot log xen xen-all guest exported trace vm kvm/trace kvm.data packed.data simple damaged/*; do
    for words in "sched" "exits --by detail --slowest 3" "irq --by cpu" "io --slowest 2" "latency --slowest 3" "summary" \
        "export --to perfetto" "export --to simpletrace"; do
        # shellcheck disable=SC2086 # words
        same $words "$capture"
        n=$((n + 1))
    done
    [ "$("$strata" report -f csv -k "$capture" 2>err | wc -l)" -lt 10000 ] || threaded="${threaded-} $capture"
done
[ $n -ge 110 ]
for capture in boot xen xen-all guest simple damaged/boot; do
    case " $threaded " in *" $capture "*) ;; *) fail "$capture has too few events for a thread: $threaded" ;; esac
done

# Names of tasks while it is read, and only when the result is printed.
for words in "sched --states" "sched --who" "sched --latency" "sched --by cpu --states" "sched --task '*a*'" "path --waits --slowest 3" \
    "latency --by task" "latency --task '*s*'" "latency --events -f json" "summary -f json" "irq --hist --every 0.01"; do
    # shellcheck disable=SC2086 # words
    same $words guest
    # shellcheck disable=SC2086 # words
    same $words exported
done

# The selection ends before the trace does, or nothing is in it.
for capture in guest xen boot; do
    # shellcheck disable=SC2046 # one word
    same latency "$capture" --until +0.05
    same summary "$capture" --from +0.01 --until +0.03
    same exits "$capture" --limit 12000
    same sched "$capture" -e 'nothing_*'
    same irq "$capture" --until +0.02 -e 'nothing_*' -e 'irq:*'
    same export --to simpletrace "$capture" --until +0.05
done
same latency -k damaged/boot damaged/xen --cpu-hz 1G
same latency damaged/cut
grep -q "the file ends within a record" one.err
same exits --strict xen-all
# shellcheck disable=SC2002 # a pipe is what is tried
cat boot | "$strata" latency -j3 - >many
"$strata" latency -j1 - <boot | cmp - many

for capture in boot xen guest trace damaged/cut; do
    same_files sqlite "$capture"
    same_files ctf "$capture"
    same_files trace.dat "$capture"
done
same_files parquet boot --host-name h
same_files parquet guest --host-name h --pair 'irq_handler_entry -> irq_handler_exit by cpu'

for words in 0 x ""; do
    if "$strata" latency -j "$words" boot >/dev/null 2>err; then fail "-j '$words'"; fi
    grep -q "is not a number of threads" err
done
