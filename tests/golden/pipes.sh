#!/bin/sh
# Standard input, broken pipes, live input, terminals.
. "$(dirname "$0")/../lib/golden.sh"

. "$here/../lib/qemu_events.sh"

xz -dc "$DATA/qemu/trace.simpletrace.xz" >boot.trace
xz -dc "$DATA/qemu/stock-qemu.log.xz" >boot.log
xz -dc "$DATA/xen/xen-4.17-no-guest-class.raw.xz" >xen.raw

# A pipe gives what the file gives, also where the reader has to go back and forth.
for capture in boot.trace boot.log xen.raw; do
    "$strata" report $capture >expected 2>/dev/null
    # shellcheck disable=SC2002 # the test needs a pipe
    cat $capture | "$strata" report - 2>/dev/null | cmp expected -
    "$strata" report - <$capture 2>/dev/null | cmp expected -
    "$strata" stat $capture >expected 2>/dev/null
    mkfifo fifo
    cat $capture >fifo &
    "$strata" stat fifo 2>/dev/null | cmp expected -
    wait
    rm fifo
done
[ -z "$(find . -name 'strata*')" ]

# Standard descriptors that are closed: nothing else gets their place, and what is meant for people
# never lands in the temporary file that a pipe is copied to.
"$strata" report xen.raw >expected 2>/dev/null
# shellcheck disable=SC2002
cat xen.raw | "$strata" report - 2>&- | cmp expected -
head -c 500000 xen.raw | "$strata" report - 2>&- | head -n 1000 >actual
head -n 1000 expected | cmp actual -
status=0
# shellcheck disable=SC2002
cat xen.raw | "$strata" report - 2>err >&- || status=$?
[ "$status" -eq 1 ]
echo "strata: cannot write to standard output: Bad file descriptor" | cmp err -
status=0
"$strata" --version 2>err >&- || status=$?
[ "$status" -eq 1 ]
status=0
"$strata" report - <&- 2>err || status=$?
[ "$status" -eq 1 ]
grep -q '^strata: standard input: ' err

# Help is output too.
if [ -w /dev/full ]; then
    for words in --help --version 'report --help' 'help stat' 'simpletrace --help' \
        'xentrace_format --help'; do
        status=0
        # shellcheck disable=SC2086 # words
        "$strata" $words >/dev/full 2>err || status=$?
        [ "$status" -eq 1 ]
        grep -q '^strata: cannot write to standard output: No space left on device$' err
    done
fi

# A reader that closes the pipe: no message, and the end by SIGPIPE.
python3 - "$strata" boot.trace <<'END'
import os, signal, subprocess, sys

for ignored in False, True:
    for verb in ["report", "-fjson"], ["report"], ["report", "-fcsv"]:
        strata = subprocess.Popen([sys.argv[1], *verb, sys.argv[2]], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, restore_signals=not ignored)
        assert strata.stdout.readline()
        strata.stdout.close()
        assert strata.stderr.read() == b""
        assert strata.wait() == -signal.SIGPIPE, strata.returncode
END

# What a live writer has written is shown while it waits.
python3 - "$strata" <<'END'
import os, select, subprocess, sys, threading

strata = subprocess.Popen([sys.argv[1], "report", "-"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE)
lines = open("boot.log", "rb").readlines()
shown_enough = threading.Event()


def write():
    strata.stdin.write(b"".join(lines[:20000]))
    strata.stdin.flush()
    shown_enough.wait(120)
    strata.stdin.write(b"".join(lines[20000:]))
    strata.stdin.close()


writer = threading.Thread(target=write)
writer.start()
shown = b""
while shown.count(b"\n") < 20000:
    ready, _, _ = select.select([strata.stdout], [], [], 120)
    assert ready, "nothing more is shown after %d lines" % shown.count(b"\n")
    shown += os.read(strata.stdout.fileno(), 1 << 16)
shown_enough.set()
shown += strata.stdout.read()
writer.join()
assert shown.count(b"\n") == len(lines)
assert strata.wait() == 0
END

# On a terminal: colours, unless they are not wanted; progress after a second, erased at the end.
python3 - "$strata" <<'END'
import os, pty, subprocess, sys, time

try:
    for end in pty.openpty():
        os.close(end)
except OSError as error:
    print("terminals are not tested, there are none:", error)
    sys.exit(0)


# Output to a terminal may arrive after the end of the process that wrote it.
def all_of(ours):
    got = b""
    while True:
        try:
            got += os.read(ours, 65536)
        except OSError:
            os.close(ours)
            return got


def terminal(words, env, stdin=None):
    ours, theirs = pty.openpty()
    strata = subprocess.Popen([sys.argv[1], *words], stdin=stdin, stdout=theirs,
                              stderr=theirs, env={**os.environ, "TERM": "xterm", **env})
    os.close(theirs)
    got = all_of(ours)
    strata.wait()
    return got


line = terminal(["report", "-n1", "boot.log"], {"NO_COLOR": ""})
assert line.startswith(b"\x1b[2m1795246302.879456000\x1b[0m [---]"), line
for env in {"NO_COLOR": "1"}, {"TERM": "dumb"}:
    assert b"\x1b" not in terminal(["report", "-n1", "boot.log"], env)
assert b"\x1b" not in terminal(["report", "-n1", "-fjson", "boot.log"], {"NO_COLOR": ""})


def slowly(words):
    ours, theirs = pty.openpty()
    strata = subprocess.Popen([sys.argv[1], *words], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    log = open("boot.log", "rb").read()
    step = len(log) // 30
    for i in range(0, len(log), step):
        strata.stdin.write(log[i:i + step])
        strata.stdin.flush()
        time.sleep(0.06)
    strata.stdin.close()
    out = strata.stdout.read()
    assert strata.wait() == 0
    return out, all_of(ours)


out, progress = slowly(["stat", "-"])
assert b"MB, " in progress and b"B/s\x1b[K" in progress, progress
assert progress.endswith(b"\r\x1b[K"), progress
assert b"\x1b" not in out
END
