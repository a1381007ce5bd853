#!/bin/sh
# Conditions on the arguments of events, as a user gives them: by the program's option, STRATA_TRACE and
# files of events, with each backend; and random ones, whose result is compared with what the C compiler
# makes of them. $LIBSTRATA: the library to link; $CFLAGS_FOR_TEST: what it needs (a sanitizer).
. "$(dirname "$0")/../lib/golden.sh"

cc=${CC_FOR_TEST:-cc}

# expect GOT: is what standard input says.
expect() {
    diff - "$1" >&2 || fail "$1 is other than expected"
}

cat >trace-events <<'END'
blk_read(uint64_t sector, uint32_t len, int flags) "sector %" PRIu64 " len %u flags %d"
blk_write(uint64_t sector, uint32_t len, int flags) "sector %" PRIu64 " len %u flags %d"
blk_flush(void) "flush"
disk_open(const char *name, bool rw, void *opaque, char c) "%s rw %d opaque %p c %d"
END
cat >main.c <<'END'
#include <stdlib.h>
#include <unistd.h>
#include "trace-t.h"
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        int r = strata_trace_opt_parse(argv[i]);
        if (r != 0)
            return r < 0 ? 2 : 0;
    }
    for (unsigned i = 0; i < 6; i++) {
        trace_blk_read(i, i * 1024, (int)i - 3);
        trace_blk_write(i, i * 1024, (int)i - 3);
    }
    trace_blk_flush();
    trace_disk_open("disk0", true, NULL, 'a');
    trace_disk_open("disk1,x", false, (void *)0x1000, (char)-1);
    trace_disk_open(NULL, true, NULL, 0);
    return 0;
}
END

# build BACKENDS: ./program
build() {
    for format in h c; do
        "$STRATA_BIN/strata" gen -f "$format" --backend "$1" -g t -o "trace-t.$format" trace-events
    done
    # shellcheck disable=SC2086 # a list of words
    $cc -std=c11 -Wall -Wextra -Wconversion -Werror -O2 $CFLAGS_FOR_TEST -I"$here/../../include" -I. -o program \
        main.c trace-t.c -Wl,--whole-archive "$LIBSTRATA" -Wl,--no-whole-archive -lpthread || fail "$1 does not compile"
}

# The events of a log, without what is in front.
events() {
    sed 's/^[0-9]*@[0-9.]*://' "$1"
}

# check OPTION...: recorded is what standard input says; by options, environment and file of events.
check() {
    cat >want
    for way in option environment file; do
        case $way in
        option) ./program "$@" 2>log || fail "$*: $(cat log)" ;;
        environment) STRATA_TRACE=$(printf '%s;' "$@") ./program 2>log || fail "$*" ;;
        file)
            printf '%s\n' "$@" | sed 's/,,/,/g' >events
            ./program events=events 2>log || fail "$*: $(cat log)"
            ;;
        esac
        events log | grep -v '^program: ' >got || :
        diff want got >&2 || fail "$* by $way records something else"
    done
}

case=log
build log
check 'blk_read: len > 2048 && flags & 1' <<'END'
blk_read sector 4 len 4096 flags 1
END
check 'blk_*:len>=5120' <<'END'
blk_read sector 5 len 5120 flags 2
blk_write sector 5 len 5120 flags 2
END
check 'blk_read' 'blk_*  :  sector == 2' <<'END'
blk_read sector 2 len 2048 flags -1
blk_write sector 2 len 2048 flags -1
END
check '*' '*: flags < -2' <<'END'
blk_read sector 0 len 0 flags -3
blk_write sector 0 len 0 flags -3
blk_flush flush
disk_open disk0 rw 1 opaque (nil) c 97
disk_open disk1,x rw 0 opaque 0x1000 c -1
disk_open (null) rw 1 opaque (nil) c 0
END
check 'disk_open: name == "*,,x" || name == ""' <<'END'
disk_open disk1,x rw 0 opaque 0x1000 c -1
disk_open (null) rw 1 opaque (nil) c 0
END
check "disk_open: opaque && c < 0 || c == 'a'" <<'END'
disk_open disk0 rw 1 opaque (nil) c 97
disk_open disk1,x rw 0 opaque 0x1000 c -1
END
check 'blk_read: 6 / (flags + 1) >= 3' <<'END'
blk_read sector 3 len 3072 flags 0
blk_read sector 4 len 4096 flags 1
END
check 'blk_flush: thread.name == "prog*" && thread.id != 0' 'disk_open: thread.name == "other"' <<'END'
blk_flush flush
END
# Switched again, an event has no condition.
check 'blk_flush: 0' 'blk_flush' 'blk_read: 1' '-blk_read' <<'END'
blk_flush flush
END

case=messages
# says STATUS OPTION...: with the messages on standard input.
says() {
    status=0
    wanted=$1
    shift
    cat >want
    ./program "$@" >out 2>log || status=$?
    [ "$status" -eq "$wanted" ] || fail "$* exits with $status"
    grep '^program: ' log >got || :
    diff want got >&2 || fail "$* says something else"
}
says 2 'blk_read: len >' <<'END'
program: condition 'len >', column 6: a value is missing at the end
END
says 2 'blk_read: len = 3' <<'END'
program: condition 'len = 3', column 5: '=' assigns in C: write '=='
END
says 2 'enable=-blk_read: len' <<'END'
program: '-blk_read: len': a pattern that switches off cannot have a condition
END
says 2 ': len' <<'END'
program: no event or pattern is given
END
says 2 'blk_read:' <<'END'
program: condition '', column 1: the condition is empty
END
says 0 'blk_read: flags & 1 == 0' <<'END'
program: warning: condition 'flags & 1 == 0', column 7: as in C, '&', '^' and '|' bind less than comparisons: write (flags & 1) == 0
END
says 0 'blk_read: length > 1' <<'END'
program: warning: condition 'length > 1', column 1: the event has no argument 'length': 'blk_read' stays as it was
END
says 0 '*: len == -1' <<'END'
program: warning: condition 'len == -1', column 8: 'len' is of the type uint32_t: this never holds: 'blk_read'
program: warning: condition 'len == -1', column 1: the event has no argument 'len': 'blk_flush' and 1 other event stay as they were
END
says 0 'net_*: len > 1' <<'END'
program: warning: no event 'net_*' for the condition 'len > 1'
END
says 0 'net_send: len > 1' <<'END'
program: warning: trace event 'net_send' does not exist
END
printf '%s\n' '# comment' 'blk_read: len' 'blk_read: (len' >wrong
says 2 events=wrong <<'END'
program: wrong:3: condition '(len', column 1: '(' is not closed by ')'
END
printf '%s\n' 'blk_read: len' 'blk_flush: len' >wrong
says 0 events=wrong <<'END'
program: wrong:2: warning: condition 'len', column 1: the event has no argument 'len': 'blk_flush' stays as it was
END
STRATA_TRACE='net_*: len > 1;net_send: len;*: len < 1;blk_read: 1 +' ./program 2>log
grep '^program: ' log | LC_ALL=C sort >got # the library may hear of the events before or behind the environment
expect got <<'END'
program: condition '1 +', column 4: a value is missing at the end
program: warning: condition 'len < 1', column 1: the event has no argument 'len': 'blk_flush' and 1 other event stay as they were
program: warning: no event 'net_*' for the condition 'len > 1'
program: warning: trace event 'net_send' does not exist
END

# The same by each backend that goes by the states.
cat >one <<'END'
blk_write sector 4 len 4096 flags 1
END
condition='blk_write: flags == 1 && sector == 4'
case=ring
build ring
./program "$condition,log=ring.log" 2>log
events ring.log | expect one
./program "$condition,simple=ring.st" 2>log
"$STRATA_BIN/strata" report --trace-events trace-events ring.st >report
[ "$(wc -l <report)" -eq 1 ] && grep -q 'blk_write: sector 4 len 4096 flags 1' report || fail "$(cat report)"
# A null string reads from a ring as from the log.
./program 'disk_open: name == "" && c == 0,ctf=null' 2>log
"$STRATA_BIN/strata" report null >report
[ "$(wc -l <report)" -eq 1 ] && grep -q 'disk_open: (null) rw 1' report || fail "$(cat report)"
case=simple
build simple
./program "$condition,file=simple.st" 2>log
"$STRATA_BIN/strata" report --trace-events trace-events simple.st >report
[ "$(wc -l <report)" -eq 1 ] && grep -q 'blk_write: sector 4 len 4096 flags 1' report || fail "$(cat report)"
case=ftrace
build ftrace
: >marker
./program "$condition,ftrace=marker" 2>log
expect marker <one
case=syslog
build syslog
cat >listen.py <<'END'
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("socket")
s.settimeout(100)
open("ready", "w").close()
while True:
    text = s.recv(8192).decode()
    print(text.split("]: ", 1)[1], flush=True)
    if "disk1" in text:
        break
END
python3 listen.py >messages &
listener=$!
wait_for '[ -e ready ]'
./program "$condition,syslog=socket" 'disk_open: name == "disk1*"' 2>log
wait $listener || fail "not all messages arrive: $(cat messages)"
{ cat one && echo 'disk_open disk1,x rw 0 opaque 0x1000 c -1'; } | expect messages

# Why nothing is recorded of a program that takes away its events at its end, as generated code does.
case="nothing recorded"
build ring
nothing() {
    status=0
    "$STRATA_BIN/strata" record -o none -e "$1" -- ./program >out 2>told || status=$?
    [ $status -eq 1 ] && grep -qF "nothing was recorded: $2" told || fail "exit status $status: $(cat told)"
}
nothing 'blk_read{sector > 100}' "the enabled event of 'program' did not occur, or did not meet its condition"
nothing 'blk_*{sector > 100}' "none of the 2 enabled events of 'program' occurred, or met its condition"
nothing blk_nosuch "no event of 'program' matches 'blk_nosuch'"

case=random
python3 "$here/../runtime/conditions.py" 300 1
# shellcheck disable=SC2086 # a list of words
"$STRATA_BIN/strata" gen -f h --backend log -g t -o trace-t.h random.trace-events
"$STRATA_BIN/strata" gen -f c --backend log -g t -o trace-t.c random.trace-events
# shellcheck disable=SC2086 # a list of words
$cc -std=gnu11 -fwrapv -w -O1 $CFLAGS_FOR_TEST -I"$here/../../include" -I. -o random random.c trace-t.c -Wl,--whole-archive \
    "$LIBSTRATA" -Wl,--no-whole-archive -lpthread ||
    fail "it does not compile"
./random >result || fail "$(tail -5 result)"
cat result
