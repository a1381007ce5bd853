#!/bin/sh
# Clocks tightened by causes and effects: a real recording, and copies of it whose guest's clock is changed.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/perfetto.sh"

xz -dc "$DATA/io/virtio-blk.tar.xz" | tar -x

case="a real recording"
"$strata" info vm >info 2>err || fail "$(cat err)"
grep '^  tightened ' info >lines || fail "says nothing: $(cat info)"
[ "$(wc -l <lines)" = 1 ] || fail "not of the guest alone: $(cat lines)"
"$strata" info -f json vm >json
"$strata" info --no-causal vm >info
! grep tightened info || fail "--no-causal tightens"
"$strata" info -f json --no-causal vm >without
! grep '"causal"' without || fail "--no-causal tightens"

# The guest's clock is ahead or behind by as much as its statement allows: what causes and effects leave of it is the same
# span of the host's time, within both errors.
case="within the stated error"
move() { # DIR NS ERROR: a copy whose guest's times are NS later, and stated to be ERROR worse
    cp -r vm "$1"
    awk -v ns="$2" -v error="$3" '{ printf "%.0f %s %.0f\n", $1 + ns, $2, $3 + error }' vm/guest-guest/clock-pairs \
        >"$1/guest-guest/clock-pairs"
}
move later 3000000 3000000
move sooner -700000 700000
"$strata" info -f json later sooner >>json

# Beyond it, which no statement covers.
case="beyond the stated error"
move wrong 60000000 0
move early -60000000 0
"$strata" info -f json wrong early >>json
"$strata" info wrong >info
grep -q '^  tightened  *no: [0-9]* of [0-9]* causes and effects contradict the stated error of 64.3us, the worst by ' info ||
    fail "says nothing of a wrong clock: $(grep tightened info)"

python3 - json <<'END' || fail "wrong"
import json, sys
found = {}
for line in open(sys.argv[1]):
    row = json.loads(line)
    if "causal" in row:
        assert row["layer"] == "guest", row
        found[row["path"]] = row["causal"]
assert set(found) == {"vm", "later", "sooner", "wrong", "early"}, found.keys()
for path in "vm", "later", "sooner":
    causal = found[path]
    assert causal["violations"] == 0 and causal["pairs"] >= 100, (path, causal)
    assert causal["error_ns"] < causal["stated_ns"] / (1.5 if path == "vm" else 5), (path, causal)
for path in "wrong", "early":
    causal = found[path]
    assert causal["violations"] >= 5, (path, causal)
    assert causal["error_ns"] is None and causal["stated_ns"] > 0, (path, causal)
    assert causal["worst_ns"] > 0 and causal["worst"], (path, causal)
END

# Analyses: narrower rows, and no tightening by a wrong clock.
case="strata io"
"$strata" io -f json vm >rows 2>err || fail "$(cat err)"
"$strata" io -f json --no-causal vm >stated
"$strata" io -f json wrong >rows-wrong 2>err || fail "$(cat err)"
grep -q "^strata: wrong: source 'guest': the clock is not tightened: [0-9]* of " err || fail "$(cat err)"
"$strata" io -f json --no-causal wrong >stated-wrong 2>err
[ ! -s err ] || fail "$(cat err)"
"$strata" io vm | grep -q '^clock error of guest ±[0-9.]*us (stated ±64.3us), by [0-9]* causes and effects$' || fail "text"
python3 - <<'END' || fail "rows"
import json
rows, stated, wrong, stated_wrong = (json.load(open(name)) for name in ("rows", "stated", "rows-wrong", "stated-wrong"))
clock, = rows["clocks"]
assert clock["source"] == "guest" and clock["error_ns"] < clock["stated_ns"] / 1.5 and clock["violations"] == 0, clock
clock, = wrong["clocks"]
assert clock["violations"] > 0 and clock["error_ns"] is None and clock["worst_ns"] > 0 and clock["worst"], clock
# An error that is known to be false is not printed.
for a, b in zip(wrong["rows"], stated_wrong["rows"]):
    assert a.pop("error") == (b.pop("error") and None) and a == b, (a, b)
assert "clocks" not in stated
def stage(result, name):
    return next(row for row in result["rows"] if row["key"]["stage"] == name and row["key"]["kind"] == "read"
                and row["key"]["layer"] == "guest")
assert sum(row["negative"] for row in rows["rows"]) <= sum(row["negative"] for row in stated["rows"])
for name in "kick", "inject":
    a, b = stage(rows, name), stage(stated, name)
    assert a["n"] == b["n"] and a["error"] < b["error"] / 1.5, (a, b)
END

# Where requests are still joined across the clocks, their rows have an error, which is not known.
case="rows between two clocks"
move near 200000 0
"$strata" io -f json near >rows-wrong 2>err || fail "$(cat err)"
"$strata" io -f json --no-causal near >stated-wrong 2>err || fail "$(cat err)"
python3 - <<'END' || fail "rows"
import json
wrong, stated = (json.load(open(name))["rows"] for name in ("rows-wrong", "stated-wrong"))
assert any(row["error"] > 0 for row in stated), stated
assert [row["error"] for row in wrong] == [row["error"] and None for row in stated], wrong
END
"$strata" io near >lines 2>err || fail "$(cat err)"
! grep '±[0-9]' lines || fail "prints an error that does not hold"

# Of the wrong clock no time has an error that is a number, and all others have theirs.
case="events of a wrong clock"
"$strata" report -f text near >lines 2>err || fail "$(cat err)"
grep ' guest ' lines | grep -v '±?' && fail "report states an error of the guest's events"
grep ' vmm ' lines | grep -qv '±[0-9]' && fail "report states none of the monitor's"
"$strata" report -f json near >json 2>err || fail "$(cat err)"
"$strata" report -f csv near >csv 2>err || fail "$(cat err)"
"$strata" sql --format=json -c "SELECT layer, error_ns FROM event UNION ALL
    SELECT 'span', error_ns FROM span WHERE error_ns > 0" near >sql 2>err || fail "$(cat err)"
export_perfetto near || fail "$(cat err)"
perfetto_marks >marks
python3 - <<'END' || fail "errors"
import csv, json
rows = [json.loads(line) for line in open("json")]
assert all(row.get("error_ns", 0) is None for row in rows if row["layer"] == "guest")
assert all(row.get("error_ns", 0) is not None for row in rows if row["layer"] != "guest")
for row in csv.DictReader(open("csv")):
    assert (row["error_ns"] == "") == (row["layer"] == "guest"), row
for line in open("sql"):
    row = json.loads(line)
    assert row["layer"] != "span" and (row.get("error_ns") is None) == (row["layer"] == "guest"), row
errors = [mark["args"]["strata.error_ns"] for mark in map(json.loads, open("marks")) if "strata.error_ns" in mark["args"]]
assert errors.count("unknown") > 1000 and any(error for error in errors), len(errors)
END

case="the page"
XDG_CACHE_HOME=$work/cache
export XDG_CACHE_HOME
for i in built kept; do
    python3 - "$strata" <<'END' || fail "$i"
import json, re, signal, subprocess, sys, urllib.request
NOTE = r"the clock of guest is wrong: \d+ of \d+ causes and effects contradict the stated error of 64.3us, the worst by .*"
for trace, is_wrong in ("near", True), ("vm", False):
    process = subprocess.Popen([sys.argv[1], "serve", trace], stdout=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip()
        def get(what):
            with urllib.request.urlopen(f"{address}api/{what}", timeout=60) as answer:
                return json.load(answer)
        told = get("trace")
        assert re.fullmatch(NOTE if is_wrong else "", told["clock_note"]), told["clock_note"]
        assert (told["error_ns"] is None) == is_wrong, told["error_ns"]
        errors = {event["error_ns"] for event in get(f"events?from={told['duration'] // 2}&limit=1000")["events"]}
        assert errors <= {0, None} if is_wrong else max(errors) > 0, errors
        assert (None in errors) == is_wrong, errors
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
END
done

case="strata summary"
wrong='the clock of guest is wrong by an unknown amount: [0-9]* of [0-9]* causes and effects contradict the stated error of'
"$strata" summary wrong >lines 2>err || fail "$(cat err)"
grep -q "^- $wrong" lines || fail "$(head -n 12 lines)"
! grep ' guest  *guest ' lines | grep '±[0-9]' || fail "prints an error that does not hold"
"$strata" summary -f json wrong >json 2>err || fail "$(cat err)"
python3 - json <<'END' || fail "summary"
import json, sys
summary = json.load(open(sys.argv[1]))
assert any(finding["text"].startswith("the clock of guest is wrong") for finding in summary["findings"])
assert next(source for source in summary["sources"] if source["source"] == "guest")["error_ns"] is None
END
"$strata" summary --html page.html wrong 2>err || fail "$(cat err)"
grep -q "$wrong" page.html || fail "the page says nothing"
"$strata" io --slowest 2 wrong >lines 2>err || fail "$(cat err)"
grep -q "^the clock of guest is wrong: [0-9]* of" lines && ! grep '±[0-9]' lines || fail "$(cat lines)"
"$strata" io --events wrong >lines 2>err || fail "$(cat err)"

case="report and export"
"$strata" report -f json --layer guest,vmm --no-causal vm >stated 2>err || fail "$(cat err)"
"$strata" report -f json --layer guest,vmm vm >tightened 2>err || fail "$(cat err)"
[ ! -s err ] || fail "$(cat err)"
python3 - stated tightened <<'END' || fail "report"
import json, sys
stated, tightened = ([json.loads(line) for line in open(name)] for name in sys.argv[1:])
def errors(events):
    return [event["error_ns"] for event in events if event["layer"] == "guest" and "event" in event]
assert len(errors(stated)) == len(errors(tightened)) > 1000
assert max(errors(tightened)) < max(errors(stated)) / 1.5, (max(errors(tightened)), max(errors(stated)))
def early(events): # requests that QEMU handles before the guest issues them
    issued = {}
    return sum(1 for event in events if "event" in event and
               ((event["event"] == "block_rq_issue" and issued.setdefault(event["fields"]["sector"], True) is None) or
                (event["event"] == "virtio_blk_handle_read" and event["fields"]["sector"] not in issued)))
assert early(tightened) <= early(stated)
END
"$strata" export --to csv --no-causal --layer guest,vmm vm >export.csv 2>err || fail "$(cat err)"
[ ! -s err ] || fail "$(cat err)"
"$strata" report -f csv --no-causal --layer guest,vmm vm >report.csv
cmp report.csv export.csv >&2 || fail "export has other times"
"$strata" report wrong >out 2>err || fail "$(cat err)"
grep -q "^strata: wrong: source 'guest': the clock is not tightened: " err || fail "$(cat err)"

# What was found is kept if it took long; here it did not.
[ ! -e cache/strata/clocks ] || fail "$(ls -R cache)"

# The command that --slowest prints shows the begin and the end of the span, at the very times of the analysis, also of a part
# of the trace.
case="the command of --slowest"
cat >command.py <<'EOF'
import json, subprocess, sys

strata = sys.argv[1]

def run(*arguments):
    return subprocess.run([strata, *arguments], capture_output=True, text=True, check=True).stdout

for options in [], ["--from", "29749.58", "--until", "29749.7"]:
    slowest = json.loads(run("io", "-fjson", "--layer", "guest,vmm", "--slowest", "16", *options, "vm"))["slowest"]
    assert len(slowest) == 16
    command = run("io", "--layer", "guest,vmm", "--slowest", "1", *options, "vm").splitlines()[-1].split()
    assert command[:2] == ["strata", "report"], command
    at = {name: command.index(name) + 1 for name in ("--from", "--until")}
    def ns(name):
        return int(command[at[name]].replace(".", ""))
    assert (slowest[0]["begin_ns"], slowest[0]["end_ns"]) == (ns("--from"), ns("--until")), command
    for span in slowest:
        window = list(command[1:])
        for name, time in ("--from", span["begin_ns"]), ("--until", span["end_ns"]):
            window[at[name] - 1] = "%d.%09d" % divmod(time, 10 ** 9)
        events = [json.loads(line) for line in run(*window, "-fjson").splitlines()]
        begins = [e["time_ns"] for e in events if e["event"] in ("block_bio_queue", "block_rq_issue")]
        ends = [e["time_ns"] for e in events if e["event"] == "block_rq_complete" and e["layer"] == "guest"]
        assert span["begin_ns"] in begins and span["end_ns"] in ends, (options, span)
EOF
python3 command.py "$strata" || fail "misses a span"
