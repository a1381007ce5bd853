#!/bin/sh
# The agent by the old protocol, on this machine's own kernel: tests/agent/old.py.
set -eu

if [ "$(id -u)" -ne 0 ]; then
    echo "agent_old: SKIPPED: only root may read this machine's kernel trace" >&2
    exit 77
fi
exec python3 "$(dirname "$0")/../agent/old.py" "$STRATA_BIN"
