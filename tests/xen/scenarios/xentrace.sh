# Debian's own xentrace records work of dom0 and of guests: all classes, and all but the guests' own
# (with that one, xenalyze gives up).
. /common.sh

# debian_records FILE OPTION...
debian_records() {
    file=$1
    shift
    xentrace "$@" "$file" &
    recorder=$!
    until_true 240 grown "$file" 0 || say "FAILED: xentrace records nothing into $file"
    work 20
    run_guest pvh
    kill -TERM $recorder
    wait $recorder || say "FAILED: xentrace: status $?"
    say "$file: $(wc -c <"$file") bytes"
}

debian_records debian-all.raw -D -e all
debian_records debian-no-guest.raw -D -e 0x7fff000
