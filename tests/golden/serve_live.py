#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""serve_live.py STRATA EMIT: two servers follow a recording that this script leads from state to state."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

STRATA, EMIT = sys.argv[1:3]
INDEXES = os.path.join(os.environ["XDG_CACHE_HOME"], "strata", "index")
TIMEOUT = 120
# Each run of EMIT has two threads, and waits in the middle of both.
FIRST, SECOND = 3000, 6000


def wait_until(what, condition):
    end = time.monotonic() + TIMEOUT
    while not (found := condition()):
        assert time.monotonic() < end, f"not within {TIMEOUT} s: {what}"
        time.sleep(0.05)
    return found


class Server:
    def __init__(self):
        self.process = subprocess.Popen([STRATA, "serve", "trace"], stdout=subprocess.PIPE, text=True)
        found = re.search(r"http://\S+", self.process.stdout.readline())
        assert found, "strata serve prints no address"
        self.address = found.group()

    def ask(self, path, **parameters):
        query = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(f"{self.address}{path}?{query}", timeout=60) as answer:
            return json.load(answer)

    def wait(self, n_events, live=True):
        """api/trace, once it is of N_EVENTS."""
        def check():
            trace = self.ask("api/trace")
            assert trace["events"] <= n_events, f"{trace['events']} events, and {n_events} were emitted"
            return trace if trace["events"] == n_events and trace["live"] == live else None
        return wait_until(f"{n_events} events, live {live}", check)

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(60)
        return self.process.returncode


def paths(trace):
    tracks = {track["id"]: track for track in trace["tracks"]}
    # A source's own name changes when there is a second one.
    def path(track):
        above = path(tracks[track["parent"]]) if track["parent"] is not None else ()
        return (*above, (track["name"] if above else "", track["kind"]))
    return {track["id"]: path(track) for track in trace["tracks"]}


def check(server):
    """What there is to show is all of it, from the begin to the end that the trace has. Returns api/trace."""
    # A better rate of the program's clock makes a new generation at any time: the answers are compared once all are of one.
    def ask():
        trace = server.ask("api/trace")
        all_events = [track["id"] for track in trace["tracks"] if track["name"] == "all events"]
        try:
            counts = server.ask("api/counts", **{"from": 0, "to": trace["duration"] + 1}, pixels=16,
                                tracks=",".join(map(str, all_events)), generation=trace["generation"])
        except urllib.error.HTTPError as error:
            assert error.code == 410, error
            assert server.ask("api/live")["generation"] > trace["generation"], trace["generation"]
            return None
        answers = trace, counts, server.ask("tsp/api/traces"), server.ask("api/live")
        return answers if answers[-1]["generation"] == trace["generation"] else None
    trace, counts, (tsp,), live = wait_until("answers of one generation", ask)
    shown = sum(sum(track["counts"]) for track in counts["tracks"])
    assert shown == trace["events"], (shown, trace["events"])
    assert tsp["indexingStatus"] == ("RUNNING" if trace["live"] else "COMPLETED"), tsp
    assert tsp["end"] - tsp["start"] == trace["duration"] and tsp["start"] == int(trace["begin_ns"]), (tsp, trace)
    assert live == {"generation": trace["generation"], "live": trace["live"]}
    return trace


def expect_begin(trace, before, started):
    """A better rate of the program's clock moves the first event by less than a thousandth of the time since the program began."""
    moved = abs(int(trace["begin_ns"]) - int(before["begin_ns"]))
    assert moved < (time.monotonic_ns() - started) // 1000, (trace["begin_ns"], before["begin_ns"])


def used_cpu(process):
    """ns, of all its threads."""
    tasks = f"/proc/{process.pid}/task"
    return sum(int(open(f"{tasks}/{task}/schedstat").read().split()[0]) for task in os.listdir(tasks))


def rests(server):
    """Nothing is read for three periods, each of which would take some of a CPU."""
    before = used_cpu(server.process)
    time.sleep(3)
    return used_cpu(server.process) == before


def expect_gone(server, generation):
    try:
        server.ask("api/slices", tracks=0, generation=generation)
    except urllib.error.HTTPError as error:
        assert error.code == 410, error
        return
    raise AssertionError(f"generation {generation} is still there")


def main():
    script = f"'{EMIT}' -q -w go1 {FIRST} 2; '{EMIT}' -q -w go2 {SECOND} 2"
    started = time.monotonic_ns()
    with open("recorded", "w") as told:
        recorder = subprocess.Popen([STRATA, "record", "-o", "trace", "--", "sh", "-c", script], stdout=told, stderr=told)
    servers = []
    try:
        wait_until("the recording", lambda: os.path.isdir("trace") or recorder.poll() is not None)
        servers = [Server(), Server()]
        for server in servers:
            server.wait(FIRST)
        first = [check(server) for server in servers]
        assert [trace["events"] for trace in first] == [FIRST] * 2, first
        assert os.listdir(INDEXES) == [], os.listdir(INDEXES)

        # Nobody asks, and the recording is not read, until the next request.
        wait_until("a server that rests", lambda: rests(servers[0]))

        open("go1", "w").close()
        for server, before in zip(servers, first):
            server.wait(2 * FIRST + SECOND)
            trace = check(server)
            assert trace["events"] == 2 * FIRST + SECOND, trace
            assert trace["generation"] > before["generation"] and trace["duration"] > before["duration"]
            expect_begin(trace, before, started)
            then, now = paths(before), paths(trace)
            moved = {i: (path, now.get(i)) for i, path in then.items() if now.get(i) != path}
            assert not moved, f"tracks with other ids: {moved}"
            assert len(now) > len(then), "no track of the second program"
            expect_gone(server, trace["generation"] + 1000)
            if trace["generation"] > 2:
                expect_gone(server, 1)

        # A server that is killed leaves nothing.
        assert servers.pop().end(signal.SIGKILL) == -signal.SIGKILL
        assert os.listdir(INDEXES) == [], os.listdir(INDEXES)

        open("go2", "w").close()
        assert recorder.wait(TIMEOUT) == 0, open("recorded").read()
        n_events = 2 * FIRST + 2 * SECOND
        servers[0].wait(n_events, live=False)
        last = check(servers[0])
        assert last["events"] == n_events and not last["live"], last
        expect_begin(last, first[0], started)
        counted = json.loads(subprocess.check_output([STRATA, "stat", "--format", "json", "trace"]))
        assert counted["events"] == n_events, counted
        kept = os.listdir(INDEXES)
        assert len(kept) == 1 and kept[0].endswith(".index"), kept

        # The next server shows the index that this one has kept.
        servers.append(Server())
        trace = servers[1].wait(n_events, live=False)
        assert {**trace, "generation": 0, "tracks": 0} == {**last, "generation": 0, "tracks": 0}
        assert os.listdir(INDEXES) == kept
        for server in servers:
            assert server.end() == 0
    finally:
        for name in "go1", "go2":
            open(name, "w").close()
        for process in [recorder, *(server.process for server in servers)]:
            if process.poll() is None:
                process.kill()
                process.wait()


main()
