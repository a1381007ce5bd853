#!/bin/sh
# strata record --metrics, --metrics-file: what is served while programs, QEMU and the host's kernel are recorded, and
# what a real Prometheus makes of it. $EMIT: tests/runtime.
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/reserve_port.sh"
. "$here/../lib/fetched.sh"

pids=
at_exit='[ -z "$pids" ] || kill -KILL $pids 2>/dev/null || :'
export XDG_RUNTIME_DIR="$work/run"
mkdir -m 700 run
command -v curl >/dev/null || { echo "SKIPPED: curl is not installed"; exit 77; }

# Prometheus's programs: installed, or of the package that was fetched; installed by a test, it would be a service.
prometheus=$(command -v prometheus) promtool=$(command -v promtool) || :
deb=$(fetched_package prometheus prometheus)
if [ -z "$prometheus" ] && [ "$deb" ]; then
    dpkg-deb -x "$deb" unpacked
    prometheus=$work/unpacked/usr/bin/prometheus promtool=$work/unpacked/usr/bin/promtool
fi

# begin NAME OPTION...: records into NAME with metrics at a free port: $url, $recorder.
begin() {
    name=$1
    shift
    "$strata" record -o "$name" --metrics=0 --metrics-file="$name.prom" "$@" >"$name.out" 2>"$name.err" &
    recorder=$!
    pids="$pids $recorder"
    wait_for "grep -qs '^strata: metrics: http' $name.err || grep -qs '^metrics: http' $name.err"
    url=$(sed -n 's/.*metrics: \(http:[^ ]*\).*/\1/p' "$name.err")
}
# port_of URL
port_of() {
    echo "$1" | sed 's|.*:\([0-9]*\)/.*|\1|'
}
# has PATTERN: it is served.
has() {
    curl -sf "$url" >served && grep -qE -- "$1" served
}
# has_more SERIES N: its value is more than that.
has_more() {
    has "$1" && [ "$(value served "$1")" -gt "$2" ]
}
ends() {
    status=0
    wait "$recorder" || status=$?
    [ $status -eq "$1" ] || fail "exit status $status: $(cat "$name.err")"
}
# value FILE SERIES: its value.
value() {
    awk -v series="$2" '$1 ~ series { print $NF; exit }' "$1"
}
# begin_scraping PORT: Prometheus scrapes it, with data of its own.
begin_scraping() {
    cat >prometheus.yml <<END
global: {scrape_interval: 200ms}
scrape_configs:
  - job_name: strata
    static_configs: [{targets: ['127.0.0.1:$1']}]
END
    "$promtool" check config prometheus.yml >checked 2>&1 || fail "$(cat checked)"
    reserve_port
    api=$port
    "$prometheus" --config.file=prometheus.yml --storage.tsdb.path="data-$1" --web.listen-address="127.0.0.1:$api" \
        >prometheus.log 2>&1 &
    scraper=$!
    pids="$pids $scraper $reserved"
}
end_scraping() {
    kill -TERM $scraper $reserved
    wait $scraper $reserved || :
}
# query EXPRESSION JQ: whether the answer satisfies JQ.
query() {
    curl -sfG --data-urlencode "query=$1" "http://127.0.0.1:$api/api/v1/query" >answer 2>&1 && jq -e "$2" answer >/dev/null
}
check_text() {
    [ -z "$promtool" ] || "$promtool" check metrics <"$1" >checked 2>&1 || fail "$1: $(cat checked "$1")"
}

# A program: counts are those that strata report has, both formats agree, and the file is there when it has ended.
case=program
mkfifo go
begin program -- sh -c "'$EMIT' 3000 2 >emitted; : >done; cat go"
wait_for "[ -e done ]"
wait_for has '^strata_recorded_events_total\{source="program-[0-9]+",layer="vmm",machine="'"$(hostname)"'"\} 6000$'
grep -q '^# TYPE strata_recorded_events_total counter$' served || fail "$(cat served)"
grep -q '^strata_source_running{.*} 1$' served && grep -q '^strata_source_complete{.*} 0$' served || fail "$(cat served)"
grep -q '^strata_lost_events_total{.*} 0$' served || fail "$(cat served)"
grep -q '^strata_clock_error_seconds{.*} ' served || fail "$(cat served)"
grep -q "^strata_build_info{version=\"$("$strata" --version | sed 's/^strata //')\"} 1$" served || fail "$(cat served)"
[ "$(value served '^strata_recorded_bytes_total[{]')" -gt 10000 ] || fail "$(cat served)"
check_text served
curl -sfi -H 'Accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5' "$url" >open
tr -d '\r' <open | grep -qi '^content-type: application/openmetrics-text; version=1.0.0; charset=utf-8$' || fail "$(cat open)"
grep -q '^# TYPE strata_recorded_events counter$' open && grep -q '^# UNIT strata_recorded_bytes bytes$' open &&
    [ "$(tail -n 1 open)" = '# EOF' ] || fail "$(cat open)"
[ "$(curl -s -o /dev/null -w '%{http_code}' "${url%metrics}")" = 404 ] || fail "not 404"
[ "$(curl -s -o /dev/null -w '%{http_code}' -d x "$url")" = 405 ] || fail "not 405"
# A site whose name resolves to this machine.
[ "$(curl -s -o /dev/null -w '%{http_code}' -H 'Host: site.example' "$url")" = 403 ] || fail "not 403"
[ "$(curl -s -o /dev/null -w '%{http_code}' -H 'Host: localhost:80' "$url")" = 200 ] || fail "not 200"
# Many clients, some of which never ask, or send byte after byte: the others are answered.
python3 - "$url" <<'END_OF_SCRIPT' || fail "silent clients"
import socket, sys, threading, urllib.parse, urllib.request
address = urllib.parse.urlparse(sys.argv[1])
def ask():
    assert b'strata_recorded_events_total' in urllib.request.urlopen(sys.argv[1], timeout=240).read()
silent = []
for i in range(300):
    silent.append(socket.create_connection((address.hostname, address.port), timeout=240))
    silent[-1].send(b'GET /met')
    if i % 30 == 29:
        ask()
for _ in range(20):
    ask()
for s in silent:
    s.close()
ask()
def trickle(s):
    s.sendall(b'GET /metrics HTTP/1.1\r\nX: ')
    try:
        while not done.wait(0.5):
            s.sendall(b'x')
    except OSError:
        pass
done = threading.Event()
threads = [threading.Thread(target=trickle, args=(socket.create_connection((address.hostname, address.port)),))
           for _ in range(16)]
for thread in threads:
    thread.start()
ask()
done.set()
for thread in threads:
    thread.join()
END_OF_SCRIPT

# The port is in use: an error that says so, before the command runs.
case="port in use"
taken=$(port_of "$url")
status=0
"$strata" record -o second --metrics="$taken" -- touch ran >out 2>err || status=$?
[ $status -eq 1 ] && grep -q "^strata: --metrics: the port of '$taken' is in use; choose another" err || fail "$status: $(cat err)"
[ ! -e ran ] && [ ! -e second ] || fail "something is left"
for wrong in 127.0.0.1:99999 99999 ''; do
    status=0
    "$strata" record -o second --metrics="$wrong" -- touch ran >out 2>err || status=$?
    [ $status -eq 2 ] && [ ! -e ran ] && grep -qE "^strata record: --metrics: invalid (address|port) '$wrong'" err || fail "'$wrong': $status: $(cat err)"
done
status=0
"$strata" record -o second --metrics=1:2:3 -- touch ran >out 2>err || status=$?
[ $status -eq 1 ] && [ ! -e ran ] && grep -q "^strata: cannot find the address '1:2:3'" err || fail "$status: $(cat err)"
status=0
"$strata" record -o second --metrics-file=missing/file.prom -- touch ran >out 2>err || status=$?
[ $status -eq 1 ] && grep -q "^strata: missing/file.prom: cannot write metrics: No such file" err && [ ! -e ran ] || fail "$(cat err)"
# Nothing but a file is replaced; nor is one removed that was there.
mkfifo pipe
ln -s /dev/null null
: >there.prom
for wrong in pipe . null; do
    status=0
    "$strata" record -o second --metrics-file=$wrong -- touch ran >out 2>err || status=$?
    [ $status -eq 1 ] && grep -qF "strata: $wrong: cannot write metrics: it is not a regular file" err && [ ! -e ran ] || fail "$(cat err)"
done
[ -p pipe ] && [ -c null ] || fail "it was replaced"
"$strata" record -o second --metrics-file=there.prom -- ./missing >out 2>err && fail "$(cat err)"
[ -e there.prom ] || fail "it was removed"

# A real Prometheus scrapes it, in its own format.
case=prometheus
if [ -n "$prometheus" ]; then
    begin_scraping "$taken"
    wait_for query 'strata_recorded_events_total{source=~"program-.*"}' '.data.result[0].value[1] == "6000"'
    wait_for query 'up{job="strata"}' '.data.result[0].value[1] == "1"'
    wait_for query 'strata_build_info' '.data.result[0].metric.version != null'
    curl -sf "http://127.0.0.1:$api/api/v1/metadata?metric=strata_recorded_bytes" >answer
    jq -e '.data.strata_recorded_bytes[0] | .type == "counter" and .unit == "bytes"' answer >/dev/null || fail "$(cat answer)"
    end_scraping
else
    echo "record_metrics: SKIPPED in part: prometheus is missing; fetch it: tools/packages fetch prometheus build/prometheus/debs" >&2
fi
case=program
: >go
ends 0
[ "$(value program.prom '^strata_recorded_events_total[{]')" = 6000 ] || fail "$(cat program.prom)"
grep -q '^strata_source_running{.*} 0$' program.prom && grep -q '^strata_source_complete{.*} 1$' program.prom || fail "$(cat program.prom)"
! grep -q 'EOF\|UNIT' program.prom || fail "$(cat program.prom)"
check_text program.prom
[ "$(ls program.prom*)" = program.prom ] || fail "left: $(ls program.prom*)"
[ "$("$strata" report program | wc -l)" -eq 6000 ] || fail "the trace"

# This host's kernel beside it. Metrics of analyses while it is recorded, and at the end those that the verbs print of all of it.
case=host
if can_trace_kernel; then
    begin host --host --for=sched,irq --metrics-period=0.5 -t 600
    wait_for has '^strata_recorded_bytes_total\{source="host",layer="host",machine="[^"]+"\} [1-9]'
    wait_for has '^strata_wakeup_latency_seconds_count\{machine="'"$(hostname)"'",layer="host"\} [1-9]'
    first=$(value served '^strata_wakeup_latency_seconds_count[{]')
    check_text served
    wait_for has '^strata_analysis_windows_total\{result="(ok|late)"\} [2-9]'
    [ "$(value served '^strata_wakeup_latency_seconds_count[{]')" -ge "$first" ] || fail "$(cat served)"
    if [ -n "$prometheus" ]; then
        begin_scraping "$(port_of "$url")"
        wait_for query 'strata_wakeup_latency_seconds_bucket{layer="host",le="+Inf"}' '.data.result[0].value[1] | tonumber > 0'
        wait_for query 'histogram_quantile(0.99, strata_wakeup_latency_seconds_bucket)' '.data.result[0].value[1] | tonumber > 0'
        wait_for query 'strata_interrupt_seconds_total{kind="softirq"}' '.data.result[0].value[1] | tonumber > 0'
        curl -sf "http://127.0.0.1:$api/api/v1/metadata?metric=strata_wakeup_latency_seconds" >answer
        jq -e '.data.strata_wakeup_latency_seconds[0] | .type == "histogram" and .unit == "seconds"' answer >/dev/null || fail "$(cat answer)"
        end_scraping
    fi
    # The process that reads is killed: another one goes on, and nothing goes back.
    child=$(pgrep -P $recorder -x strata-watch) || fail "which process reads?"
    kill -KILL $child
    wait_for has '^strata_analysis_restarts_total 1$'
    read=$(value served '^strata_analyzed_events_total')
    wait_for has_more '^strata_analyzed_events_total' "$read"
    [ "$(value served '^strata_wakeup_latency_seconds_count[{]')" -ge "$first" ] || fail "$(cat served)"
    kill -TERM $recorder
    ends 0
    check_text host.prom
    begin rest --host --for=sched,irq --metrics-period=600 -t 600
    wait_for has '^strata_recorded_bytes_total\{source="host",layer="host",machine="[^"]+"\} [1-9]'
    wait_for has_more '^strata_recorded_events_total[{]' 3000
    ! grep -q '^strata_wakeup' served || fail "$(cat served)"
    kill -TERM $recorder
    ends 0
    # A loss takes back what was counted of it, but only in one window.
    [ "$(value rest.prom '^strata_lost_events_total[{]')" != 0 ] ||
        python3 "$here/watch_families.py" "$strata" --file=rest.prom rest wakeups interrupts >compared 2>&1 || fail "$(cat compared)"
    [ "$(value rest.prom '^strata_analyzed_events_total')" = "$(value rest.prom '^strata_recorded_events_total[{]')" ] || fail "$(cat rest.prom)"
    # One process reads for triggers and for metrics.
    begin both --host --for=sched --metrics-period=0.5 --flight=60s --on='lost > 1000000000' -t 600
    wait_for has '^strata_wakeup_latency_seconds_count\{machine="'"$(hostname)"'",layer="host"\} [1-9]'
    [ "$(pgrep -P $recorder -x strata-watch | wc -l)" -eq 1 ] || fail "$(pgrep -a -P $recorder)"
    kill -TERM $recorder
    ends 0
    # What the agent sends too late, as it had no CPU for a second, may be missed, as the recorder reports.
    [ "$(value both.prom '^strata_lost_events_total[{]')" != 0 ] || grep -q '^strata: --on: host did not send its events in time' both.err ||
        python3 "$here/watch_families.py" "$strata" --file=both.prom both wakeups >compared 2>&1 || fail "$(cat compared)"
    begin none --host --for=sched --metrics-period=0 -t 600
    wait_for has '^strata_recorded_bytes_total\{source="host",layer="host",machine="[^"]+"\} [1-9]'
    ! grep -q '^# HELP strata_analy' served && ! pgrep -P $recorder -x strata-watch >/dev/null || fail "$(cat served)"
    kill -TERM $recorder
    ends 0
else
    echo "record_metrics: SKIPPED in part: $no_kernel" >&2
fi

# QEMU: its machine's name is a label, escaped; counters never go back.
case=QEMU
if command -v qemu-system-x86_64 >/dev/null; then
    begin vm -e 'pic_set_irq,runstate_set' -- qemu-system-x86_64 -M pc -nodefaults -display none -m 32 -name 'a "b\c,process=x'
    wait_for has '^strata_recorded_events_total\{source="vmm",layer="vmm",machine="a \\"b\\\\c"\} [1-9]'
    first=$(value served '^strata_recorded_events_total[{]')
    check_text served
    kill -TERM $recorder
    ends 0
    check_text vm.prom
    [ "$(sed -n 's/^strata_recorded_events_total{.*} //p' vm.prom)" -ge "${first:-0}" ] || fail "$(cat vm.prom)"
else
    echo "record_metrics: SKIPPED in part: qemu-system-x86_64 is not installed" >&2
fi
