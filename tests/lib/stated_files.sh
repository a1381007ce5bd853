# Sourced. check_stated_files DIR: each source of the trace directory DIR that has ended states its files, with their sizes, and
# those of no other; one that has not ended states none.
# shellcheck shell=sh
check_stated_files() {
    jq -r '.sources[] | select(.complete or .ended) | .files // {} | to_entries[] | "\(.key) \(.value)"' "$1/trace.json" |
        sort -u >files-stated || return 1
    (cd "$1" && jq -r '.sources[] | select((.complete or .ended) and .kind != "none") | .path, .events[]?, (.clock.pairs // empty)' \
        trace.json | while read -r path; do
        if [ -d "$path" ]; then
            find "$path" -maxdepth 1 -type f ! -name '.*' -exec stat -c '%n %s' {} +
        elif [ -f "$path" ]; then
            stat -c '%n %s' "$path"
        fi
    done) | sort -u >files-there || return 1
    [ -s files-there ] && diff files-stated files-there >&2 &&
        [ "$(jq '[.sources[] | select((.complete or .ended) | not) | .files // {} | length] | add // 0' "$1/trace.json")" -eq 0 ]
}
