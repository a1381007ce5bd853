#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares how long slices take, and which are joined by arrows, with the events that other commands print.

    serve_requests.py STRATA requests TRACE           of a recording with a guest's and QEMU's block requests
    serve_requests.py STRATA exits OPTION... TRACE    of a trace of Xen or KVM: exits by reason
    serve_requests.py STRATA pair TRACE               of the recording, by a rule of the user's"""

import json
import math
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

STRATA, WHAT, *ARGUMENTS = sys.argv[1:]
PERMILLES = {"p50": 500, "p90": 900, "p99": 990, "p999": 999}
PAIR = "served: vmm:virtio_blk_handle_*(req) -> vmm:virtio_blk_req_complete(req)"


class Server:
    def __init__(self, *arguments):
        self.process = subprocess.Popen([STRATA, "serve", *arguments], stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        self.trace = self.get("trace")
        self.begin = int(self.trace["begin_ns"])

    def get(self, name, **parameters):
        query = urllib.parse.urlencode(parameters, safe=",")
        with urllib.request.urlopen(f"{self.address}api/{name}?{query}", timeout=60) as answer:
            return json.load(answer)

    def refuses(self, status, **parameters):
        try:
            self.get("latency", **parameters)
        except urllib.error.HTTPError as error:
            assert error.code == status and json.load(error)["error"], (error.code, parameters)
            return
        raise AssertionError(f"{parameters} is accepted")

    def group(self, layer, name):
        return next(t["id"] for t in self.trace["tracks"]
                    if (t["kind"], t["layer"], t["name"]) == ("group", layer, name))

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0


def objects(*command):
    output = subprocess.run([STRATA, *command], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def rows(*command):
    """The rows of an analysis."""
    output = subprocess.run([STRATA, *command], stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(output)["rows"]


def bucket_of(duration):
    """From, and before: 32 buckets for each power of two."""
    width = 2 ** max(0, duration.bit_length() - 6)
    return duration // width * width, duration // width * width + width


def quantile(durations, permille):
    """By the nearest rank, as the middle of its bucket."""
    value = sorted(durations)[max(1, math.ceil(len(durations) * permille / 1000)) - 1]
    start, before = bucket_of(value)
    return min(start + (before - start) // 2, max(durations))


def triples(numbers, n):
    return [tuple(numbers[i:i + n]) for i in range(0, len(numbers), n)]


def check_row(answer, row, what):
    """A row of strata latency."""
    for key in ("n", "sum", "min", "p50", "p90", "p99", "max"):
        assert answer[key] == row[key], f"{what}: {key} is {answer[key]} instead of {row[key]}"


def check_spans(server, spans, **parameters):
    """SPANS: of strata latency --events."""
    answer = server.get("latency", limit=1000, columns=64, **parameters)
    spans = [(span["begin_ns"] - server.begin, span["end_ns"] - server.begin) for span in spans]
    durations = [end - begin for begin, end in spans]
    assert answer["n"] == len(spans) and answer["sum"] == sum(durations), (answer["n"], len(spans))
    for key, permille in PERMILLES.items():
        assert answer[key] == quantile(durations, permille), key
    found = {}
    for duration in durations:
        found[bucket_of(duration)] = found.get(bucket_of(duration), 0) + 1
    assert triples(answer["buckets"], 3) == sorted((*bucket, n) for bucket, n in found.items())
    # The cells of the heatmap: each column is a 64th of the time, a row some buckets.
    length = answer["to"] - answer["from"] + 1
    cells = triples(answer["cells"], 4)
    assert sum(cell[3] for cell in cells) == len(spans)
    for column, start, before, n in cells:
        inside = [1 for begin, end in spans
                  if (begin - answer["from"]) * 64 // length == column and start <= end - begin < before]
        assert len(inside) == n, (column, start, before, n)
    longest = [(slowest["begin"], slowest["end"]) for slowest in answer["slowest"]]
    assert longest == sorted(spans, key=lambda span: (span[0] - span[1], span[0])), "the longest first"
    # Each is there.
    for slowest in answer["slowest"][:3]:
        slice_ = server.get("slice", track=slowest["track"], depth=slowest["depth"], time=slowest["begin"])
        assert (slice_["begin"], slice_["end"]) == (slowest["begin"], slowest["end"]), slice_
    # Some of the durations, and some of the time.
    low, high = sorted(durations)[len(durations) // 4], sorted(durations)[len(durations) * 3 // 4]
    part = server.get("latency", min=low, max=high, limit=0, **parameters)
    assert part["n"] == sum(low <= duration <= high for duration in durations) and not part["slowest"]
    middle = sorted(spans)[len(spans) // 2][0]
    part = server.get("latency", begin_from=middle, limit=1, **parameters)
    assert part["n"] == sum(begin >= middle for begin, _ in spans)
    part = server.get("latency", begin_to=middle - 1, limit=1, **parameters)
    assert part["n"] == sum(begin < middle for begin, _ in spans)


def check_durations(server, trace):
    stages = [("vmm", "virtio_blk", "virtio-blk"), ("vmm", "thread_pool", "thread-pool"), ("guest", "block", "block"),
              ("host", "block", "block")]
    for layer, group, rule in stages:
        tracks = server.group(layer, group)
        command = ["latency", "--layer", layer]
        check_row(server.get("latency", tracks=tracks), rows(*command, "-f", "json", rule, trace)[0], group)
        check_spans(server, objects(*command, "-f", "json", "--events", rule, trace), tracks=tracks)
        # A piece of the time.
        begin, end = server.trace["duration"] * 95 // 100, server.trace["duration"] * 97 // 100
        span = [f"--{key}={(server.begin + time) // 10**9}.{(server.begin + time) % 10**9:09}"
                for key, time in (("from", begin), ("until", end))]
        answer = server.get("latency", tracks=tracks, **{"from": begin, "to": end})
        found = rows(*command, *span, "-f", "json", rule, trace)
        if found:
            check_row(answer, found[0], f"{group} from {begin} to {end}")
        else:
            assert answer["n"] == 0 and answer["slowest"] == [] and answer["max"] == 0, answer
    # At the host's device, by the kinds of strata io, which ends a flush with the first of its two completions.
    for row in rows("io", "-f", "json", "--layer", "host", trace):
        if row["key"]["stage"] == "device" and row["key"]["kind"] != "flush":
            begin = {"write": "^block W", "discard": "^block D", "read": "^block R"}[row["key"]["kind"]]
            answer = server.get("latency", tracks=server.group("host", "block"), text=begin)
            check_row(answer, row, f"strata io's {row['key']['kind']}")
    # By a name, on all tracks of a layer.
    guest = next(t["id"] for t in server.trace["tracks"] if t["layer"] == "guest" and t["parent"] is None)
    irq = rows("latency", "--layer", "guest", "-f", "json", "irq", trace)[0]
    answer = server.get("latency", tracks=guest, text="IRQ ")
    check_row(answer, irq, "irq")
    assert sum(name["n"] for name in answer["names"]) == answer["n"] and answer["unnamed"] == 0
    ids = ",".join(str(name["name"]) for name in answer["names"])
    assert server.get("latency", tracks=guest, names=ids) == answer
    assert server.get("latency", tracks=guest, text="no such name")["n"] == 0
    for wrong in ({"columns": 0}, {"columns": 513}, {"limit": 1001}, {"min": -1}, {"max": "x"}, {"tracks": "99999"},
                  {"names": "1,,2"}, {"begin_from": 2**60}, {"from": 5, "to": 4}):
        server.refuses(400, **wrong)


def requests_of(trace, layer):
    """Block requests of a layer as `strata report` has their events: (sector, sectors, is a write), begin, end, and how
    far these may be off."""
    names = {"guest": ("block_rq_issue", "block_rq_complete"),
             "vmm": ("virtio_blk_handle_read,virtio_blk_handle_write", "virtio_blk_rw_complete")}[layer]
    found, begun = [], {}
    for event in objects("report", "-f", "json", "--layer", layer, "-e", ",".join(names), trace):
        fields = event["fields"]
        time, error = event["time_ns"], event["error_ns"]
        key = (fields["dev"], fields["sector"]) if layer == "guest" else (fields["vdev"], fields["req"])
        if event["event"] == names[1]:
            if key in begun:
                request = begun.pop(key)
                request["end"] = time + error
        else:
            n = fields["nr_sector"] if layer == "guest" else fields["nsectors"]
            write = "W" in fields["rwbs"] if layer == "guest" else event["event"].endswith("write")
            begun[key] = {"words": (fields["sector"], n, write), "time": time, "begin": time - error, "end": math.inf}
            if n:
                found.append(begun[key])
    return found


def check_arrows(server, trace):
    """An arrow joins a guest's request with QEMU's of the same sectors, where each is the only one that the other
    overlaps."""
    guest, vmm = requests_of(trace, "guest"), requests_of(trace, "vmm")

    def partners(one, others):
        return [other for other in others
                if other["words"] == one["words"] and other["begin"] <= one["end"] and one["begin"] <= other["end"]]
    expected = set()
    for request in guest:
        found = partners(request, vmm)
        if len(found) == 1 and len(partners(found[0], guest)) == 1:
            expected.add(tuple(sorted((request["time"] - server.begin, found[0]["time"] - server.begin))))
    answer = server.get("arrows", max=10000)
    layers = {track["id"]: track["layer"] for track in server.trace["tracks"]}
    assert all({layers[arrow[1]], layers[arrow[4]]} == {"guest", "vmm"} for arrow in answer["arrows"])
    got = {(arrow[0], arrow[3]) for arrow in answer["arrows"]}
    assert got == expected, (len(got), len(expected), sorted(got ^ expected)[:5])
    assert len(got) == answer["total"] > 100, answer["total"]
    # Both ends are begins of slices.
    for begin, track, depth, end, to_track, to_depth in answer["arrows"][::10]:
        for place in ((track, depth, begin), (to_track, to_depth, end)):
            assert server.get("slice", track=place[0], depth=place[1], time=place[2])["begin"] == place[2], place


def check_exits(server):
    """Each reason is the name of its exits: of Xen on the vCPU's track, of KVM below the thread's."""
    expected = rows("exits", "-f", "json", *ARGUMENTS)
    is_xen = bool(server.get("latency", text="hypervisor: ")["names"])
    prefix = "hypervisor: " if is_xen else "exit: "
    answer = server.get("latency", text=prefix)
    names = {server.trace["names"][name["name"]]: name for name in answer["names"]}
    assert len(expected) > (10 if is_xen else 4)
    for row in expected:
        name = names.pop(prefix + row["key"]["reason"])
        for key in ("n", "sum", "p50", "p90", "p99", "max"):
            assert name[key] == row[key], (key, name, row)
    assert not names, names
    slowest = server.get("latency", text=prefix, limit=1)["slowest"][0]
    track = server.trace["tracks"][slowest["track"]]
    assert track["vcpu" if is_xen else "pid"] >= 0, track
    # Both ends are shown.
    found = server.get("slice", track=slowest["track"], depth=slowest["depth"], time=slowest["begin"])
    assert re.search("(vm|kvm_)exit$", found["event"]["name"]), found
    assert re.search("(vm|kvm_)entry$", found["end_event"]["name"]), found


def main():
    arguments = ["--pair", PAIR] if WHAT == "pair" else []
    server = Server(*arguments, *ARGUMENTS)
    try:
        if WHAT == "requests":
            check_durations(server, ARGUMENTS[0])
            check_arrows(server, ARGUMENTS[0])
        elif WHAT == "pair":
            command = ["latency", "--pair", PAIR, "-f", "json", ARGUMENTS[0]]
            check_row(server.get("latency", tracks=server.group("vmm", "served")), rows(*command)[0], PAIR)
        else:
            check_exits(server)
    finally:
        server.end()


main()
