#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a program that is built with LTTng-UST's tracepoints under a session daemon of its own:
#
#     lttng.sh PROGRAM [ARGUMENT]...
#
# prints what it prints and, on a second line, how many events LTTng discarded. Traces go into a tmpfs.
# 77: it cannot be done here.
set -eu
if [ "${1:-}" != --inside ]; then
    if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
        # Nothing of it stays, and a daemon that runs already is not met.
        exec unshare -m sh -c '
            mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /dev/shm && exec "$0" --inside "$@"' "$0" "$@"
    fi
    set -- --inside "$@"
fi
shift
command -v lttng >/dev/null && command -v lttng-sessiond >/dev/null || exit 77

dir=$(mktemp -d -p /dev/shm)
LTTNG_HOME=$dir
LTTNG_UST_REGISTER_TIMEOUT=10000
export LTTNG_HOME LTTNG_UST_REGISTER_TIMEOUT
lttng-sessiond --no-kernel >"$dir/log" 2>&1 &
daemon=$!
trap 'kill $daemon 2>/dev/null; wait $daemon; rm -rf "$dir"' EXIT

n=0
until lttng -n list >/dev/null 2>&1; do
    n=$((n + 1))
    { kill -0 $daemon 2>/dev/null && [ $n -lt 200 ]; } || exit 77
    sleep 0.1
done
{
    lttng -n create bench --output="$dir/trace"
    # As much memory as a ring of ours, for each processor.
    lttng -n enable-channel --userspace --discard --subbuf-size=1M --num-subbuf=4 bench
    lttng -n enable-event --userspace --channel=bench 'bench:pair,bench:text'
    lttng -n start
} >>"$dir/log" 2>&1 || {
    cat "$dir/log" >&2
    exit 1
}
"$@"
lttng -n stop >>"$dir/log" 2>&1
lttng -n list bench | sed -n 's/^ *Discarded events: *\([0-9]*\)$/{"discarded": \1}/p' | head -n 1
