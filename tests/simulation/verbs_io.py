"""What `strata io` prints of made requests, compared with the truth."""

from bisect import bisect_left

from disk import POINTS, VDEV
from recording import BASE
from verbs_row import check_row, require
from verbs_tight import check_requests

VMM_POINTS = POINTS[POINTS.index("kick"):POINTS.index("notify") + 1]
NOTIFY_WITHIN = 10 * 10**6  # a notification is of requests that were completed so long before it
SLACK = 3  # ticks of a clock are rounded to nanoseconds


def key_of(key):
    """A kind of requests has other stages where QEMU's part of some is not in the trace: these count together here."""
    return key["layer"], key["device"], key["kind"], key["stage"].removesuffix(" (guest only)")


class Requests:
    """Those of a layer, by each time that may be their first in the trace."""

    def __init__(self, requests, points):
        self.by_time = sorted((request.at[point], i) for i, request in enumerate(requests) for point in points if point in request.at)
        self.requests = requests

    def at(self, ns):
        i = bisect_left(self.by_time, (ns - BASE - SLACK, -1))
        if i < len(self.by_time) and self.by_time[i][0] <= ns - BASE + SLACK:
            return self.requests[self.by_time[i][1]]
        return None


def is_near(ns, request, point):
    return point in request.at and abs(ns - BASE - request.at[point]) <= SLACK


def is_whole(case, layer, request, begin, end):
    """Whether nothing is missing of what LAYER recorded of a request in BEGIN..END."""
    if layer == "vmm":
        return case.vmm and case.vmm.records[0][0] <= begin and end <= case.vmm.records[-1][0] and not any(
            (g.until is None or g.until >= begin) and g.since <= end for g in case.vmm.gaps)
    truth = case.truths[layer]
    return truth.first <= begin and end <= truth.last and not truth.is_near_gap(begin, end)


def own_points(layer, request):
    return [p for p in POINTS if p in request.at and (p in VMM_POINTS) == (layer == "vmm")]


def may_lack(case, layer, request, point):
    """Whether the event of POINT, which is optional, is missing: it is then not known that it was there."""
    if point == "begin":
        return not is_whole(case, layer, request, request.at["begin"], request.at["queue"])
    if point == "kick":
        return not is_whole(case, "vmm", request, request.at["kick"], request.at["dispatch"])
    if point == "notify":
        return (not is_whole(case, "vmm", request, request.at["done"], request.at["notify"]) or
                request.at["notify"] - request.at["done"] > NOTIFY_WITHIN)
    return False


def check_stages(case, layer, request, span):
    """The stages of a request are those that it really had. Returns them as [name, begin, end]."""
    stages = span["stages"]
    at = span["begin_ns"]
    has_vmm = layer == "vmm" or any(s["name"] in VMM_POINTS for s in stages)
    points = [p for p in POINTS if p in request.at and (layer == "guest" or (p in VMM_POINTS) == (layer == "vmm")) and
              (has_vmm or p not in VMM_POINTS)]
    seen = {p for p in points for s in stages if is_near(s["begin_ns"], request, p) or is_near(s["end_ns"], request, p)}
    points = [p for p in points if p in seen or not may_lack(case, layer, request, p)]
    expected = [(a, b) for a, b in zip(points, points[1:])]
    what = f"io: the stages of a request of {layer} at {at - BASE}"
    require(len(stages) == len(expected), f"{what}: {[s['name'] for s in stages]}, true {points}", request.at)
    for stage, (begin, end) in zip(stages, expected):
        name = "device" if end == "inject" and not has_vmm else end
        require(stage["name"].replace(" (guest only)", "") == name and is_near(stage["begin_ns"], request, begin) and
                is_near(stage["end_ns"], request, end), what, stage, begin, end, request.at)
    if layer == "guest" and not has_vmm and case.vmm and "notify" in request.at:
        whole = is_whole(case, "vmm", request, request.taken_since, request.at["notify"])
        require(not whole, f"{what}: QEMU's part is not joined", request.at)
    return stages


def find(layers, case, line):
    """The true request of a line."""
    layer = line["key"]["layer"]
    request = layers[layer].at(line["begin_ns"])
    device = hex(VDEV) if layer == "vmm" else f"{request.disk.dev >> 20},0" if request else None
    require(request and (line["key"]["kind"], line["key"]["device"]) == (request.kind, device), "io --events: there is none", line)
    points = own_points(layer, request)
    last = [p for p in points[-2:] if is_near(line["end_ns"], request, p)]
    require(last and (last == points[-1:] or may_lack(case, layer, request, points[-1])), "io --events: end", line, request.at)
    first = next(p for p in points if is_near(line["begin_ns"], request, p))
    # One whose begin may be missing counts as such. Of QEMU's first requests in the trace, the notification may be.
    require(first == points[0] or (layer == "vmm" and may_lack(case, layer, request, points[0])), "io --events: begin", line, request.at)
    if layer != "vmm":
        require((line["cpu"], line["pid"]) == (request.cpu, request.pid), "io --events", line, request.cpu, request.pid)
    return layer, request


def check_rows(rows, spans):
    """SPANS: [begin, end] by the row's key."""
    by_key = {}
    for row in rows:
        by_key.setdefault(key_of(row["key"]), []).append(row)
    require(set(by_key) == set(spans), "io: rows", set(by_key) ^ set(spans))
    for key, same in by_key.items():
        times = spans[key]
        if len(same) == 1:
            check_row(f"io {key}", same[0], times, SLACK)
        require(sum(row["n"] for row in same) == len(times) and
                abs(sum(row["sum"] for row in same) - sum(end - begin for begin, end in times)) <= SLACK * len(times), f"io {key}", same)


def check_counts(case, truth):
    """Each begin of a request of one kernel is in one request, complete or not."""
    result = case.json("io", *case.of(truth))
    n_issues, n_ends = truth.count("block_rq_issue"), truth.count("block_rq_complete")
    if not result:
        require(n_issues == 0, f"io: says nothing of {n_issues} requests")
        return
    n = sum(row["n"] for row in result["rows"] if row["key"]["stage"] == "total")
    fates = result["unpaired"]
    begun = sum(v for k, v in fates.items() if k not in ("no_begin", "unkeyed"))
    require(n + begun <= n_issues <= n + begun + fates["no_begin"], f"io: {n} requests and {begun} not complete, of {n_issues} issues", fates)
    require(n + fates["no_begin"] <= n_ends, f"io: {n} requests and {fates['no_begin']} ends, of {n_ends}", fates)
    for row in result["rows"]:
        require(row["covered"] <= truth.last - truth.first + 2, "io: covered", row)


def check_io(case):
    disks = {name: truth.kernel.disk for name, truth in case.truths.items() if truth.kernel.disk}
    if not disks:
        return
    for name in disks:
        check_counts(case, case.truths[name])
    layers = {name: Requests([r for r in disk.requests if "queue" in r.at], ("begin", "queue")) for name, disk in disks.items()}
    if case.vmm:
        layers["vmm"] = Requests([r for r in case.vmm.vmm.guest.disk.requests if "dispatch" in r.at], ("kick", "dispatch"))
    result = case.json("io", "--slowest=5000")
    if not result:
        return
    spans, seen, sizes = {}, set(), {}
    for line in case.lines("io", "--events"):
        layer, request = find(layers, case, line)
        require((layer, request) not in seen, "io --events: twice", line)
        seen.add((layer, request))
        key = key_of(line["key"])
        spans.setdefault(key, []).append((line["begin_ns"], line["end_ns"]))
        sizes[key] = sizes.get(key, 0) + request.sectors * 512
    for span in result["slowest"]:
        if span.get("open") or "end_ns" not in span:
            continue
        layer, request = find(layers, case, span)
        if layer == "guest" and any(s["name"] in VMM_POINTS for s in span["stages"]):
            require(("vmm", request) not in seen, "io: QEMU's part of a request counts twice", span)
        for stage in check_stages(case, layer, request, span):
            key = key_of(span["key"] | {"stage": stage["name"]})
            spans.setdefault(key, []).append((stage["begin_ns"], stage["end_ns"]))
    check_rows(result["rows"], spans)
    check_requests(case, lambda line: find(layers, case, line))
    for key, size in sizes.items():
        rows = [row for row in result["rows"] if key_of(row["key"]) == key]
        require(sum(row["bytes"] for row in rows) == size, f"io {key}: bytes", rows, size)
    for layer, requests in layers.items():
        for request in requests.requests:
            points = own_points(layer, request)
            if layer == "vmm" or points[-1] != "guest":
                continue
            begin, end = request.at[points[0]], request.at[points[-1]]
            if is_whole(case, layer, request, begin, end):
                require((layer, request) in seen, f"io: a request of {layer} at {begin}..{end} is not counted", request.at)
