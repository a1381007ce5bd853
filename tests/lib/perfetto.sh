# perfetto_decode FILE: what it holds, as protoc prints it; - is standard input.
# export_perfetto TRACE... [OPTION...]: exports to out.perfetto; what it holds is in decoded, as protoc prints it.
# perfetto_marks: what is in decoded, a line of JSON per mark (tests/golden/export_timeline.py).
perfetto_decode() {
    cat "$1" | protoc --decode=perfetto.protos.Trace -I "$here/../../src/export/timeline" perfetto.proto
}

export_perfetto() {
    "$strata" export --to perfetto -o out.perfetto "$@" 2>err || return
    perfetto_decode out.perfetto >decoded 2>err
}
perfetto_marks() {
    python3 "$here/export_timeline.py" decoded
}
