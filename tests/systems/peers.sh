#!/bin/sh
# Tests with other tools of another Debian:
#
#   peers.sh ctf DIR      what babeltrace2 shows of what Strata exports: tests/golden/export_ctf.sh with this version
#   peers.sh perf DIR     what perf records on this machine's kernel, Strata shows as perf script does
#
# DIR/debs has the tools and their libraries (tools/test-systems fetches them). Environment: that of tests/golden.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
what=$1
skip() {
    echo "systems: SKIPPED: $*" >&2
    exit 77
}
[ -e "$2/debs/complete" ] || skip "the packages in $2/debs are missing; fetch them: tools/test-systems"
dir=$(cd "$2" && pwd)

unpack() {
    rm -rf "${dir:?}/root" "${dir:?}/bin" "$dir/unpacked"
    mkdir "$dir/root" "$dir/bin"
    for deb in "$dir"/debs/*.deb; do
        dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$dir/root" --exclude='./usr/share' --exclude='*/gconv' --exclude='*/python3*'
    done
    libraries=$dir/root/usr/lib/x86_64-linux-gnu
    for tool in babeltrace2 perf; do
        cat >"$dir/bin/$tool" <<END
#!/bin/sh
export BABELTRACE_PLUGIN_PATH='$libraries/babeltrace2/plugins' LIBBABELTRACE2_PLUGIN_PROVIDER_DIR='$libraries/babeltrace2/plugin-providers'
exec '$libraries/ld-linux-x86-64.so.2' --library-path '$libraries' '$dir/root/usr/bin/$tool' "\$@"
END
        chmod +x "$dir/bin/$tool"
    done
    : >"$dir/unpacked"
}
exec 9<"$dir/debs"
flock 9
[ -e "$dir/unpacked" ] && [ -z "$(find "$dir/debs/complete" -newer "$dir/unpacked")" ] || unpack
flock -u 9
PATH=$dir/bin:$PATH
export PATH

case $what in
ctf)
    "$here/../golden/export_ctf.sh"
    echo "tried: babeltrace2 $(babeltrace2 --version | sed -n 's/^Babeltrace \([0-9.]*\).*/\1/p')"
    ;;
perf)
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cd "$work"
    unset MALLOC_PERTURB_ # perf 6.12 aborts with it now and then
    # Those that libtraceevent has no text of its own for. It shows the flags of timer_start, "flags & (A | B | C)", wrong.
    events='irq:*,raw_syscalls:*,sched:sched_process_*,sched:sched_migrate_task'
    for compression in "" -z; do
        # shellcheck disable=SC2086 # none or one
        perf record $compression -a -e "$events" -o data -- sh -c 'for n in 1 2 3 4 5 6 7 8; do ls -R /bin >list; sleep 0.01; done' \
            >said 2>&1 || skip "perf cannot record here: $(tail -n 1 said)"
        perf script --ns -F comm,tid,cpu,time,event,trace --show-lost-events -i data >printed 2>said || {
            cat said
            exit 1
        }
        python3 "$here/../golden/perf_data.py" "$STRATA_BIN/strata" data printed
        echo "perf record $compression: $(wc -l <printed) lines as perf script prints them"
    done
    echo "tried: perf $(perf --version | sed -n 's/^perf version \([0-9.]*\).*/\1/p')"
    ;;
esac
