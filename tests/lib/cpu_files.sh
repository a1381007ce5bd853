# Sourced. check_cpu_files DIR: each kernel of the trace directory DIR has the files of pages that its manifest states, with
# their sizes; a source that has not ended states none.
# shellcheck shell=sh
check_cpu_files() {
    jq -r '.sources[] | select(.kind == "ftrace") | select(.complete or .ended) | .path as $path | .cpus[] |
        "\($path)/cpu\(.id).raw \(.bytes)"' "$1/trace.json" | sort >cpus-stated || return 1
    (cd "$1" && for path in $(jq -r '.sources[] | select(.kind == "ftrace") | select(.complete or .ended) | .path' trace.json); do
        stat -c '%n %s' "$path"/cpu*.raw
    done) | sort >cpus-there || return 1
    [ -s cpus-there ] && diff cpus-stated cpus-there >&2 &&
        [ "$(jq '[.sources[] | select((.complete or .ended) | not) | .cpus // [] | length] | add // 0' "$1/trace.json")" -eq 0 ]
}
