#!/bin/sh
# strata path: the paths of a real recording, whose slow request is known. simulation.sh compares those of made machines with the truth.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

xz -dc "$DATA/io/virtio-blk.tar.xz" | tar -x

# sound FILE: the segments of each interval follow each other from its begin to its end, and the rows of a kind are all of it.
sound() {
    jq -e '(.slowest | length > 0) and all(.slowest[];
        (.stages | length > 0) and .stages[0].begin_ns == .begin_ns and .stages[-1].end_ns == .end_ns and
        ([.stages[:-1][].end_ns] == [.stages[1:][].begin_ns]) and all(.stages[]; .begin_ns < .end_ns))' "$1" >/dev/null ||
        fail "segments have gaps"
    jq -e '[.rows | group_by(.key.of)[] | (map(.part) | add), (map(.slow_part) | add)] |
        all(. > 0.9999 and . < 1.0001)' "$1" >/dev/null || fail "parts do not add up"
    # Of all intervals, each of which is listed: times are rounded to nanoseconds.
    jq -e '.rows as $rows | .slowest | group_by(.name | split(" of ")[0])[] | (.[0].name | split(" of ")[0]) as $of |
        (map(.end_ns - .begin_ns) | add) as $all | ([$rows[] | select(.key.of == $of).sum] | add) |
        . - $all | fabs <= 200' "$1" >/dev/null || fail "sums are not those of the intervals"
}

case="requests"
"$strata" path -f json --slowest 1000 vm >found 2>err || fail "$(cat err)"
sound found
# QEMU's main loop waits 4 ms for the only CPU, as strata io says of this request, too.
jq -e '[.slowest[] | select(.name == "guest read of 254,0 sector 20224")][0].stages | max_by(.end_ns - .begin_ns) |
    .layer == "host" and .name == "qemu-system-x86-5559  waits for CPU 0, behind ALL CPUs/TCG-5574 99%" and
    .end_ns - .begin_ns > 4000000' found >/dev/null || fail "the slow request"
jq -e '.rows[] | select(.key == {of: "guest read", layer: "host", who: "qemu-system-x86", what: "waits for a CPU",
    cause: "behind ALL CPUs/TCG"}) | .slow_part > 0.9 and .rest_part < 0.2' found >/dev/null || fail "the cause of the slowest"
"$strata" path --slowest 1 vm >text 2>err || fail "$(cat err)"
grep -q '^guest read: SLOW% is of the 1 of 121 that took 4.46ms or longer, REST% of the others$' text || fail "$(tail -40 text)"
grep -q '^    29749.584411789    9.13ms  guest  disk 254,0  queued$' text || fail "$(tail -40 text)"
"$strata" path --folded vm >folded 2>err || fail "$(cat err)"
[ "$(awk '{ sum += $NF } END { print sum }' folded)" = "$(jq '[.rows[].sum] | add' found)" ] || fail "folded: other sums"

case="without the host"
"$strata" path -f json --slowest 1000 --layer guest,vmm vm >found 2>err || fail "$(cat err)"
sound found
jq -e 'all(.rows[]; .key.layer != "host") and any(.rows[]; .key.layer == "vmm" and .key.what == "backend" and .key.cause == "? no scheduler events of the host")' \
    found >/dev/null || fail "stages of QEMU"

# Each unknown part has its reason.
jq -e 'all(.rows[]; .key.cause != "?")' found >/dev/null || fail "$(jq -c '.rows[].key' found)"

case="what the path is made of"
"$strata" path -f json --slowest 1000 vm >all 2>err || fail "$(cat err)"
# Two neighbours are two lines only if they say something else.
jq -e 'all(.slowest[]; .stages as $s | all(range(1; $s | length); $s[.].name != $s[. - 1].name or ($s[.].name | test("%"))))' \
    all >/dev/null || fail "two neighbours are the same"
# The shares come first, also in a narrow terminal.
for columns in 100 120; do
    COLUMNS=$columns "$strata" path vm >narrow
    head -n 1 narrow | grep -q 'CAUSE .*PART%  *SLOW%' || fail "$columns: $(head -n 2 narrow)"
    ! head -n 1 narrow | grep ERROR | grep -qv 'PART% .*SLOW% .*REST% .*ERROR' || fail "$columns: $(head -n 2 narrow)"
done
"$strata" path --wide vm | head -n 1 | grep -q 'PART% *SLOW% *REST% *N .* ERROR$' || fail "--wide"

case="errors of durations are those of strata io"
"$strata" io -f json --layer guest,vmm vm >io 2>err || fail "$(cat err)"
jq -ne --slurpfile path found --slurpfile io io '
    ($io[0].rows | map(select(.key.layer == "guest" and .key.kind == "read")) | map({(.key.stage): .error}) | add) as $errors |
    [$path[0].rows[] | select(.key.of == "guest read")] |
    length >= 8 and all(.[]; .error == $errors[.key.what | if . == "queued" then "queue" else . end]) and
    $errors.kick > 1000 and $errors.dispatch < 10' >/dev/null || fail "$(jq -c '.rows[] | [.key, .error]' found io)"

case="another QEMU on the host"
"$strata" path -f json --layer guest,host,vmm vm >found 2>err || fail "$(cat err)"
cp -r vm two
python3 - <<'END'
# Its vCPUs' thread has the name that the recorded one's has.
import glob
for path in glob.glob("two/host/cpu*.raw"):
    data = open(path, "rb").read()
    changed = data.replace(b"clang-14\0\0\0\0", b"ALL CPUs/TCG")
    assert changed != data
    open(path, "wb").write(changed)
END
"$strata" path -f json --layer guest,host,vmm two >other 2>err || fail "$(cat err)"
jq -e --slurpfile found found '[.rows[] | select(.key.of == "guest read" and .key.who == "ALL CPUs/TCG") | .sum] | add as $sum |
    [$found[0].rows[] | select(.key.of == "guest read" and .key.who == "ALL CPUs/TCG") | .sum] | add == $sum and $sum > 1e7' other >/dev/null ||
    fail "$(jq -c '.rows[] | select(.key.of == "guest read") | [.key, .sum]' other)"

case="waits of a task"
"$strata" path -f json --waits --task dd --slowest 1000 vm >found 2>err || fail "$(cat err)"
sound found
# It waits for flushes, whose completions are followed by those of the empty writes that they were made of.
jq -e 'all(.slowest[]; .task == "dd") and all(.rows[]; .key.what != "?") and
    any(.rows[]; .key.who == "disk 254,0" and .key.what == "device")' found >/dev/null || fail "$(jq .rows found)"

case="all of the time of a task"
"$strata" path -f json --threads --task dd --slowest 1000 vm >found 2>err || fail "$(cat err)"
sound found
"$strata" sched -f json --states --task dd vm >states 2>err || fail "$(cat err)"
jq -ne --slurpfile path found --slurpfile states states '[$path[0].rows[].sum] | add as $sum |
    [$states[0].rows[] | select(.key.task == "dd").sum] | add - $sum | fabs < 1000' >/dev/null ||
    fail "$(jq -c '.rows[] | [.key, .sum]' found states)"
# Between two times, it is at most as long as that for each of the threads.
"$strata" path -f json --threads --task dd --from 29749.60 --until 29749.65 --slowest 1000 vm >found 2>err || fail "$(cat err)"
jq -e '([.slowest[].pid] | unique | length) as $n | ([.rows[].sum] | add) as $sum | $sum > 10000000 and $sum <= $n * 50000000 and
    all(.slowest[]; .begin_ns >= 29749600000000 and .end_ns <= 29749650000001)' found >/dev/null || fail "$(jq -c .slowest[] found)"

case="tables of SQL"
"$strata" path -f json vm >found 2>err || fail "$(cat err)"
"$strata" sql --format json -c 'SELECT * FROM blame' vm >blame 2>err || fail "$(cat err)"
python3 - found blame <<'END' || fail "blame is not what path shows"
import json, sys
rows = {tuple(row["key"][k] for k in ("of", "layer", "who", "what", "cause")): (row["n"], row["sum"], row["part"])
        for row in json.load(open(sys.argv[1]))["rows"]}
text = open(sys.argv[2]).read()
blame = json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]
blame = {tuple(row[k] for k in ("kind", "layer", "who", "what", "cause")): (row["n"], row["sum_ns"], row["part"]) for row in blame}
assert rows.keys() == blame.keys() and len(rows) > 20, rows.keys() ^ blame.keys()
for key, (n, total, part) in rows.items():
    assert blame[key][0] == n and abs(blame[key][1] - total) <= n and abs(blame[key][2] - part) < 1e-4, (key, blame[key], n, total, part)
END
[ "$("$strata" sql --format csv -c 'SELECT count(*) FROM (SELECT begin_ns - lag(end_ns) OVER (PARTITION BY interval ORDER BY begin_ns, end_ns) AS gap
    FROM path) WHERE gap <> 0' vm | tail -1 | tr -d '\r')" = 0 ] || fail "path has gaps"
"$strata" sql --format csv --pair 'wrote: virtio_blk_handle_write(req) -> virtio_blk_req_complete(req)' \
    -c 'SELECT DISTINCT kind FROM path' vm >found 2>err || fail "$(cat err)"
[ "$(tail -1 found | tr -d '\r')" = wrote ] || fail "$(cat found)"

case="spans of a rule"
"$strata" path -f json virtio-blk --pair 'block_rq_issue(sector) -> block_rq_complete(sector)' --slowest 1000 vm >found 2>err || fail "$(cat err)"
jq -e '[.slowest[].name] | unique | length == 2' found >/dev/null || fail "$(jq '[.slowest[].name] | unique' found)"

case="exits of KVM"
xz -dc "$DATA/kvm/exits.tar.xz" | tar -x
"$strata" path -f json --waits --slowest 1000 trace >found 2>err || fail "$(cat err)"
sound found
jq -e 'any(.rows[]; .key.who == "kvm-guest" and .key.what == "outside its guest" and .key.cause == "exit io")' found >/dev/null ||
    fail "$(jq -c '.rows[].key | select(.what == "outside its guest")' found)"

case="errors"
# says STATUS MESSAGE OPTION...
says() {
    expected=$1
    message=$2
    shift 2
    status=0
    "$strata" path "$@" vm >out 2>err || status=$?
    [ $status -eq "$expected" ] && grep -qFe "$message" err || fail "$*: status $status: $(cat err)"
}
says 1 "no requests to disks are in this trace; name a rule" --layer vmm -e 'blk_co_*'
says 2 "unknown option '--by'" --by task
says 2 "excludes the rule 'block'" --waits block
says 2 "--threads excludes the rule 'block'" --threads block
says 1 "no waits of threads are in this trace" --waits --layer vmm
