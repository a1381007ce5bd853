#!/bin/sh
# Where the locale is not UTF-8, what a verb itself prints is ASCII that says the same: nothing of it is escaped, and
# columns stay where they are.
. "$(dirname "$0")/../lib/golden.sh"

tar -xJf "$DATA/kvm/exits.tar.xz"
tar -xJf "$DATA/io/virtio-blk.tar.xz"
kvm=trace disk=vm

# looked_at FILE COMMAND: what it has is ASCII without escapes.
looked_at() {
    ! grep -n '\\[uUx][0-9a-f][0-9a-f]' "$1" || fail "escaped by: $2"
    ! LC_ALL=C grep -n '[^ -~	]' "$1" || fail "not ASCII, by: $2"
}
run() {
    LC_ALL=C "$strata" "$@" >out 2>err || :
    [ -s out ] || [ -s err ] || fail "nothing is printed by: $*"
    looked_at out "$*"
    looked_at err "$*"
}

verbs=$("$strata" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
[ -n "$verbs" ] || fail 'no verbs'
for verb in $verbs; do
    run help "$verb"
    run "$verb" --no-such-option
    case $verb in
    exits | info | irq | report | sched | stat | summary)
        run "$verb" "$disk"
        run "$verb" "$kvm"
        ;;
    esac
    case $verb in
    exits | io | irq | sched | stat) run "$verb" --every 0.01 "$disk" ;;
    esac
    case $verb in
    diff) run diff "$disk" "$kvm" && run diff "$disk" "$disk" ;;
    io) run io "$disk" && run io --slowest 2 "$disk" ;;
    latency) run latency --every 0.01 --from virtio_blk_handle_read --to virtio_blk_req_complete "$disk" ;;
    list) XDG_RUNTIME_DIR=$work run list ;;
    merge) run merge -o merged "$disk" "$kvm" ;;
    path) run path --slowest 2 "$disk" && run path --threads --task dd --slowest 2 "$disk" ;;
    record) run record -o none -- ./no-such-script ;;
    sql) run sql 'SELECT * FROM event LIMIT 3' "$disk" ;;
    top) run top --batch --iterations 1 "$kvm" ;;
    # What these print is tested elsewhere, or is for programs.
    agent | collect | ctl | exits | export | gen | info | irq | recover | report | sched | serve | stat | summary | view) ;;
    *) fail "what of $verb is looked at?" ;;
    esac
done

# A sparkline is as wide as in UTF-8: what is behind it is in the same column.
for command in "stat --every 0.01 $disk" "summary $disk"; do
    for locale in C C.UTF-8; do
        # shellcheck disable=SC2086
        LC_ALL=$locale "$strata" $command >$locale 2>err || fail "$command: $(cat err)"
    done
    sed 's/±/+-/g; s/·/?/g; s/▁/./g; s/▂/:/g; s/▃/-/g; s/▄/=/g; s/▅/+/g; s/▆/*/g; s/▇/%/g; s/█/#/g' C.UTF-8 |
        tr -s ' ' >expected
    tr -s ' ' <C | diff expected - || fail "$command: not what UTF-8 has"
done
grep -q 'OVER TIME' C || fail "no sparkline: $(cat C)"
