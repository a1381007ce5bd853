#!/bin/sh
# The agent by its own protocol, on this machine's own kernel: tests/agent/agent_protocol.py.
set -eu

if [ "$(id -u)" -ne 0 ]; then
    echo "agent_protocol: SKIPPED: only root may read this machine's kernel trace" >&2
    exit 77
fi
exec python3 "$(dirname "$0")/../agent/agent_protocol.py" "$STRATA_BIN"
