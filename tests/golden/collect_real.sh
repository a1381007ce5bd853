#!/bin/sh
# strata collect with the real agent, on this machine's own kernel: tests/golden/collect_real.py.
set -eu

if [ "$(id -u)" -ne 0 ]; then
    echo "collect_real: SKIPPED: only root may read this machine's kernel trace" >&2
    exit 77
fi
if ! [ -d /sys/kernel/tracing/instances ] || ! [ -w /sys/kernel/tracing/instances ]; then
    echo "collect_real: SKIPPED: there is no tracefs at /sys/kernel/tracing" >&2
    exit 77
fi
if ! [ -x "$STRATA_BIN/strata-agent" ]; then
    echo "collect_real: SKIPPED: there is no strata-agent in this build" >&2
    exit 77
fi
exec python3 "$(dirname "$0")/collect_real.py" "$STRATA_BIN"
