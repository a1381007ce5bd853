#!/bin/sh
# The agent by the old protocol, on this machine's own kernel: tests/agent/virtio_trace.py.
set -eu

if [ "$(id -u)" -ne 0 ]; then
    echo "agent_virtio_trace: SKIPPED: only root may read this machine's kernel trace" >&2
    exit 77
fi
exec python3 "$(dirname "$0")/../agent/virtio_trace.py" "$STRATA_BIN"
