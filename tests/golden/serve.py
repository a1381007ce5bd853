#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Asks a server of strata serve, as a browser and other programs do.

    serve.py STRATA answers TRACE            compares all that it answers with what the other commands print
    serve.py STRATA hostile OPTION... TRACE  looks at what it answers of a trace with strings that are meant to do harm
    serve.py STRATA headers TRACE            whether requests that are refused before they are read leave memory behind
    serve.py STRATA traces TRACE...          several traces, by the Trace Server Protocol
    serve.py STRATA unit UNIT OPTION... TRACE   whether times are "ns" or "ticks"
    serve.py STRATA view TRACE DIR           strata view, with DIR/xdg-open, which writes its argument to DIR/opened
"""

import bisect
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

STRATA, WHAT = sys.argv[1:3]


def fail(text):
    sys.exit(f"serve.py: {text}")


def expect(condition, text):
    if not condition:
        fail(text)


class Server:
    """A server, by the address that it prints."""

    def __init__(self, *options, verb="serve", **how):
        self.process = subprocess.Popen([STRATA, verb, *options], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, **how)
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
    expect(trace["unit"] == "ns", f"times are {trace['unit']}")
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


def check_places(server, trace, events):
    """At random places, the slice of any level of detail is that of api/slice; its ends may be off as far as its source's
    events at these times."""
    rand = random.Random(1)
    layers = {layer: sorted((e["time_ns"] - int(trace["begin_ns"]), e.get("error_ns", 0)) for e in events
                            if e.get("layer") == layer and "event" in e) for layer in {t["layer"] for t in trace["tracks"]}}
    tracks = [t for t in trace["tracks"] if t["kind"] in ("slices", "states") and t["n"] > 0]
    found = 0
    for _ in range(100):
        track = rand.choice(tracks)
        place = rand.randrange(trace["duration"])
        resolution, depths = exact(server, track, **{"from": max(place - 50, 0), "to": place + 50})
        expect(resolution == 0, f"resolution {resolution}")
        here = [one for one in depths[0] if one[0] <= place <= one[1]]
        status, _, body = server.request(f"/{server.secret}/api/slice?track={track['id']}&depth=0&time={place}")
        expect(status == (200 if here else 404), f"{track['name']} at {place}: {status}, {here}")
        if not here:
            continue
        found += 1
        answer = json.loads(body)
        expect([answer["begin"], answer["end"], answer["name"], answer["flags"]] ==
               [here[-1][0], here[-1][1], trace["names"][here[-1][2]], here[-1][3]], f"{answer} is not {here}")
        if answer["event"]:
            expect(answer["event"]["time"] == answer["begin"], f"{answer}")
        if answer["end_event"]:
            expect(answer["end_event"]["time"] == answer["end"] and not answer["flags"] & 3, f"{answer}")
        for end in ("begin", "end"):
            errors = layers[track["layer"]]
            errors = errors[bisect.bisect_left(errors, (answer[end], -1)):]
            expect(not errors or answer[f"{end}_error_ns"] in {error for time, error in errors if time == errors[0][0]},
                   f"{end}: {errors[:2]} is not the error of {answer}")
        coarse = server.get("slices", pixels=10, tracks=track["id"])["tracks"][0]["depths"][0]
        expect(any(coarse[i] <= place <= coarse[i + 1] for i in range(0, len(coarse), 7)),
               f"{track['name']} at {place}: nothing at a coarse level")
    expect(found > 20, f"only {found} slices were found")


def check_counts(server, trace, events):
    begin = int(trace["begin_ns"])
    tracks = [t for t in trace["tracks"] if t["kind"] == "events"]
    answer = server.get("counts", pixels=7, tracks=",".join(str(t["id"]) for t in tracks), **{
        "from": 0, "to": trace["duration"] + 1})
    for track, one in zip(tracks, answer["tracks"]):
        expect(one["id"] == track["id"] and len(one["counts"]) == 7, f"{one}")
        expect(sum(one["counts"]) == track["n"], f"{track['name']}: {sum(one['counts'])} of {track['n']}")
    # What is drawn where is what was recorded there, at every level of detail.
    rand = random.Random(1)
    for layer in {t["layer"] for t in tracks}:
        (track,) = [t for t in tracks if t["layer"] == layer and t["name"] == "all events"]
        times = sorted(e["time_ns"] - begin for e in events if "event" in e and e["layer"] == layer)
        for _ in range(50):
            since = max(0, rand.choice(times) - rand.randrange(100))
            until = since + 1 + rand.randrange(1 + (trace["duration"] >> rand.randrange(20)))
            pixels = rand.randrange(1, 500)
            (got,) = server.get("counts", pixels=pixels, tracks=track["id"], **{"from": since, "to": until})["tracks"]
            wanted = [0] * pixels
            for at in times[bisect.bisect_left(times, since):bisect.bisect_left(times, until)]:
                wanted[(at - since) * pixels // (until - since)] += 1
            expect(got["counts"] == wanted, f"{layer} from {since} to {until}: {got['counts']} is not {wanted}")
    counters = [t for t in trace["tracks"] if t["kind"] == "counter"]
    for one in server.get("values", tracks=",".join(str(t["id"]) for t in counters))["tracks"]:
        expect(len(one["values"]) % 4 == 0 and len(one["values"]) > 0, f"{one}")


def check_shown(event):
    """A number reads as in the event's text, where that names its field: addresses alike, and small ones with the value."""
    for name, text in event["shown"]:
        for found in re.findall(rf"(?:^|[ ,]){re.escape(name)}[= ](0x[0-9a-f]+|0|-?[1-9]\d*)(?=[ ,]|$)", event["text"]):
            shown = text.split(" (")[0].replace("true", "1").replace("false", "0")
            expect(int(shown, 0) == int(found, 0) and (found == shown or int(found, 0) < 1 << 32),
                   f"{name} of {event} reads as {text}")


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
                check_shown(a)
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


class Tsp:
    """A client of the Trace Server Protocol."""

    def __init__(self, server):
        self.server = server

    def get(self, path):
        status, _, body = self.server.request(f"/{self.server.secret}/tsp/api/{path}")
        expect(status == 200, f"{path}: {status} {body[:300]}")
        return json.loads(body)

    def post(self, path, wanted=200, method="POST", **parameters):
        status, _, body = self.server.request(f"/{self.server.secret}/tsp/api/{path}", method=method,
                                              body=json.dumps({"parameters": parameters}).encode())
        expect(status == wanted, f"{path} {str(parameters)[:200]}: {status} {body[:300]}")
        answer = json.loads(body)
        if wanted != 200:
            expect("title" in answer, f"{path}: {answer}")
            return None
        if "status" not in answer:
            return answer
        expect(answer["status"] == "COMPLETED", f"{path}: {answer['status']}")
        return answer["model"]


def check_tsp(server, trace, events):
    """The Trace Server Protocol has the same tracks, slices and events."""
    tsp = Tsp(server)
    begin, counted = int(trace["begin_ns"]), [event for event in events if "event" in event]
    expect(tsp.get("health") == {"status": "UP"} and tsp.get("identifier")["tspVersion"].startswith("0.6"), "health")
    (opened,) = tsp.get("traces")
    (experiment,) = tsp.get("experiments")
    expect((experiment["start"], experiment["end"], experiment["nbEvents"], experiment["traces"]) ==
           (begin, begin + trace["duration"], len(counted), [opened]), f"{experiment}")
    expect(tsp.get(f"traces/{opened['UUID']}") == opened, "another trace")
    expect(tsp.post("traces", uri=opened["path"], name="a") == opened, "opens another trace")
    expect(tsp.post("experiments", name="a", traces=[opened["UUID"]]) == experiment, "makes another experiment")
    tsp.post("traces", 404, uri="/etc/passwd")
    tsp.post("traces", 400)
    tsp.post("experiments", 404, name="a", traces=[experiment["UUID"]])
    for path in (os.path.realpath(opened["path"]), "file://" + os.path.realpath(opened["path"]) + "/vmm/trace.log"):
        expect(tsp.post("traces", uri=path, name="a") == opened, f"{path} is another trace")
    for path in (os.path.realpath(opened["path"]) + "x", os.path.dirname(os.path.realpath(opened["path"])), "/", "", "."):
        tsp.post("traces", 404, uri=path)
    tsp.post(f"traces/{opened['UUID']}", 409, method="DELETE")
    tsp.post(f"traces/{experiment['UUID']}", 404, method="DELETE")
    server.refuses(405, f"/{server.secret}/tsp/api/experiments/{experiment['UUID']}", method="DELETE")
    outputs = f"experiments/{experiment['UUID']}/outputs"
    ids = {output["type"]: output["id"] for output in reversed(tsp.get(outputs))}
    expect(set(ids) == {"TIME_GRAPH", "TREE_TIME_XY", "TABLE", "DATA_TREE"}, f"{ids}")
    for wrong in (f"experiments/{opened['UUID']}/outputs", f"{outputs}/nothing", f"traces/{experiment['UUID']}"):
        server.refuses(404, f"/{server.secret}/tsp/api/{wrong}")
    for body in (b"", b"{", b"[]", b"{\"parameters\":1}", b"[" * 5000, b"{\"parameters\":{\"requested_timerange\":{}}}",
                 b"{\"parameters\":{\"requested_timerange\":{\"start\":2,\"end\":1}}}",
                 b"{\"parameters\":{\"requested_items\":[\"a\"],\"requested_timerange\":{\"start\":1,\"end\":1}}}"):
        server.refuses(400, f"/{server.secret}/tsp/api/{outputs}/timeGraph/{ids['TIME_GRAPH']}/states", method="POST",
                       body=body)

    check_tsp_clients(server, tsp, outputs, ids)

    # The time graph, against the page's API.
    graph = f"{outputs}/timeGraph/{ids['TIME_GRAPH']}"
    entries = tsp.post(f"{graph}/tree")["entries"]
    numbers = {entry["id"] for entry in entries}
    expect(len(numbers) == len(entries), "two entries have one number")
    expect(all(entry.get("parentId", entry["id"]) in numbers for entry in entries), "an entry's parent is not there")
    span = {"start": begin, "end": begin + trace["duration"], "nbTimes": 500}
    rows = tsp.post(f"{graph}/states", requested_timerange=span, requested_items=sorted(numbers))["rows"]
    styles = tsp.post(f"{outputs}/{ids['TIME_GRAPH']}/style")["styles"]
    n = 0
    for row in rows:
        track, depth = row["entryId"] >> 8, row["entryId"] & 255
        flat = server.get("slices", pixels=500, tracks=track)["tracks"][0]["depths"][depth]
        expect([[s["start"] - begin, s["end"] - begin] for s in row["states"]] ==
               [flat[i:i + 2] for i in range(0, len(flat), 7)], f"states of track {track}")
        expect(all(s["style"]["parentKey"] in styles for s in row["states"]), "a style is not there")
        n += len(row["states"])
    expect(n > 100, f"only {n} states")
    row = max(rows, key=lambda one: len(one["states"]))
    tip = tsp.post(f"{graph}/tooltip", requested_items=[row["entryId"]], requested_times=[row["states"][0]["start"]],
                   requested_element={"elementType": "STATE", "time": row["states"][0]["start"], "duration": 1})
    expect("Name" in tip and "Duration" in tip, f"{tip}")
    expect("Event" not in tip or re.fullmatch("±[0-9]+ ns", tip["Clock error"]), f"{tip}")
    expect(len(tsp.post(f"{graph}/arrows", requested_timerange=span)) <= server.get("arrows")["total"], "arrows")
    marks = tsp.post(f"{outputs}/{ids['TIME_GRAPH']}/annotations", requested_timerange=span)["annotations"]
    losses = sum(t["n"] for t in trace["tracks"] if t["kind"] == "losses")
    expect(len(marks["Lost events"]) == losses, f"{len(marks['Lost events'])} marks of {losses} losses")
    check_tsp_marks(tsp, trace, outputs, ids["TIME_GRAPH"], span)

    # Events over time.
    tree = tsp.post(f"{outputs}/XY/{ids['TREE_TIME_XY']}/tree")["entries"]
    series = tsp.post(f"{outputs}/XY/{ids['TREE_TIME_XY']}/xy", requested_items=[e["id"] for e in tree],
                      requested_timerange=dict(span, nbTimes=10))["series"]
    for one in series:
        expect(len(one["xValues"]) == len(one["yValues"]) == 10, f"{one}")
        expect(sum(one["yValues"]) == trace["tracks"][one["seriesId"] >> 8]["n"], f"{one['seriesName']}")

    check_tsp_counters(tsp, trace, events, outputs, dict(span, nbTimes=777))

    # The table, by number, by time, and by search.
    table = f"{outputs}/table/{ids['TABLE']}"
    columns = {column["name"]: column["id"] for column in tsp.post(f"{table}/columns")}

    def ask(count, **parameters):
        model = tsp.post(f"{table}/lines", requested_table_count=count, **parameters)
        expect(model["size"] == len(counted), f"{model['size']} lines")
        for line in model["lines"]:
            event = counted[line["index"]]
            cells = dict(zip(model["columnIds"], (cell["content"] for cell in line["cells"])))
            name = f"{event['group']}:{event['event']}" if event.get("group") else event["event"]
            expect(cells[columns["Time"]].replace(".", "") == str(event["time_ns"]) and cells[columns["Event"]] == name,
                   f"{line} is not {event}")
        return [line["index"] for line in model["lines"]]

    for first in (0, 1, 8191, 8192, 20000, len(counted) - 1):
        wanted = list(range(first, min(first + 3, len(counted))))
        expect(ask(3, requested_table_index=first) == wanted, f"lines from {first}")
    expect(ask(3, requested_table_index=len(counted)) == [], "lines after the last")
    for at in (begin, begin + trace["duration"] // 2, counted[9000]["time_ns"]):
        wanted = next(i for i, event in enumerate(counted) if event["time_ns"] >= at)
        expect(ask(1, requested_times=[at]) == [wanted], f"the line at {at}")
    expect(ask(1, requested_times=[begin + trace["duration"] + 1]) == [], "a line after the end")
    places = [i for i, event in enumerate(counted) if event["event"] == "disk_read"]
    search = {"table_search_expressions": {str(columns["Event"]): "^disk_r.ad$"}}
    for direction, wanted in (("NEXT", [i for i in places if i >= 9000][0]), ("PREVIOUS", [i for i in places if i <= 9000][-1])):
        got = ask(1, requested_table_index=9000, table_search_direction=direction, **search)
        expect(got == [wanted], f"{direction}: line {got} instead of {wanted}")
    expect(ask(1, requested_table_index=places[-1] + 1, table_search_direction="NEXT", **search) == [], "finds another")
    # Expressions of somebody who wants to use up time or memory.
    text = str(columns["Text"])
    for expression in ("(", "a" * 1025, "(.*)*(.*)*(.*)*x{99}"):
        tsp.post(f"{table}/lines", 400, requested_table_index=0, requested_table_count=1, table_search_direction="NEXT",
                 table_search_expressions={text: expression})
    for expression in ("((a{9}){9}){9}", "(a|b)*a" + "(a|b)" * 20, ".*s......................."):
        ask(1, requested_table_index=0, table_search_direction="NEXT", table_search_expressions={text: expression})

    # Statistics.
    model = tsp.post(f"{outputs}/data/{ids['DATA_TREE']}/tree", requested_timerange=span)
    rows = {entry["id"]: entry["labels"] for entry in model["entries"]}
    for track in trace["tracks"]:
        if track["kind"] in ("slices", "states"):
            expect(rows[track["id"]][:2] == [track["name"], str(track["n"])], f"{rows[track['id']]}")
            named = [e["labels"] for e in model["entries"] if e["id"] >> 32 and e["parentId"] == track["id"]]
            expect(sum(int(labels[1]) for labels in named) == track["n"], f"{named}")


def check_tsp_clients(server, tsp, outputs, ids):
    """What clients ask, and the Trace Compass server answers: without parameters, without columns, with a slash at the end."""
    def ask(path, body, method="POST"):
        status, _, answer = server.request(f"/{server.secret}/tsp/api/{path}", method=method, body=body)
        return status, json.loads(answer)

    for kind, output in ("data", "DATA_TREE"), ("timeGraph", "TIME_GRAPH"), ("XY", "TREE_TIME_XY"):
        address = f"{outputs}/{kind}/{ids[output]}/tree"
        expect(ask(address, b"{}") == ask(address, b'{"parameters":{}}'), f"{address} without parameters")
    expect(ask(f"{outputs}/timeGraph/{ids['TIME_GRAPH']}/states", b"{}")[0] == 400, "states without a time")
    lines = [tsp.post(f"{outputs}/table/{ids['TABLE']}/lines", requested_table_index=0, requested_table_count=2, **columns)
             for columns in ({}, {"requested_table_column_ids": []})]
    expect(lines[0] == lines[1] and len(lines[0]["lines"][0]["cells"]) == 8, f"lines without columns: {lines[1]}")
    expect(tsp.get("config/types/") == tsp.get("config/types") == [], "config/types/")
    server.refuses(404, f"/{server.secret}/tsp/api/config/types//")
    # What is not done is refused, with the reason where viewers look.
    span = {"start": 0, "end": 1}
    for parameters in ({"filter_expressions_map": {"1": ["a"]}},
                       {"filter_query_parameters": {"strategy": "DEEP", "filter_expressions_map": {"1": ["a"]}}}):
        body = json.dumps({"parameters": dict(parameters, requested_timerange=span, requested_items=[0])}).encode()
        status, answer = ask(f"{outputs}/timeGraph/{ids['TIME_GRAPH']}/states", body)
        expect(status == 400 and "filter" in answer["statusMessage"] == answer["title"], f"{parameters}: {status} {answer}")
    for name in "tree", "xy":
        status, answer = ask(f"{outputs}/genericXY/{ids['TREE_TIME_XY']}/{name}", b"{}")
        expect(status == 404 and "TREE_GENERIC_XY" in answer["title"], f"{name}: {status} {answer}")
    chart = f"{outputs}/XY/{ids['TREE_TIME_XY']}"
    entry = next(e for e in tsp.post(f"{chart}/tree")["entries"] if e["hasData"])
    tip = tsp.get(f"{chart}/tooltip?xValue=7&yValue=3&seriesId={entry['id']}")["model"]
    expect(tip == {"Series": entry["labels"][0], "Time": "7 ns", "Events": "3"}, f"{tip}")
    expect(tsp.get(f"{chart}/tooltip?xValue=7")["model"] == {"Time": "7 ns"}, "a tooltip without a series")
    server.refuses(404, f"/{server.secret}/tsp/api/{chart}/tooltip?xValue=7&seriesId=99999999")
    server.refuses(400, f"/{server.secret}/tsp/api/{chart}/tooltip")


def check_tsp_counters(tsp, trace, events, outputs, span):
    """At each time there is the value that holds there: of a clock's error, that of the last event before, rounded up."""
    counters = f"{outputs}/XY/strata.counters"
    items = [entry["id"] for entry in tsp.post(f"{counters}/tree")["entries"]]
    series = tsp.post(f"{counters}/xy", requested_items=items, requested_timerange=span)["series"]
    checked = 0
    for one in series:
        expect(len(one["xValues"]) == len(one["yValues"]) == 777 and one["xValues"] == series[0]["xValues"], f"{one}")
        track = trace["tracks"][one["seriesId"] >> 8]
        errors = [(e["time_ns"], e.get("error_ns", 0)) for e in events if "event" in e and e["layer"] == track["layer"]]
        if track["name"] != "clock error":
            continue
        for time, value in zip(one["xValues"], one["yValues"]):
            i = bisect.bisect_left(errors, (time, -1)) - 1
            if i >= 0 and errors[i + 1:i + 2] and errors[i + 1][0] > time:
                # One value in each period is kept.
                near = [e for t, e in errors[max(0, i - 500):i + 1] if t >= errors[i][0] - trace["duration"] // 777]
                expect(min(near) <= value <= max(near) * 17 // 16 + 1, f"{track['layer']} at {time}: {value}, not {near}")
                checked += 1
    expect(checked > 200, f"only {checked} values")


def check_tsp_marks(tsp, trace, outputs, output, span):
    """Bookmarks that clients make, and the losses of each source as a marker set."""
    annotations = f"{outputs}/{output}/annotations"
    bookmarks = outputs.replace("outputs", "bookmarks")
    middle = span["start"] + trace["duration"] // 2
    expect(tsp.get(bookmarks) == [], "there are bookmarks at the start")
    first = tsp.post(bookmarks, name='here "\n<b>', start=middle, end=middle + 5)
    second = tsp.post(bookmarks, name="there", start=span["end"], end=span["end"])
    expect(first["uuid"] != second["uuid"] and re.fullmatch("[0-9a-f-]{36}", first["uuid"]), f"{first} {second}")
    expect(tsp.get(bookmarks) == [first, second] and tsp.get(f"{bookmarks}/{first['uuid']}") == first, "other bookmarks")
    for wrong in ({"name": "a"}, {"name": "a", "start": 2, "end": 1}, {"name": 1, "start": 1, "end": 1},
                  {"name": "a" * 1001, "start": 1, "end": 1}, {"name": "a", "start": "1", "end": 1}):
        tsp.post(bookmarks, 400, **wrong)
    changed = tsp.post(f"{bookmarks}/{first['uuid']}", method="PUT", name="new", start=middle, end=middle)
    expect(changed == dict(first, name="new", end=middle), f"{changed}")
    marks = tsp.post(annotations, requested_timerange=dict(span, end=middle), requested_marker_categories=["Bookmarks"])
    expect([(m["label"], m["time"], m["duration"]) for m in marks["annotations"]["Bookmarks"]] == [("new", middle, 0)] and
           list(marks["annotations"]) == ["Bookmarks"], f"{marks}")
    expect(tsp.post(f"{bookmarks}/{second['uuid']}", method="DELETE") == second and tsp.get(bookmarks) == [changed], "kept")
    for method in ("PUT", "DELETE"):
        tsp.post(f"{bookmarks}/{second['uuid']}", 404, method=method, name="a", start=1, end=1)
    for i in range(999):
        tsp.post(bookmarks, name=str(i), start=1, end=1)
    tsp.post(bookmarks, 400, name="one more", start=1, end=1)

    expect(tsp.get(annotations)["model"]["annotationCategories"] == ["Lost events", "Bookmarks"], "other categories")
    (markers,) = tsp.get(f"{outputs}/markerSets")["model"]
    categories = tsp.get(f"{annotations}?markerSetId={markers['id']}")["model"]["annotationCategories"]
    marks = tsp.post(annotations, requested_timerange=span, requested_marker_set=markers["id"])["annotations"]
    expect(list(marks) == categories, f"{list(marks)} are not {categories}")
    tracks = trace["tracks"]
    for track in tracks:
        if track["kind"] != "losses":
            continue
        root = track
        while root["parent"] is not None:
            root = tracks[root["parent"]]
        expect(marks["Lost events: " + root["name"]], f"{categories}")
    n = sum(len(of) for name, of in marks.items() if name != "Bookmarks")
    expect(n == sum(t["n"] for t in tracks if t["kind"] == "losses"), f"{marks}")


def check_traces(paths):
    """Several traces are one experiment, and nothing else of the machine is a trace."""
    server = Server(*paths)
    try:
        tsp = Tsp(server)
        traces = tsp.get("traces")
        (experiment,) = tsp.get("experiments")
        expect([one["path"] for one in traces] == paths and experiment["traces"] == traces, f"{traces}")
        for path, one in zip(paths, traces):
            n = sum(1 for event in lines("report", "-f", "json", path) if "event" in event)
            expect(one["nbEvents"] == n, f"{one} has {n} events")
            expect(tsp.post("traces", uri="file://" + os.path.realpath(path), name="a") == one, f"{path} is not opened")
        uuids = [one["UUID"] for one in traces]
        expect(len(set(uuids)) == len(paths) and experiment["nbEvents"] == sum(one["nbEvents"] for one in traces), f"{traces}")
        for some in (uuids, uuids[::-1], uuids + uuids):
            expect(tsp.post("experiments", name="all", traces=some) == experiment, f"{some}: another experiment")
        for wrong in (uuids[:1], [], uuids + [experiment["UUID"]], uuids + [1]):
            tsp.post("experiments", 404, name="all", traces=wrong)
        server.end(signal.SIGTERM)
    finally:
        server.process.kill()


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


def check_answers(path):
    events = lines("report", "-f", "json", path)
    server = Server(path)
    try:
        check_guard(server)
        trace = check_trace(server, events)
        check_slices(server, trace)
        check_places(server, trace, events)
        check_counts(server, trace, events)
        check_events(server, trace, events)
        check_statistics(server, trace)
        check_wrong_parameters(server, trace)
        check_at_once(server, trace)
        arrows = server.get("arrows", max=5)
        expect(arrows["total"] >= len(arrows["arrows"]), f"{arrows}")
        check_tsp(server, trace, events)

        # The port is taken; a second server says so, and one of its own choice is another.
        second = subprocess.run([STRATA, "serve", "--listen", str(server.address.port), path], capture_output=True,
                                text=True, check=False, env=dict(os.environ, XDG_CACHE_HOME=os.path.abspath("unused")))
        expect(second.returncode == 1 and second.stdout == "" and "in use" in second.stderr and
               second.stderr.count("\n") == 1, f"{second}")
        expect(not os.path.exists("unused"), "makes an index before it knows that it cannot show it")
        other = Server("--listen", "localhost", path)
        expect(other.secret != server.secret, "the same secret twice")
        other.refuses(403, f"/{server.secret}/")
        expect(other.get("trace") == server.get("trace"), "another server has another trace")
        other.end(signal.SIGINT)
        server.end(signal.SIGTERM)
    finally:
        server.process.kill()


def check_hostile(arguments):
    """Answers are UTF-8 and JSON, without a control character, whatever is in the trace."""
    server = Server(*arguments)
    try:
        trace = server.get("trace")
        bodies = []
        tracks = ",".join(str(t["id"]) for t in trace["tracks"][:200])
        for target in ("api/trace", f"api/slices?tracks={tracks}", "api/events?limit=1000&fields=1",
                       "api/search?text=%1b", f"api/statistics?tracks={tracks}", "api/events?filter=%ff%1b[31m",
                       "tsp/api/experiments", "tsp/api/traces"):
            status, headers, body = server.request(f"/{server.secret}/{target}")
            expect(status == 200 and headers["Content-Type"] == "application/json", f"{target}: {status}")
            bodies.append(body)
        for track in trace["tracks"]:
            bodies.append(server.request(f"/{server.secret}/api/slice?track={track['id']}&depth=0&time=0")[2])
        for body in bodies:
            text = body.decode("utf-8")
            json.loads(text)
            expect(not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e]", text), f"{text[:500]}")
        expect(trace["events"] > 0, "there are no events")
        server.end(signal.SIGTERM)
    finally:
        server.process.kill()


def check_view(path, directory):
    """The browser gets a file of the user's alone, which leads to the address, and no secret as an argument."""
    environment = dict(os.environ, PATH=directory + ":" + os.environ["PATH"], DISPLAY=":nowhere", TMPDIR=directory)
    server = Server("--from", "+0.025", "--until", "+0.05", path, verb="view", env=environment)
    try:
        expect(server.address.fragment == "view=25000000~50000000", f"opens at {server.address.fragment}")
        opened = os.path.join(directory, "opened")
        for _ in range(6000):
            if os.path.exists(opened):
                break
            time.sleep(0.01)
        with open(opened, encoding="utf-8") as file:
            name = file.read()
        expect(server.secret not in name and name.endswith("/open.html"), f"xdg-open gets {name}")
        expect(os.stat(os.path.dirname(name)).st_mode & 0o777 == 0o700, "other users may read the directory")
        expect(os.stat(name).st_mode & 0o777 == 0o600, "other users may read the file")
        with open(name, encoding="utf-8") as file:
            expect(f"url={server.address.geturl()}" in file.read(), "the file leads elsewhere")
        expect(server.request(f"/{server.secret}/")[0] == 200, "no page")
        server.end(signal.SIGTERM)
        expect(not os.path.exists(os.path.dirname(name)), "the file is still there")
    finally:
        server.process.kill()
    # Without a display, the address is enough.
    del environment["DISPLAY"]
    environment.pop("WAYLAND_DISPLAY", None)
    server = Server(path, verb="view", env=environment)
    server.process.send_signal(signal.SIGTERM)
    out, err = server.process.communicate(timeout=120)
    expect(server.process.returncode == 0 and "there is no display" in err, f"{out} {err}")


def check_unit(unit, *arguments):
    server = Server(*arguments)
    try:
        got = server.get("trace")["unit"]
        expect(got == unit, f"times are {got}")
        server.end(signal.SIGTERM)
    finally:
        server.process.kill()


# An exchange has 16 KiB: 160 MiB if none is freed. AddressSanitizer keeps freed memory for a while and looks for leaks
# itself when the server ends.
IS_SANITIZED = "SANITIZED" in os.environ
REQUESTS = 1_000 if IS_SANITIZED else 10_000
GROWTH_MAX_KIB = 32 << 10


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+) kB", file.read())[1])


def send_refused(server, request, count):
    """Sends REQUEST so often, each on its own connection; the server must refuse it."""
    host, port = server.address.hostname, server.address.port
    for _ in range(count):
        with socket.create_connection((host, port), timeout=60) as connection:
            try:
                connection.sendall(request)
                answer = connection.recv(64)
            except (BrokenPipeError, ConnectionResetError):
                continue
            expect(not answer or answer.startswith(b"HTTP/1.1 4"), f"answers {answer}")


def check_changed(path, change, status, wanted):
    """The file CHANGE is cut while the trace PATH is served."""
    server = Server(path)
    server.get("trace")
    os.truncate(change, os.path.getsize(change) // 2)
    while True:
        got, _, body = server.request(f"/{server.secret}/api/trace")
        if got != 200:
            break
        time.sleep(0.05)
    expect(got == int(status) and wanted.encode() in body, f"{got} {body}")
    server.end(signal.SIGTERM)


def check_replaced(path, other):
    """The trace PATH is replaced by OTHER, then cut, at once after the server looked at it: no answer is from another trace, or whole
    when the trace is not."""
    for change in lambda: os.replace(path, path + ".away") or shutil.copyfile(other, path), lambda: os.truncate(path, 100001):
        server = Server(path)
        try:
            expect(server.request(f"/{server.secret}/api/events")[0] == 200, "not served")
            change()
            got, _, body = server.request(f"/{server.secret}/api/events?from=0&limit=1000")
            expect(got == 410 and b"was changed after it was indexed" in body, f"{got} {body[:200]}")
            server.end(signal.SIGTERM)
        finally:
            server.process.kill()


def check_headers(path):
    server = Server(path)
    cookies = b"GET / HTTP/1.1\r\nHost: localhost\r\nCookie: " + b"a=b;" * 1000 + b"\r\n\r\n"
    arguments = b"GET /?" + b"&" * 7900 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
    try:
        for request in cookies, arguments:
            send_refused(server, request, 100)
            before = resident_kib(server.process.pid)
            send_refused(server, request, REQUESTS)
            grown = resident_kib(server.process.pid) - before
            expect(IS_SANITIZED or grown < GROWTH_MAX_KIB, f"{grown} KiB more after {REQUESTS} requests")
        server.end(signal.SIGTERM)
    finally:
        server.process.kill()


def check_timeless(path):
    """What has no times begins at 0."""
    server = Server(path)
    try:
        trace = server.get("trace")
        (opened,) = Tsp(server).get("traces")
        expect((trace["begin_ns"], trace["duration"], trace["events"]) == ("0", 0, 20), f"{trace}")
        expect((opened["start"], opened["end"], opened["nbEvents"]) == (0, 0, 20), f"{opened}")
        server.end(signal.SIGTERM)
    finally:
        server.process.kill()


if WHAT == "answers":
    check_answers(sys.argv[3])
elif WHAT == "timeless":
    check_timeless(sys.argv[3])
elif WHAT == "headers":
    check_headers(sys.argv[3])
elif WHAT == "replaced":
    check_replaced(*sys.argv[3:])
elif WHAT == "changed":
    check_changed(*sys.argv[3:])
elif WHAT == "traces":
    check_traces(sys.argv[3:])
elif WHAT == "hostile":
    check_hostile(sys.argv[3:])
elif WHAT == "view":
    check_view(*sys.argv[3:])
elif WHAT == "unit":
    check_unit(*sys.argv[3:])
