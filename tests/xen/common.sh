# For scenarios in dom0 (busybox's sh): guests, and work that is traced.

# run_guest KIND: pvh or hvm; until it has powered itself off and is gone.
run_guest() {
    timeout 300 xl create -F "/$1.cfg" >>"guest-$1.log" 2>&1 || say "FAILED: guest $1: status $?"
}

# Work of dom0's own: system calls, page faults, processes.
work() {
    for i in $(seq "$1"); do
        dd if=/dev/zero of=/tmp/work bs=4k count=32 2>/dev/null
        usleep 10000
    done
}

# until_true SECONDS COMMAND...
until_true() {
    tries=$(($1 * 20))
    shift
    until "$@"; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        usleep 50000
    done
}

# Waits for a file to hold more than so many bytes: that a recorder records.
grown() {
    [ -e "$1" ] && [ "$(wc -c <"$1")" -gt "$2" ]
}

# The same, while there is something to record.
work_until_grown() {
    work 5
    grown "$@"
}

# The old name of the command, beside Debian's xentrace.
mkdir -p /ours
ln -sf /bin/strata /ours/xentrace

# What is asked of Strata goes into NAME.log, its exit status into NAME.status.
#
# finished NAME: waits for the recorder $recorder, which has got a signal or ends by itself
finished() {
    until_true 240 gone "$recorder" || {
        say "FAILED: $1: does not end"
        kill -KILL "$recorder"
    }
    status=0
    wait "$recorder" || status=$?
    echo $status >"$1.status"
    say "$1: status $status"
}

# A child that has ended and was not waited for is a zombie, whose state is Z.
gone() {
    ! grep -q '^State:.[^Z]' "/proc/$1/status" 2>/dev/null
}

# start NAME COMMAND...: in the background; $recorder is its number.
start() {
    name=$1
    shift
    "$@" >"$name.log" 2>&1 &
    recorder=$!
}

# run NAME COMMAND...: to its end, but not for ever.
run() {
    name=$1
    shift
    status=0
    timeout 240 "$@" >"$name.log" 2>&1 || status=$?
    echo $status >"$name.status"
}

# start_record NAME OPTION...: strata record --xen into the directory NAME, until something is in it. (It records when there
# is a trace.json: the rest of the directory is made before.)
start_record() {
    folder=$1
    shift
    start "$folder" strata record --xen -o "$folder" "$@"
    until_true 240 grown "$folder/xen/trace.raw" 0 || say "FAILED: nothing is recorded into $folder: $(cat "$folder.log")"
}

# What Xen itself says its event mask is.
mask() {
    tbuf | cut -d' ' -f1
}
masked() {
    [ "$(mask)" = "$1" ]
}
