#!/bin/sh
# Libraries that few commands need: only these load them, what is missing is reported, and the package names them.
. "$(dirname "$0")/../lib/golden.sh"

control=$tree/debian/control
xz -dc "$DATA/qemu/trace.simpletrace.xz" >trace

# without FILE COMMAND...: runs it where the library FILE cannot be loaded; it fails and says so.
without() {
    mkdir -p "no-$1"
    : >"no-$1/$1"
    library=$1
    shift
    status=0
    # A server that starts nevertheless would run until it is stopped.
    LD_LIBRARY_PATH=$PWD/no-$library timeout 240 "$strata" "$@" >out 2>err || status=$?
    [ "$status" -eq 1 ] || fail "strata $* without $library: status $status: $(cat err)"
    [ "$(wc -l <err)" -eq 1 ] || fail "strata $*: not one line: $(cat err)"
    grep -qF "$library cannot be loaded; install " err || fail "strata $* without $library says $(cat err)"
    for package in $(sed 's/.*Debian.s package \(.*\) (.*/\1/; s/ or / /' err); do
        grep -qE "^(Depends|Recommends):.*\\b$package\\b" "$control" || fail "debian/control has no $package"
    done
    # All others need it not.
    LD_LIBRARY_PATH=$PWD/no-$library "$strata" report --limit 3 trace >lines
    [ "$(wc -l <lines)" -eq 3 ]
}

without libcurl.so.4 export --to clickhouse --host-name=h --url http://localhost:1/traces trace
without libmicrohttpd.so.12 serve trace

# A library that is another one.
if [ -x "$(command -v cc)" ]; then
    mkdir other
    echo 'int nothing;' >other/nothing.c
    cc -shared -fPIC -o other/libcurl.so.4 other/nothing.c
    status=0
    LD_LIBRARY_PATH=$PWD/other "$strata" export --to clickhouse --host-name=h --url http://localhost:1/traces trace >out 2>err || status=$?
    [ "$status" -eq 1 ] && grep -qF "libcurl.so.4 has no function curl_" err || fail "another libcurl: status $status: $(cat err)"
fi
