#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`strata serve` and `strata view` while an allocation, a write, a read, a file fails at each site: while they start, and
while they answer.

servers.py INJECTOR BIN DATA [--case=GLOB] [--kind=GLOB]

A server that does not start says why, and ends with status 1. One that started gives each answer as without failures, or
an error, or closes the connection. It goes on: the same question is then answered as before, and it ends in order."""

import http.client
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import urllib.parse

import commands
from sweep import KINDS, SiteSweep, main

NAMES = ("alloc", "map", "write", "short-write", "make", "open", "read", "short-read", "thread")
TIMEOUT_S = 240
# Of how many sites one is tried while a server starts, unless --long.
START_STRIDE = 4
TSP = "tsp/api/"
EXPERIMENT = TSP + "experiments/{experiment}/"
OUTPUTS = EXPERIMENT + "outputs/"
RANGE = {"requested_timerange": {"start": "{begin}", "end": "{end}", "nbTimes": 50}}
ITEMS = dict(RANGE, requested_items="{items}")
# What is asked: the path, and the parameters in the body of a POST.
QUESTIONS = {
    "page": (""),
    "trace": ("api/trace"),
    "slices": ("api/slices?pixels=100&tracks={tracks}"),
    "counts": ("api/counts?pixels=100&tracks={tracks}"),
    "values": ("api/values?pixels=100&tracks={tracks}"),
    "arrows": ("api/arrows"),
    "slice": ("api/slice?track={track}&depth=0&time={time}"),
    "events": ("api/events?limit=50&fields=1&filter=sched_*"),
    "search": ("api/search?text=s"),
    "statistics": ("api/statistics?tracks={tracks}"),
    "latency": ("api/latency?tracks={track}&columns=20"),
    "tsp-traces": (TSP + "traces"),
    "tsp-open": (TSP + "traces", {"uri": "trace", "name": "a"}),
    "tsp-experiment": (TSP + "experiments", {"name": "a", "traces": ["{uuid}"]}),
    "tsp-outputs": (OUTPUTS[:-1]),
    "tsp-bookmark": (EXPERIMENT + "bookmarks", {"name": "a", "start": 1, "end": 2}),
    "tsp-annotations": (OUTPUTS + "strata.timeline/annotations", RANGE),
    "tsp-tree": (OUTPUTS + "timeGraph/strata.timeline/tree", {}),
    "tsp-states": (OUTPUTS + "timeGraph/strata.timeline/states", ITEMS),
    "tsp-arrows": (OUTPUTS + "timeGraph/strata.timeline/arrows", RANGE),
    "tsp-tooltip": (OUTPUTS + "timeGraph/strata.timeline/tooltip", {"requested_items": ["{item}"], "requested_times": ["{at}"]}),
    "tsp-styles": (OUTPUTS + "strata.timeline/style", {}),
    "tsp-xy": (OUTPUTS + "XY/strata.events-over-time/xy", ITEMS),
    "tsp-counters": (OUTPUTS + "XY/strata.counters/xy", ITEMS),
    "tsp-lines": (OUTPUTS + "table/strata.events/lines", {"requested_table_index": 300, "requested_table_count": 5}),
    "tsp-search": (OUTPUTS + "table/strata.events/lines", {
        "requested_table_index": 0, "requested_table_count": 2, "table_search_direction": "NEXT",
        "table_search_expressions": {"6": "^sched_w.*g$"}}),
    "tsp-data": (OUTPUTS + "data/strata.statistics/tree", RANGE),
}
# What a server does once and keeps: each failure needs a new one.
ONCE = ("tsp-lines", "tsp-search")


def fill(value, known):
    """VALUE with what is KNOWN of the server in the place of names in braces."""
    if isinstance(value, dict):
        return {key: fill(one, known) for key, one in value.items()}
    if isinstance(value, list):
        return [fill(one, known) for one in value]
    if isinstance(value, str) and re.fullmatch(r"\{\w+\}", value):
        return known[value[1:-1]]
    return value.format(**known) if isinstance(value, str) else value


class Server:
    """A process that serves, once its address is known; or what it said instead."""

    def __init__(self, argv, env, directory):
        self.process = subprocess.Popen(argv, cwd=directory, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        ready = select.select([self.process.stdout], [], [], TIMEOUT_S)[0]
        line = self.process.stdout.readline().decode() if ready else ""
        self.address = urllib.parse.urlsplit(line.strip()) if line.startswith("http") else None

    def ask(self, path, parameters=None):
        """The status and the body of an answer; None where the connection ends without one."""
        connection = http.client.HTTPConnection(self.address.hostname, self.address.port, timeout=TIMEOUT_S)
        try:
            body = None if parameters is None else json.dumps({"parameters": parameters})
            connection.request("GET" if body is None else "POST", self.address.path + path, body)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (http.client.HTTPException, ConnectionError):
            return None
        finally:
            connection.close()

    def end(self):
        """What is wrong with its end, or nothing."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            err = self.process.communicate(timeout=TIMEOUT_S)[1].decode(errors="replace")
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            return "does not end"
        return "" if self.process.returncode == 0 else f"ends with {self.process.returncode}: {err}"


def plain(answer):
    """An ANSWER without what differs each time."""
    return answer and (answer[0], re.sub(rb"[0-9a-f]{8}-[0-9a-f-]{27}", b"UUID", answer[1]))


class Sweep(SiteSweep):
    def __init__(self, options, directory):
        super().__init__(options, directory, NAMES)
        self.data = options.data
        self.answers = {}
        self.known = {}
        self.server = None
        self.env = dict(self.injector.env, FAULT_PROGRAM="strata", STRATA_EVENTS="trace-events",
                        XDG_CACHE_HOME=os.path.join(directory, "cache"), TMPDIR=os.path.join(directory, "tmp"))

    def start(self, verb="serve"):
        env = dict(self.env)
        if verb == "view":
            env.update(DISPLAY=":nowhere", PATH=os.path.join(self.directory, "desktop") + ":" + env["PATH"])
        return Server([self.strata, verb, "trace"], env, self.directory)

    def learn(self):
        """What questions need to know of the trace, and their answers where nothing fails."""
        server = self.start()
        trace = json.loads(server.ask("api/trace")[1])
        slices = [track for track in trace["tracks"] if track["kind"] in ("slices", "states", "losses")]
        track = max((track for track in slices if track["kind"] == "slices"), key=lambda track: track["n"])
        flat = json.loads(server.ask(f"api/slices?pixels=8192&tracks={track['id']}")[1])["tracks"][0]["depths"][0]
        begin = int(trace["begin_ns"])
        experiment = json.loads(server.ask(TSP + "experiments")[1])[0]
        self.known = {
            "track": track["id"], "time": flat[0], "at": begin + flat[0], "item": track["id"] << 8, "begin": begin,
            "end": begin + trace["duration"], "tracks": ",".join(str(track["id"]) for track in trace["tracks"][:100]),
            "items": [track["id"] << 8 for track in trace["tracks"]], "experiment": experiment["UUID"],
            "uuid": experiment["traces"][0]["UUID"]}
        for case in QUESTIONS:
            self.answers[case] = plain(self.ask(server, case))
            if self.answers[case][0] != 200:
                raise RuntimeError(f"{case}: {self.answers[case]}")
        what = server.end()
        if what:
            raise RuntimeError(what)

    def ask(self, server, case):
        question = QUESTIONS[case]
        question = (question,) if isinstance(question, str) else question
        return server.ask(*(fill(part, self.known) for part in question))

    def run(self, case, name, **armed):
        self.injector.state.armed = 0
        return self.run_start(case, name, armed) if case not in QUESTIONS else self.run_question(case, name, armed)

    # ---- while it starts ----

    def run_start(self, case, name, armed):
        if case != "start-again":
            shutil.rmtree("cache", ignore_errors=True)
        os.makedirs("cache", exist_ok=True)
        self.injector.arm(**armed)
        server = self.start("view" if case == "view" else "serve")
        self.injector.state.armed = 0
        if not server.address:
            err = server.process.communicate(timeout=TIMEOUT_S)[1].decode(errors="replace")
            wanted = name and KINDS[name][3]
            if server.process.returncode == 1 and wanted and re.search(wanted, err):
                return ""
            return f"starts not, status {server.process.returncode}: {err!r}"
        what = "" if self.has_note(server, name) else self.compare(server)
        what = what or server.end()
        if name and not what:
            # Nothing of it is left in the cache.
            server = self.start()
            what = self.compare(server)
            what = what and f"the next server: {what}"
            what = what or server.end()
        return what

    def has_note(self, server, name):
        """Whether a source is missing, and SERVER says why."""
        answer = server.ask("api/trace")
        notes = " ".join(json.loads(answer[1])["notes"]) if answer and answer[0] == 200 else ""
        return name and KINDS[name][3] and re.search(KINDS[name][3], notes)

    def compare(self, server):
        for question in ("trace", "slices"):
            answer = plain(self.ask(server, question))
            if answer != self.answers[question]:
                return f"{question} is answered by {str(answer)[:300]}"
        return ""

    def stride(self, case, name):
        return 1 if self.is_long or case in QUESTIONS else START_STRIDE

    # ---- while it answers ----

    def run_question(self, case, name, armed):
        if case in ONCE or not self.server:
            self.end_server()
            self.server = self.start()
        self.injector.arm(**armed)
        answer = plain(self.ask(self.server, case))
        self.injector.state.armed = 0
        what = self.judge(case, name, answer)
        again = plain(self.ask(self.server, case)) if self.server.process.poll() is None else "nothing"
        if not what and again != self.answers[case]:
            what = f"the same question again is answered by {str(again)[:300]}"
        if what or self.server.process.poll() is not None:
            what = what or self.server.end()
            self.end_server()
        return what

    def judge(self, case, name, answer):
        if answer == self.answers[case]:
            return ""
        if not name or KINDS[name][3] is None:
            return f"answers {str(answer)[:300]}"
        if answer is None:
            return "" if self.server.process.poll() is None else "is gone: " + self.server.end()
        status, body = answer
        if status < 400:
            return f"status {status}, with {body[:300]} instead of {self.answers[case][1][:300]}"
        answered = json.loads(body)
        said = answered.get("error") or answered.get("title")
        return "" if said and re.search(KINDS[name][3], said) else f"says {body[:300]}"

    def end_server(self):
        what = self.server.end() if self.server else ""
        self.server = None
        if what:
            self.fail("questions", "the end", what)

    def case(self, case):
        super().case(case)
        self.end_server()

    def all(self):
        os.chdir(self.directory)
        commands.make_inputs(self.data, self.strata)
        for name in ("tmp", "cache", "desktop"):
            os.makedirs(name, exist_ok=True)
        with open("desktop/xdg-open", "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexit 0\n")
        os.chmod("desktop/xdg-open", 0o755)
        self.learn()
        for case in ("start", "start-again", "view", *QUESTIONS):
            self.case(case)


if __name__ == "__main__":
    sys.exit(main(Sweep, "data"))
