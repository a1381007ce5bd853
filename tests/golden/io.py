# SPDX-License-Identifier: MIT
"""The requests of a trace, found in its report without any of strata io's rules in code: python3 io.py EVENTS IO
compares the JSON of both."""

import json
import sys
from collections import defaultdict

STAGES = ["", "queue", "kick", "dispatch", "vmm", "backend", "done", "notify", "inject", "guest"]
ISSUE, KICK, HANDLE, SUBMIT, WORKED, RETURNED, NOTIFY, IRQ, DONE = range(1, 10)


def kernel_requests(events):
    """Of one kernel, by trying each completion for each issue."""
    found, used = [], set()
    for at, issue in enumerate(events):
        if issue["event"] != "block_rq_issue":
            continue
        want = issue["fields"]
        flush = want["rwbs"].startswith("FF")
        sector, left = want["sector"], want["nr_sector"]
        queued = [e for e in events[:at] if e["event"] == "block_bio_queue" and e["fields"]["dev"] == want["dev"]
                  and (e["fields"]["nr_sector"] == 0 if flush else e["fields"]["sector"] == sector)]
        for i in range(at + 1, len(events)):
            event = events[i]
            fields = event["fields"]
            if event["event"] != "block_rq_complete" or i in used or fields["dev"] != want["dev"]:
                continue
            if flush:
                if not fields["rwbs"].startswith("FF"):
                    continue
            elif fields["sector"] != sector or fields["nr_sector"] == 0:
                continue
            used.add(i)
            sector += fields["nr_sector"]
            left -= fields["nr_sector"]
            if left > 0:
                continue
            entry = None
            for before in reversed(events[at:i]):
                if before["event"].startswith("irq_handler_") and before["cpu"] == event["cpu"]:
                    entry = before["time_ns"] if before["event"] == "irq_handler_entry" else None
                    break
            kind = "flush" if flush else {"R": "read", "W": "write", "D": "discard"}[want["rwbs"].lstrip("F")[0]]
            found.append({"layer": issue["layer"], "device": f"{want['dev'] >> 20},{want['dev'] & 0xfffff}", "kind": kind,
                          "words": (want["sector"], want["nr_sector"], kind),
                          "error": max(issue.get("error_ns", 0), event.get("error_ns", 0)),
                          "bytes": want["nr_sector"] * 512,
                          "at": {0: queued[-1]["time_ns"] if queued else None, ISSUE: issue["time_ns"],
                                 IRQ: entry, DONE: event["time_ns"]}})
            break
    return found


def vmm_requests(events):
    found = []
    for at, handle in enumerate(events):
        if not handle["event"].startswith("virtio_blk_handle_"):
            continue
        want = handle["fields"]
        points = {HANDLE: handle["time_ns"]}
        for event in reversed(events[:at]):  # a kick is of the first request that is handled after it
            if event["fields"].get("vdev") == want["vdev"] and event["event"].startswith("virtio_blk_handle_"):
                break
            if event["event"] == "virtio_queue_notify" and event["fields"]["vdev"] == want["vdev"]:
                points[KICK] = event["time_ns"]
                break
        bytes_of = pool = None
        for event in events[at + 1:]:
            fields = event["fields"]
            if event["pid"] == handle["pid"] and event["event"].startswith("blk_co_p") and not pool:
                bytes_of = fields if 0 <= want["sector"] * 512 - fields["offset"] < fields["bytes"] else None
            elif event["pid"] == handle["pid"] and event["event"] == "thread_pool_submit" and bytes_of and not pool:
                pool, points[SUBMIT] = fields["req"], event["time_ns"]
            elif event["event"] == "thread_pool_complete" and pool and fields["req"] == pool and WORKED not in points:
                points[WORKED] = event["time_ns"]
            elif (event["event"] == "virtio_blk_req_complete" and
                  (fields["vdev"], fields["req"]) == (want["vdev"], want["req"])):
                points[RETURNED] = event["time_ns"]
                kind = handle["event"].rsplit("_", 1)[1]
                found.append({"layer": "vmm", "device": hex(want["vdev"]), "kind": kind, "bytes": want["nsectors"] * 512,
                              "words": (want["sector"], want["nsectors"], kind), "at": points,
                              "error": max(handle.get("error_ns", 0), event.get("error_ns", 0))})
                break
    return found


def durations(events):
    layers = defaultdict(list)
    for event in events:
        if "lost" not in event:
            layers[event["layer"]].append(event)
    guest, vmm = kernel_requests(layers["guest"]), vmm_requests(layers["vmm"])
    joined = set()
    rows, sizes = defaultdict(list), defaultdict(int)
    for request in guest:
        same = [i for i, other in enumerate(vmm) if other["words"] == request["words"] and
                other["at"][HANDLE] <= request["at"][DONE] + request["error"] + other["error"] and
                other["at"][RETURNED] >= request["at"][ISSUE] - request["error"] - other["error"]]
        assert len(same) <= 1, "this recording has no two of the same sector at a time"
        request["vmm"] = bool(same)
        for i in same:
            assert i not in joined
            joined.add(i)
            points = dict(vmm[i]["at"])
            if points.get(KICK, 1 << 62) < request["at"][ISSUE] - request["error"] - vmm[i]["error"]:
                del points[KICK]
            request["at"] |= points
    others = [dict(other, vmm=True) for i, other in enumerate(vmm) if i not in joined]
    for request in guest + others + kernel_requests(layers["host"]):
        points = sorted((point, at) for point, at in request["at"].items() if at is not None)
        key = (request["layer"], request["device"], request["kind"], request.get("vmm", False))
        rows[key + ("total",)].append(points[-1][1] - points[0][1])
        sizes[key] += request["bytes"]
        for (before, start), (point, at) in zip(points, points[1:]):
            first = point == IRQ or (point == DONE and before == ISSUE)
            name = "device" if first and not key[3] else STAGES[point]
            rows[key + (name,)].append(at - start)
    return rows, sizes


def main():
    events = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
    found = json.load(open(sys.argv[2], encoding="utf-8"))
    rows, sizes = durations(events)
    groups, totals = {}, None
    # The stages of a group follow its total.
    for row in found["rows"]:
        key = row["key"]
        if key["stage"] == "total":
            totals = []
            groups[len(groups)] = totals
        totals.append(row)
    expected = defaultdict(list)
    for key, values in rows.items():
        expected[key[:3] + (key[4],)].append((len(values), sum(values), max(values), min(values)))
    seen = defaultdict(list)
    for row in found["rows"]:
        key = row["key"]
        seen[key["layer"], key["device"], key["kind"], key["stage"]].append((row["n"], row["sum"], row["max"], row["min"]))
    for key in set(expected) | set(seen):
        assert sorted(expected[key]) == sorted(seen[key]), (key, expected[key], seen[key])
    for group in groups.values():
        total = group[0]
        assert total["sum"] == sum(row["sum"] for row in group[1:]), "the stages are not the total"
    assert sorted(group[0]["bytes"] for group in groups.values()) == sorted(sizes.values())
    for span in found["slowest"]:
        assert span["end_ns"] - span["begin_ns"] == sum(stage["end_ns"] - stage["begin_ns"] for stage in span["stages"]), span
    print(len(events), "events,", sum(group[0]["n"] for group in groups.values()), "requests")


main()
