#!/bin/sh
# The page of the timeline while its trace is being recorded, in a real browser: see tests/web/live.py.
. "$(dirname "$0")/../lib/golden.sh"

for command in python3 chromium chromedriver; do
    command -v $command >/dev/null || { echo "SKIPPED: $command is not installed"; exit 77; }
done
export XDG_CACHE_HOME="$work/cache"
mkdir cache

python3 "$here/../web/live.py" "$strata" "$EMIT"
