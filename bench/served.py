# SPDX-License-Identifier: MIT
"""A server of strata serve, started for a benchmark, and what views of it cost."""

import http.client
import json
import os
import random
import shutil
import subprocess
import tempfile
import time
import urllib.parse

from measure import Failed

ROWS = 40
PIXELS = 2000
# Which request answers for tracks of a kind (src/serve/api_slices.c).
REQUESTS = {"slices": "slices", "states": "slices", "losses": "slices", "events": "counts", "counter": "values"}


class Server:
    """Its cache of indexes is CACHE. `started`: seconds until it printed its address."""

    def __init__(self, strata, trace, cache):
        began = time.monotonic()
        self.process = subprocess.Popen([strata, "serve", trace], stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "XDG_CACHE_HOME": cache})  # fmt: skip
        line = self.process.stdout.readline()
        self.started = time.monotonic() - began
        if not line:
            raise Failed(f"strata serve {trace} ended with {self.process.wait()}")
        address = urllib.parse.urlsplit(line.strip())
        self.path = address.path.rstrip("/") + "/api/"
        self.connection = http.client.HTTPConnection(address.hostname, address.port, timeout=600)

    def get(self, name, **parameters):
        """The bytes that api/NAME answers."""
        self.connection.request("GET", self.path + name + "?" + urllib.parse.urlencode(parameters))
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise Failed(f"{name} {parameters}: {answer.status} {body[:200]}")
        return body

    def memory(self, field):
        """MiB: VmHWM (the most that was resident), RssAnon (what is no file), ..."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            for line in f:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) / 1024
        raise Failed(f"no {field} in /proc/PID/status")

    def end(self):
        self.connection.close()
        self.process.terminate()
        if self.process.wait(timeout=60) != 0:
            raise Failed("strata serve did not end well")


def views(server, n):
    """Milliseconds that N views take, ascending, from all of the trace to a millionth of it: ROWS tracks, some of them more than
    once if there are fewer, one request for each kind, as the page asks."""
    rng = random.Random(1)
    trace = json.loads(server.get("trace"))
    tracks = [(t["id"], REQUESTS[t["kind"]]) for t in trace["tracks"] if t["kind"] in REQUESTS]
    times = []
    for i in range(n):
        span = max(trace["duration"] >> i % 20, PIXELS)
        begin = rng.randrange(max(trace["duration"] - span, 1))
        first = rng.randrange(len(tracks))
        seen = [tracks[(first + row) % len(tracks)] for row in range(ROWS)]
        asked = {name: ",".join(str(number) for number, kind in seen if kind == name) for _, name in seen}
        took = time.monotonic()
        for name, numbers in asked.items():
            server.get(name, tracks=numbers, pixels=PIXELS, **{"from": begin, "to": begin + span})
        times.append((time.monotonic() - took) * 1e3)
    return sorted(times)


def measure(strata, trace, n):
    """Facts of a server of TRACE that builds the index, and of one that finds it: a dictionary."""
    cache = tempfile.mkdtemp(prefix="bench-served-")
    try:
        server = Server(strata, trace, cache)
        facts = {"built_s": server.started, "built_mib": server.memory("VmHWM")}
        server.end()
        server = Server(strata, trace, cache)
        facts["opened_s"] = server.started
        times = views(server, n)
        facts.update(p50_ms=times[n // 2], p99_ms=times[n - 1 - n // 100], max_ms=times[-1],
                     peak_mib=server.memory("VmHWM"), anonymous_mib=server.memory("RssAnon"))  # fmt: skip
        server.end()
        return facts
    finally:
        shutil.rmtree(cache)
