#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""serve.py STRATA TRACE: asks a server of strata serve, as a browser and other programs do, and compares its answers
with what the other commands print."""

import http.client
import json
import random
import signal
import subprocess
import sys
import threading
import urllib.parse

STRATA, TRACE = sys.argv[1:]


def fail(text):
    sys.exit(f"serve.py: {text}")


def expect(condition, text):
    if not condition:
        fail(text)


class Server:
    """A server, by the address that it prints."""

    def __init__(self, *options):
        self.process = subprocess.Popen([STRATA, "serve", *options], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            fail("no address: " + self.process.communicate()[1])
        self.address = urllib.parse.urlsplit(line.strip())
        self.secret = self.address.path.strip("/")
        expect(len(self.secret) == 32, f"{line} has no secret of 128 bits")

    def request(self, target, method="GET", headers=None, body=None, host=None):
        """The status, the headers and the body of the answer to a request for TARGET."""
        connection = http.client.HTTPConnection(self.address.hostname, self.address.port, timeout=60)
        connection.putrequest(method, target, skip_host=True)
        connection.putheader("Host", host or self.address.netloc)
        for name, value in (headers or {}).items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
            connection.putheader("Content-Type", "application/json")
        connection.endheaders(body)
        answer = connection.getresponse()
        result = answer.status, dict(answer.getheaders()), answer.read()
        connection.close()
        return result

    def get(self, name, **parameters):
        """The JSON that api/NAME answers."""
        status, _, body = self.request(f"/{self.secret}/api/{name}?{urllib.parse.urlencode(parameters)}")
        expect(status == 200, f"{name} {parameters}: {status} {body[:300]}")
        return json.loads(body)

    def refuses(self, status, target, **request):
        got, headers, body = self.request(target, **request)
        expect(got == status, f"{target[:100]} {str(request)[:200]}: {got} instead of {status}")
        expect(self.secret.encode() not in body, "an error tells the secret")
        expect(headers.get("Content-Security-Policy", "").startswith("default-src 'self'"), "no policy")
        return body

    def end(self, number):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=120)
        expect(self.process.returncode == 0, f"ends with {self.process.returncode}: {err}")
        expect(out == "", f"prints more than its address: {out}")


def lines(*command):
    """The objects that a command prints, one a line."""
    result = subprocess.run([STRATA, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return [json.loads(line) for line in result.stdout.splitlines()]


def check_guard(server):
    """Who is refused, and how."""
    secret, port = server.secret, server.address.port
    page = f"/{secret}/"
    status, headers, body = server.request(page)
    expect(status == 200 and b"<!doctype html>" in body.lower(), f"no page: {status}")
    for name, value in (("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
                        ("Cross-Origin-Resource-Policy", "same-origin"), ("X-Frame-Options", "DENY"),
                        ("Cache-Control", "no-store")):
        expect(headers.get(name) == value, f"{name}: {headers.get(name)}")
    expect(not any(name.lower().startswith("access-control") for name in headers), "an answer has a CORS header")
    status, headers, _ = server.request(f"/{secret}")
    expect(status == 302 and headers["Location"] == page, f"/SECRET: {status} {headers}")
    for name in ("page.js", "page.css"):
        expect(server.request(page + name)[0] == 200, f"no {name}")

    wrong = secret[:-1] + ("0" if secret[-1] != "0" else "1")
    for path in ("/", "", "/api/trace", f"/{wrong}/api/trace", f"/{secret[:-1]}/api/trace", f"/{secret}0/api/trace",
                 f"/{secret.upper() if secret.upper() != secret else wrong}/", "//" + secret + "/", f"/../{secret}/",
                 f"/{wrong}/../{secret}/api/trace", "/tsp/api/health"):
        server.refuses(403 if path.startswith("/") else 400, path or "*")
    for name in ("../../etc/passwd", "..%2f..%2fetc/passwd", "%2e%2e/etc/passwd", "page.js/", "nothing", "api", "api/",
                 "api/trace/", "index.html", "tsp/api/traces/..", "/page.js"):
        server.refuses(404, page + name)
    for name in ("%", "%4", "%zz", "%00", "api/trace?a=%00", "api/trace?a=1&a=2", "/".join("a" * 20),
                 "api/trace?" + "&".join(f"a{i}=1" for i in range(30))):
        server.refuses(400, page + name)
    server.refuses(414, page + "api/trace?a=" + "1" * 20000)
    for method in ("PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PATCH"):
        expect(server.request(page + "api/trace", method=method)[0] == 405, f"accepts {method}")
    server.refuses(405, page + "api/trace", method="POST", body=b"{}")
    server.refuses(413, page + "tsp/api/traces", method="POST", body=b" " * (2 << 20))

    for host in ("localhost", "127.0.0.1", "[::1]", "LocalHost"):
        expect(server.request(page, host=f"{host}:{port}")[0] == 200, f"refuses Host: {host}")
    for host in ("evil.example", f"evil.example:{port}", "localhost", f"localhost:{port + 1}", f"127.0.0.1:{port}.evil",
                 f"localhost.:{port}", f"192.0.2.1:{port}", f"a@localhost:{port}"):
        server.refuses(403, page, host=host)

    api = page + "api/trace"
    for site in ("cross-site", "same-site", "nonsense"):
        server.refuses(403, api, headers={"Sec-Fetch-Site": site})
        server.refuses(403, page, headers={"Sec-Fetch-Site": site})
        server.refuses(403, page, headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate",
                                           "Sec-Fetch-Dest": "iframe"})
        server.refuses(403, api, headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate",
                                          "Sec-Fetch-Dest": "document"})
        expect(server.request(page, headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate",
                                             "Sec-Fetch-Dest": "document"})[0] == 200, "refuses a link to the page")
    for site in ("same-origin", "none"):
        expect(server.request(api, headers={"Sec-Fetch-Site": site})[0] == 200, f"refuses {site}")
    for origin in ("null", "http://evil.example", f"https://localhost:{port}", f"http://localhost:{port + 1}", "file://"):
        server.refuses(403, api, headers={"Origin": origin})
    expect(server.request(api, headers={"Origin": f"http://localhost:{port}"})[0] == 200, "refuses its own page")
    # Nothing of it is where other users can see it.
    with open(f"/proc/{server.process.pid}/cmdline", "rb") as file:
        expect(secret.encode() not in file.read(), "the secret is an argument")


def check_trace(server, events):
    trace = server.get("trace")
    counted = [event for event in events if "event" in event]
    expect(trace["events"] == len(counted), f"{trace['events']} events instead of {len(counted)}")
    times = [event["time_ns"] for event in counted]
    begin = int(trace["begin_ns"])
    # A loss may begin before the first event.
    expect(begin <= times[0] and begin + trace["duration"] >= times[-1], "another time")
    lost = [event["lost"] for event in events if "lost" in event]
    expect(trace["lost"] == (None if None in lost else sum(lost)), f"lost {trace['lost']}, not {lost}")
    expect(trace["error_ns"] == max(event.get("error_ns", 0) for event in counted), "another error")
    for i, track in enumerate(trace["tracks"]):
        expect(track["id"] == i and (track["parent"] is None or track["parent"] < i), f"track {track}")
    for layer in {event["layer"] for event in counted}: # each is of one source
        tracks = [t for t in trace["tracks"] if t["layer"] == layer and t["kind"] == "events"]
        n = sum(1 for event in counted if event["layer"] == layer)
        expect(max(t["n"] for t in tracks) == n, f"{layer} has {n} events, and no track of them")
    expect("running" in trace["states"], "no names of states")
    names = server.get("names", ids="0,1,4000000000")["names"]
    expect(names[:2] == trace["names"][:2] and names[2] == "", f"names: {names}")
    return trace


def exact(server, track, **span):
    """All slices of a track, by depth, with nothing put together."""
    answer = server.get("slices", pixels=8192, tracks=track["id"], **span)
    result = []
    for flat in answer["tracks"][0]["depths"]:
        expect(len(flat) % 7 == 0, "slices are not of seven numbers")
        result.append([flat[i:i + 7] for i in range(0, len(flat), 7)])
    return answer["resolution"], result


def check_slices(server, trace):
    """At each level of detail there are all slices, and none overlaps."""
    duration = trace["duration"]
    for track in trace["tracks"]:
        if track["kind"] not in ("slices", "states", "losses"):
            continue
        for pixels in (1, 100, 8192):
            answer = server.get("slices", pixels=pixels, tracks=track["id"])["tracks"][0]
            expect(len(answer["depths"]) == track["depths"], f"depths of {track}")
            n = 0
            for flat in answer["depths"]:
                slices = [flat[i:i + 7] for i in range(0, len(flat), 7)]
                n += sum(one[4] for one in slices)
                for a, b in zip(slices, slices[1:]):
                    expect(a[0] <= a[1] <= b[0], f"{track['name']} at {pixels}: {a} overlaps {b}")
                for one in slices:
                    expect(one[0] >= 0 and one[1] <= duration, f"{one} is outside")
                    expect(one[2] < len(trace["names"]), f"{one} has no name")
                    expect((one[4] == 1) == (not one[3] & 64), f"{one}")
            expect(n == track["n"], f"{track['name']} at {pixels}: {n} slices of {track['n']}")


def check_places(server, trace):
    """At random places, the slice of any level of detail is that of api/slice."""
    rand = random.Random(1)
    tracks = [t for t in trace["tracks"] if t["kind"] in ("slices", "states") and t["n"] > 0]
    found = 0
    for _ in range(100):
        track = rand.choice(tracks)
        time = rand.randrange(trace["duration"])
        resolution, depths = exact(server, track, **{"from": max(time - 50, 0), "to": time + 50})
        expect(resolution == 0, f"resolution {resolution}")
        here = [one for one in depths[0] if one[0] <= time <= one[1]]
        status, _, body = server.request(f"/{server.secret}/api/slice?track={track['id']}&depth=0&time={time}")
        expect(status == (200 if here else 404), f"{track['name']} at {time}: {status}, {here}")
        if not here:
            continue
        found += 1
        answer = json.loads(body)
        expect([answer["begin"], answer["end"], answer["name"], answer["flags"]] ==
               [here[-1][0], here[-1][1], trace["names"][here[-1][2]], here[-1][3]], f"{answer} is not {here}")
        if answer["event"]:
            expect(answer["event"]["time"] == answer["begin"], f"{answer}")
        coarse = server.get("slices", pixels=10, tracks=track["id"])["tracks"][0]["depths"][0]
        expect(any(coarse[i] <= time <= coarse[i + 1] for i in range(0, len(coarse), 7)),
               f"{track['name']} at {time}: nothing at a coarse level")
    expect(found > 20, f"only {found} slices were found")


def check_counts(server, trace, events):
    begin = int(trace["begin_ns"])
    tracks = [t for t in trace["tracks"] if t["kind"] == "events"]
    answer = server.get("counts", pixels=7, tracks=",".join(str(t["id"]) for t in tracks), **{
        "from": 0, "to": trace["duration"] + 1})
    for track, one in zip(tracks, answer["tracks"]):
        expect(one["id"] == track["id"] and len(one["counts"]) == 7, f"{one}")
        expect(sum(one["counts"]) == track["n"], f"{track['name']}: {sum(one['counts'])} of {track['n']}")
    # The events of one source by the middle of the trace; the times of one in 64 are kept.
    layer = tracks[0]["layer"]
    middle = trace["duration"] // 2
    n = sum(1 for e in events if "event" in e and e["layer"] == layer and e["time_ns"] - begin < middle)
    got = server.get("counts", pixels=1, tracks=tracks[0]["id"], **{"from": 0, "to": middle})["tracks"][0]["counts"][0]
    expect(abs(got - n) <= 64, f"{got} events up to the middle, not {n}")
    counters = [t for t in trace["tracks"] if t["kind"] == "counter"]
    for one in server.get("values", tracks=",".join(str(t["id"]) for t in counters))["tracks"]:
        expect(len(one["values"]) % 4 == 0 and len(one["values"]) > 0, f"{one}")


def check_events(server, trace, events):
    """All events, page by page, are those of the report."""
    begin = int(trace["begin_ns"])
    part = [event for event in events if "time_ns" in event]
    for parameters, wanted in (({}, part[:2500]), ({"filter": "sched_*"}, [e for e in part if "lost" in e or
                               e["event"].startswith("sched_")]), ({"filter": "no_such_event"},
                                                                   [e for e in part if "lost" in e])):
        got, place = [], {}
        while len(got) < len(wanted):
            answer = server.get("events", limit=1000, fields=1, **parameters, **place)
            got += answer["events"]
            if answer["next"] is None:
                break
            place = {"from": answer["next"], "skip": answer["skip"]}
        expect(len(got) >= len(wanted), f"{parameters}: {len(got)} rows instead of {len(wanted)}")
        for a, b in zip(got, wanted):
            same = (a["time"] + begin, a["layer"], a.get("cpu"), a.get("pid"), a.get("comm")) == (
                b["time_ns"], b["layer"], b.get("cpu"), b.get("pid"), b.get("comm"))
            if "event" in b:
                name = f"{b['group']}:{b['event']}" if b.get("group") else b["event"]
                same = same and a["name"] == name and a["fields"] == b["fields"]
            else:
                same = same and a["lost"] == b["lost"]
            expect(same, f"{a} is not {b}")
    # Of one track.
    track = next(t for t in trace["tracks"] if t["kind"] == "events" and "pid" in t)
    got = server.get("events", track=track["id"], limit=1000)["events"]
    wanted = [e for e in part if e["layer"] == track["layer"] and e.get("pid") == track["pid"]]
    expect([e["time"] + begin for e in got if e["name"] != "LOST"][:len(wanted)] == [e["time_ns"] for e in wanted][:1000],
           f"other events of {track['name']}")
    # Only the rest, and nothing after the end.
    expect(server.get("events", **{"from": trace["duration"] + 1})["events"] == [], "events after the end")
    body = server.refuses(400, f"/{server.secret}/api/events?filter=a,,b")
    expect(b"filter" in body, f"{body}")


def check_statistics(server, trace):
    """Statistics are those of the slices; so is the search."""
    tracks = [t for t in trace["tracks"] if t["kind"] in ("slices", "states") and 0 < t["n"] < 2000][:20]
    rows = server.get("statistics", tracks=",".join(str(t["id"]) for t in tracks))["rows"]
    for track in tracks:
        own = [row for row in rows if row["track"] == track["id"]]
        expect(sum(row["n"] for row in own) == track["n"], f"{track['name']}: {own}")
        for row in own:
            expect(row["min"] <= row["mean"] <= row["max"] and row["total"] <= trace["duration"] * track["depths"], f"{row}")
    # In a span, by hand, where nothing is put together.
    track = max(tracks, key=lambda t: t["n"])
    middle = trace["duration"] // 2
    span = {"from": middle, "to": middle + 8000}
    resolution, depths = exact(server, track, **span)
    expect(resolution == 0, f"{resolution}")
    n = sum(len(slices) for slices in depths)
    total = sum(min(one[1], span["to"]) - max(one[0], span["from"]) for slices in depths for one in slices)
    rows = server.get("statistics", tracks=track["id"], **span)["rows"]
    expect((sum(r["n"] for r in rows), sum(r["total"] for r in rows)) == (n, total), f"{rows} instead of {n}, {total}")

    # All of a name, page by page, in order of time.
    name = trace["names"][server.get("statistics", tracks=track["id"])["rows"][0]["name"]]
    matching = {i for i, one in enumerate(trace["names"]) if name.lower() in one.lower()}
    got, place = [], {}
    while True:
        answer = server.get("search", text=name.upper(), limit=50, **place)
        got += answer["found"]
        if answer["next"] is None:
            break
        place = {"from": answer["next"]}
    expect(all(found["name"] in matching for found in got), "found another name")
    expect([f["begin"] for f in got] == sorted(f["begin"] for f in got), "found out of order")
    expect(len({(f["track"], f["depth"], f["begin"], f["end"]) for f in got}) == len(got), "found twice")
    every = [t["id"] for t in trace["tracks"] if t["kind"] in ("slices", "states")]
    rows = []
    for i in range(0, len(every), 200):
        rows += server.get("statistics", tracks=",".join(map(str, every[i:i + 200])))["rows"]
    n = sum(row["n"] for row in rows if row["name"] in matching)
    expect(len(got) == n, f"found {len(got)} of {n} '{name}'")
    expect(server.get("search", text="no such name")["found"] == [], "found what there is not")
    server.refuses(400, f"/{server.secret}/api/search")


def check_wrong_parameters(server, trace):
    n = len(trace["tracks"])
    for target in ("slices?from=x", "slices?from=9&to=3", "slices?pixels=0", "slices?pixels=8193", "slices?tracks=-1",
                   f"slices?tracks={n}", "slices?tracks=1,,2", "slices?tracks=1;2", "slices?tracks=" + "1," * 200 + "1",
                   "slices?from=99999999999999999999", "slices?to=-9223372036854775808", "events?limit=0",
                   "events?limit=1001", f"events?track={n}", "slice?track=0", f"slice?time=0&track={n}", "arrows?max=-1",
                   "names?ids=x", "values?tracks=x", "statistics?tracks=x", "search?text=a&limit=x"):
        body = server.refuses(400, f"/{server.secret}/api/{target}")
        expect("error" in json.loads(body), f"{target}: {body}")


def check_at_once(server, trace):
    """Many requests at the same time have the answers that each has alone."""
    ids = [t["id"] for t in trace["tracks"] if t["kind"] in ("slices", "states")][:12]
    alone = [server.get("slices", tracks=i) for i in ids] + [server.get("events", limit=50)]
    together = [None] * (len(ids) + 1)

    def ask(i):
        together[i] = server.get("slices", tracks=ids[i]) if i < len(ids) else server.get("events", limit=50)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(together))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(together == alone, "other answers at the same time")


def main():
    events = lines("report", "-f", "json", TRACE)
    server = Server(TRACE)
    try:
        check_guard(server)
        trace = check_trace(server, events)
        check_slices(server, trace)
        check_places(server, trace)
        check_counts(server, trace, events)
        check_events(server, trace, events)
        check_statistics(server, trace)
        check_wrong_parameters(server, trace)
        check_at_once(server, trace)
        arrows = server.get("arrows", max=5)
        expect(arrows["total"] >= len(arrows["arrows"]), f"{arrows}")

        # The port is taken; a second server says so, and one of its own choice is another.
        second = subprocess.run([STRATA, "serve", "--listen", str(server.address.port), TRACE], capture_output=True,
                                text=True, check=False)
        expect(second.returncode == 1 and second.stdout == "" and "in use" in second.stderr and
               second.stderr.count("\n") == 1, f"{second}")
        other = Server("--listen", "localhost", TRACE)
        expect(other.secret != server.secret, "the same secret twice")
        other.refuses(403, f"/{server.secret}/")
        other.end(signal.SIGINT)
        server.end(signal.SIGTERM)
    finally:
        if server.process.poll() is None:
            server.process.kill()


main()
