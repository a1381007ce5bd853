#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""places.py STRATA [--cut] OPTION... TRACE: what `strata serve` answers at a thousand random places of the timeline, at
every level of detail, is what naive.py finds in the lines of `strata report`. STRATA_TEST_SEED repeats a run.

--cut: the events of a CPU end early; of slices, only what its states are then is compared."""

import bisect
import collections
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from naive import Naive  # noqa: E402

PLACES = int(os.environ.get("STRATA_TEST_PLACES", "1000"))
UNKNOWN = 8
MANY = 64
COVERED_ALL = 65535
Slice = collections.namedtuple("Slice", "begin end name flags n covered state")


def choose_seed():
    return int(os.environ.get("STRATA_TEST_SEED") or random.SystemRandom().randrange(1 << 32))


class Asker:
    """One connection that stays open: ten thousands of questions."""

    def __init__(self, address):
        parts = urllib.parse.urlsplit(address)
        self.path = parts.path
        self.connection = http.client.HTTPConnection(parts.netloc, timeout=120)

    def ask(self, name, **parameters):
        self.connection.request("GET", f"{self.path}api/{name}?{urllib.parse.urlencode(parameters)}")
        answer = self.connection.getresponse()
        body = answer.read()
        assert answer.status == 200, (name, parameters, answer.status, body)
        return json.loads(body)


class Places:
    """Tracks with what is known of them, and comparisons of slices with that."""

    def __init__(self, strata, arguments, trace):
        report = subprocess.run([strata, "report", "-f", "json", *arguments], stdout=subprocess.PIPE, check=True).stdout
        self.trace = trace
        self.naive = Naive(map(json.loads, report.splitlines()), int(trace["begin_ns"]), trace["duration"])
        self.known = {}
        self.compared = collections.Counter()
        for track in trace["tracks"]:
            parent = trace["tracks"][track["parent"]]["name"] if track["parent"] is not None else ""
            found = self.naive.line_of(track, parent) if track["kind"] in ("slices", "states") else None
            if found:
                self.known[track["id"]] = found

    def choose(self, rand, tracks=None, begin=0, end=None):
        """A track and a time of which it is known what is there; of half of them, near an end of something."""
        end = self.trace["duration"] if end is None else end
        for _ in range(100000):
            number = rand.choice(tracks or list(self.known))
            line = self.known[number][0]
            time = rand.randrange(begin, end)
            if line.intervals and rand.random() < 0.5:
                time = rand.choice(line.intervals)[rand.randrange(2)] + rand.randrange(-3, 4)
            if begin <= time < end and not line.is_doubtful(time, time):
                return self.trace["tracks"][number], time
        raise LookupError(f"nothing is known from {begin} to {end}")

    @staticmethod
    def is_named(one, name, state):
        return (one.state or one.name) == state if state else one.name == name

    def check(self, track, time, slices, resolution, where):
        """SLICES of TRACK around TIME, at a RESOLUTION in ns, of which those that are shorter are put together."""
        line, shared = self.known[track["id"]]
        here = [one for one in slices if one.begin <= time <= one.end]
        wanted = self.check_exact(line, time, here, where)
        for one in wanted if not shared else ():
            if one.end - one.begin >= max(resolution, 1):
                assert not all(other.flags & MANY for other in here), (where, "not exact", one, here)
            else:
                assert any(other.begin <= one.begin and one.end <= other.end for other in here), (where, "lost", one, here)
        for one in here:
            if one.flags & MANY and not shared and not line.is_doubtful(one.begin, one.end):
                self.check_many(line, one, where)

    def check_exact(self, line, time, here, where):
        """What is HERE by itself is known to be there. Returns what LINE has there."""
        wanted = [one for one in line.between(time, time) if one.begin < time < one.end]
        exact = [one for one in here if not one.flags & MANY and one.begin < time < one.end]
        if not wanted:
            assert not exact, (where, "made up", exact)
            self.compared["nothing"] += 1
        # Of several rows of requests that happen at once, the others have the rest.
        for one in exact:
            same = [other for other in wanted if (one.begin, one.end) == (other.begin, other.end)]
            assert same and self.is_named(one, same[0].name, same[0].state), (where, one, wanted)
            self.compared["exact"] += 1
        return wanted

    def check_many(self, line, one, where):
        """ONE stands for all that there are in its time, and states how much of it they take."""
        there = [other for other in line.between(one.begin, one.end) if other.begin >= one.begin and other.end <= one.end]
        assert one.n == len(there) and there[0].begin == one.begin and there[-1].end == one.end, (where, one, there)
        share = sum(other.end - other.begin for other in there) / max(one.end - one.begin, 1)
        assert abs(one.covered / COVERED_ALL - share) <= 0.001, (where, one, share)
        self.compared["many"] += 1


def slices_of(trace, flat):
    return [Slice(flat[i], flat[i + 1], trace["names"][flat[i + 2]], flat[i + 3], flat[i + 4], flat[i + 5],
                  trace["states"][flat[i + 6]]) for i in range(0, len(flat), 7)]


def levels_of(duration):
    """Resolutions from all of a trace in a pixel to single nanoseconds."""
    level = duration
    while level > 0:
        yield level
        level //= 5
    yield 0


def check_slices(asker, places, rand):
    trace, duration = places.trace, places.trace["duration"]
    for _ in range(PLACES):
        track, time = places.choose(rand)
        for level in levels_of(duration):
            pixels = rand.randrange(1, 64)
            begin = max(0, time - level * rand.randrange(pixels + 1) - 1)
            answer = asker.ask("slices", tracks=track["id"], pixels=pixels, **{
                "from": begin, "to": min(begin + level * pixels + 2, duration + 1) if level else begin + 2})
            depths = answer["tracks"][0]["depths"]
            places.check(track, time, slices_of(trace, depths[0]) if depths else [], answer["resolution"],
                         f"{track['layer']} {track['name']} at {time}, resolution {answer['resolution']}")


def states_at(asker, trace, track, time):
    answer = asker.ask("slices", tracks=track["id"], pixels=8, **{"from": time, "to": time + 1})
    depths = answer["tracks"][0]["depths"]
    return [one for one in slices_of(trace, depths[0]) if one.begin <= time + 1 and one.end >= time] if depths else []


def check_outside(asker, places, rand, track, spans):
    """There, the source of TRACK was not recorded."""
    for begin, end in spans:
        if end - begin > 2:
            time = rand.randrange(begin + 1, end - 1)
            here = states_at(asker, places.trace, track, time)
            assert here and all(one.flags & UNKNOWN and one.state == "unknown" for one in here), (track, time, spans, here)
            places.compared["outside"] += 1


def check_states(asker, places, rand, is_cut):
    """A CPU of a kernel, and a vCPU of Xen, is in some state from the first event of its source to the last, and in an unknown one
    before and after, as is a thread after it. Where data may end early, what a CPU did after its last event is unknown. Returns how
    many places are unknown."""
    trace, unknown = places.trace, 0
    tracks = [track for track in trace["tracks"] if track["kind"] == "states" and places.naive.is_covered(track)]
    first = min(times[0] for key, times in places.naive.events.items() if len(key) == 1)
    # A thread that is in some state at the last event of its source.
    for track in trace["tracks"]:
        end = places.naive.events[track["layer"],][-1] if track["kind"] == "states" and track.get("pid") else trace["duration"]
        if end < trace["duration"] and any(one.begin < end <= one.end for one in states_at(asker, trace, track, end - 1)):
            check_outside(asker, places, rand, track, [(end, trace["duration"])])
    for _ in range(PLACES // 2):
        track = rand.choice(tracks)
        begin, last, end = places.naive.span_of(track)
        time = rand.randrange(begin, end) if rand.random() < 0.5 else rand.randrange(last, end + 1)
        answer = asker.ask("slices", tracks=track["id"], pixels=8, **{"from": max(time - 1, 0), "to": time + 1})
        here = [one for one in slices_of(trace, answer["tracks"][0]["depths"][0]) if one.begin <= time <= one.end]
        assert here, (track["layer"], track["name"], "in no state", time)
        check_outside(asker, places, rand, track, [(first, begin), (end, trace["duration"])])
        assert all((one.state == "unknown") == (one.flags & UNKNOWN != 0) for one in here), here
        unknown += all(one.flags & UNKNOWN for one in here)
        if is_cut and last < time < end and track.get("cpu") is not None and track["layer"] != "hypervisor":
            assert any(one.flags & UNKNOWN for one in here), (track, time, here)
    return unknown


def unknown_spans(places, track, is_cut):
    """When it is not known what runs on the CPU of TRACK: from a loss to the next event, and after the last event that is known to have
    all before it."""
    layer, cpu = track["layer"], track["cpu"]
    own, last = places.naive.events.get((layer, cpu), []), places.naive.events[layer,][-1]
    end = places.trace["duration"]
    begin = places.known[track["id"]][0].begin
    if not own or (begin is None and not is_cut):
        return
    for _, until in places.naive.losses.get((layer, cpu), []):
        i = bisect.bisect_right(own, until)
        if begin is not None and until > begin:
            yield until + 1, (own[i] if i < len(own) else end) - 1
    # Nothing says that Xen's CPUs were recorded any longer.
    yield (own[-1] if is_cut or layer == "hypervisor" else last) + 1, end - 1


def check_unknown(asker, places, rand, is_cut):
    """There, a CPU neither runs something nor is idle. Returns how often that was seen."""
    seen = 0
    for track in places.trace["tracks"]:
        if track["id"] not in places.known or track["kind"] != "slices" or not track["name"].startswith("CPU ") or " " in track["name"][4:]:
            continue
        for begin, end in unknown_spans(places, track, is_cut):
            for _ in range(20 if begin < end else 0):
                time = rand.randrange(begin, end)
                answer = asker.ask("slices", tracks=track["id"], pixels=8, **{"from": time, "to": time + 1})
                depths = answer["tracks"][0]["depths"]
                here = [one for one in slices_of(places.trace, depths[0]) if one.begin <= time <= one.end] if depths else []
                assert here and here[0].flags & UNKNOWN, (track, time, begin, end, here)
                seen += 1
    return seen


def check_counts(asker, places, rand):
    """Each pixel has the events of the report in its time; none lies where the source lost some and recorded none."""
    trace, duration = places.trace, places.trace["duration"]
    checked = 0
    for track in trace["tracks"]:
        if track["kind"] != "events" or track["name"] != "all events":
            continue
        times = places.naive.events[track["layer"],]
        for _ in range(200):
            begin, end = sorted(rand.randrange(duration + 1) for _ in range(2))
            pixels = rand.randrange(1, 100)
            counts = asker.ask("counts", tracks=track["id"], pixels=pixels, **{"from": begin, "to": end + 1})
            wanted = [0] * pixels
            for time in times[bisect.bisect_left(times, begin):bisect.bisect_right(times, end)]:
                wanted[(time - begin) * pixels // (end + 1 - begin)] += 1
            assert counts["tracks"][0]["counts"] == wanted, (track["name"], begin, end, counts, wanted)
        for since, until in places.naive.losses[track["layer"]]:
            i = bisect.bisect_right(times, since)
            gap = since + 1, times[i] if i < len(times) else duration
            if gap[1] < until or gap[1] - gap[0] < 2:  # other CPUs recorded some
                continue
            counts = asker.ask("counts", tracks=track["id"], pixels=100, **{"from": gap[0], "to": gap[1]})
            assert not any(counts["tracks"][0]["counts"]), (track["layer"], gap, counts)
            checked += 1
    return checked


def check_errors(asker, places, rand):
    """The curve of a clock's error is never lower than the errors of the events, and at most a sixteenth higher."""
    trace, duration = places.trace, places.trace["duration"]
    for track in trace["tracks"]:
        if track["name"] != "clock error" or not track["n"]:
            continue
        errors = places.naive.errors[track["layer"]]
        for _ in range(100):
            i = rand.randrange(len(errors))
            time, error = errors[i]
            flat = asker.ask("values", tracks=track["id"], pixels=1, **{"from": time, "to": time + 1})["tracks"][0]["values"]
            same = [e for t, e in errors[max(0, i - 50):i + 50] if t == time]
            assert min(same) <= flat[-1] <= max(same) * 17 // 16 + 1, (track["layer"], time, error, flat)


def check_page(page, places, rand, filters):
    """The same of what the page draws: zoomed in step by step, with each of FILTERS in turn."""
    duration = places.trace["duration"]
    for step in range(len(filters)):
        length = max(duration // 6 ** step, 100)
        _, middle = places.choose(rand)
        begin = max(0, min(duration - length, middle - length // 2))
        page.open(f"#view={begin}~{begin + length}&filter={urllib.parse.quote(filters[step])}")
        begin, end = page.span()
        _, _, width, height = page.canvas()
        px = (end - begin) / width
        drawn = collections.defaultdict(list)
        for one in page.shown():
            drawn[one["track"]].append((one, Slice(one["begin"], one["end"], one["name"], one["flags"], one["n"],
                                                   one["covered"], None)))
        rows = [row["track"] for row in page.rows() if 0 <= row["y"] and row["y"] + row["height"] <= height]
        rows = [number for number in rows if number in places.known]
        assert rows, (filters[step], page.rows())
        for _ in range(PLACES // len(filters)):
            try:
                track, time = places.choose(rand, rows, int(begin) + 1, int(end) - 1)
            except LookupError:
                break
            where = f"drawn: {track['layer']} {track['name']} at {time}, {px} ns a pixel"
            line, shared = places.known[track["id"]]
            here = [(shape, one) for shape, one in drawn[track["id"]] if one.begin <= time <= one.end]
            wanted = places.check_exact(line, time, [one for _, one in here], where)
            for one in wanted if not shared else ():
                assert here, (where, "not drawn", one)
                assert one.end - one.begin <= 4 * px or not all(other.flags & MANY for _, other in here), (where, one, here)
            for shape, one in here:
                assert not one.flags & MANY or shape["height"] >= 3, (where, one, shape)
                places.compared["drawn"] += 1


def main():
    strata, *arguments = sys.argv[1:]
    is_cut = arguments[0] == "--cut"
    if is_cut:
        del arguments[0]
    seed = choose_seed()
    process = subprocess.Popen([strata, "serve", *arguments], stdout=subprocess.PIPE, text=True)
    try:
        asker = Asker(process.stdout.readline().strip())
        places = Places(strata, arguments, asker.ask("trace"))
        rand = random.Random(seed)
        if not is_cut:  # which threads it concerns is not for naive.py
            check_slices(asker, places, rand)
        unknown = check_states(asker, places, rand, is_cut)
        slices = check_unknown(asker, places, rand, is_cut)
        losses = check_counts(asker, places, rand)
        check_errors(asker, places, rand)
        print(f"places: {dict(places.compared)}, {losses} losses, {unknown} are unknown, and {slices} slices")
        assert unknown > 20 or not is_cut, unknown
        is_missing = any(track["name"].startswith("CPU ") and (track["layer"], track.get("cpu")) not in places.naive.events
                         for track in places.trace["tracks"])
        assert slices > 10 or is_missing, slices
        wanted = ("exact", "many", "nothing")
        assert is_cut or all(places.compared[kind] > PLACES for kind in wanted), places.compared
    except BaseException:
        print(f"places.py: to repeat this, set STRATA_TEST_SEED={seed}", file=sys.stderr)
        raise
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


if __name__ == "__main__":
    main()
