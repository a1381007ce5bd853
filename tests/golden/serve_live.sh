#!/bin/sh
# strata serve of a recording under way: what it answers grows with it, ends as strata stat counts it, and nothing but the
# last index is left in the cache.
. "$(dirname "$0")/../lib/golden.sh"
command -v python3 >/dev/null || { echo "SKIPPED: python3 is not installed"; exit 77; }
export XDG_CACHE_HOME="$work/cache"
mkdir cache

case="live"
python3 "$here/serve_live.py" "$strata" "$EMIT" || fail "serve_live.py"
