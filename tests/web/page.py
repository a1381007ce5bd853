#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""page.py STRATA TRACE HOSTILE XEN: the page of `strata serve` in a real browser. What is drawn is compared with what the
server answers, by content."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
import xml.dom.minidom

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import ENTER, Browser  # noqa: E402
from latency import check_latency  # noqa: E402
from places import Places, check_page, choose_seed  # noqa: E402

MANY = 64
COVERED_ALL = 65535
HOSTILE_MARK = "injected"


class Server:
    def __init__(self, strata, *arguments):
        self.process = subprocess.Popen([strata, "serve", *arguments], stdout=subprocess.PIPE, text=True)
        self.address = ""
        for line in self.process.stdout:
            found = re.search(r"http://\S+", line)
            if found:
                self.address = found.group().rstrip("/") + "/"
                break
        assert self.address, "strata serve prints no address"

    def ask(self, path, **parameters):
        query = urllib.parse.urlencode(parameters, safe=",")
        with urllib.request.urlopen(f"{self.address}api/{path}?{query}", timeout=60) as answer:
            return json.load(answer)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def slices_of(numbers):
    keys = ("begin", "end", "name", "flags", "n", "covered", "state")
    return [dict(zip(keys, numbers[i:i + 7])) for i in range(0, len(numbers), 7)]


class Page:
    """The page in a browser, with the server that it shows."""

    def __init__(self, browser, server):
        self.browser, self.server = browser, server
        self.trace = server.ask("trace")

    def open(self, state=""):
        self.browser.open("about:blank")
        self.browser.open(self.server.address + state)
        self.settle()

    def settle(self):
        self.browser.wait("window.strata && strata.idle()", "everything has arrived")

    def show(self, begin, end):
        self.open(f"#view={begin}~{end}")

    def shown(self):
        return self.browser.run("return strata.shown()")

    def rows(self):
        return self.browser.run("return strata.rows()")

    def span(self):
        found = self.browser.run("return strata.span()")
        return found["from"], found["to"]

    def canvas(self):
        box = self.browser.run("const b = document.getElementById('canvas').getBoundingClientRect();"
                               "return [b.left, b.top, b.width, b.height]")
        return box

    def at(self, x, y):
        left, top, _, _ = self.canvas()
        return left + x, top + y

    def click(self, x, y):
        self.browser.pointer([("move", *self.at(x, y)), ("down",), ("up",)])
        self.settle()

    def keys(self, keys):
        self.browser.type(keys)
        self.settle()

    def expect_silence(self, gone=False):
        """Nothing is in the console. GONE: but what the browser itself writes there when the server answers that an index
        of a recording under way is gone, which is no error: the page asks again."""
        said = [entry["message"] for entry in self.browser.console()]
        if gone:
            said = [text for text in said if not re.search(r"[?&]generation=\d+ - .* status of 410 \(Gone\)$", text)]
        assert not said, f"the console says: {said}"
        assert self.browser.run("return document.getElementById('error').hidden"), self.browser.text("#error")

    def track(self, **wanted):
        for track in self.trace["tracks"]:
            if all(track.get(key) == value for key, value in wanted.items()):
                return track
        raise AssertionError(f"no track has {wanted}")


def check_load(page):
    page.open()
    assert page.browser.run("return document.title").startswith(page.trace["name"])
    names = {track["id"]: track["name"] for track in page.trace["tracks"]}
    rows = page.rows()
    assert rows and all(names[row["track"]] == row["name"] for row in rows)
    labels = page.browser.run("return [...document.querySelectorAll('#tree .row .name')].map(e => e.textContent)")
    assert labels == [row["name"] for row in rows], (labels, rows)
    begin, end = page.span()
    assert begin <= 0 and end >= page.trace["duration"], (begin, end)
    assert page.shown()
    page.expect_silence()


def check_drawn(page, begin, end):
    """What is drawn between two times is what the server says: no slice is missing, none is made up."""
    page.show(begin, end)
    shown = page.shown()
    begin, end = page.span()
    _, _, width, _ = page.canvas()
    scale = width / (end - begin)
    kinds = {track["id"]: track for track in page.trace["tracks"]}
    tracks = [row["track"] for row in page.rows() if kinds[row["track"]]["kind"] in ("slices", "states", "losses")]
    exact = page.server.ask("slices", **{"from": max(0, int(begin)), "to": int(end) + 1}, pixels=8192,
                            tracks=",".join(map(str, tracks)))
    compared = 0
    for answer in exact["tracks"]:
        for depth, numbers in enumerate(answer["depths"]):
            there = [one for one in shown if (one["track"], one["depth"]) == (answer["id"], depth)]
            for one in there:
                left, right = (one["begin"] - begin) * scale, (one["end"] - begin) * scale
                assert abs(max(left, one["x"]) - one["x"]) < 0.5, one
                assert one["x"] + one["width"] <= right + 1, one
            for one in slices_of(numbers):
                if one["begin"] >= end or one["end"] <= begin:
                    continue
                over = [other for other in there if other["begin"] <= one["end"] and one["begin"] <= other["end"]]
                assert over, f"not drawn: {one} of track {answer['id']}"
                if not one["flags"] & MANY and (one["end"] - one["begin"]) * scale > 4:
                    same = [other for other in over if (other["begin"], other["end"]) == (one["begin"], one["end"])]
                    assert len(same) == 1 and not same[0]["flags"] & MANY, (one, over)
                    assert same[0]["name"] == page.trace["names"][one["name"]], (one, same)
                compared += 1
            for one in there:
                if not one["flags"] & MANY and one["width"] > 2:
                    assert any((other["begin"], other["end"]) == (one["begin"], one["end"])
                               for other in slices_of(numbers)), f"made up: {one}"
    assert compared > 10, compared
    return shown


XEN_OPTIONS = ("--cpu-hz", "2.4G")


def check_places(page, strata, arguments, filters):
    seed = choose_seed()
    places = Places(strata, arguments, page.trace)
    try:
        check_page(page, places, random.Random(seed), filters)
        assert places.compared["drawn"] > 100, places.compared
    except BaseException:
        print(f"page.py: to repeat this, set STRATA_TEST_SEED={seed}", file=sys.stderr)
        raise
    page.expect_silence()


def check_pixels(page, shown):
    """The pixels of slices have their colours."""
    places = [[one["x"] + one["width"] / 2, one["y"] + one["height"] - 2, one["colour"]] for one in shown
              if one["width"] > 3 and one["height"] > 8 and one["x"] > 0 and one["colour"].startswith("#")]
    assert places
    wrong = page.browser.run("""
        const canvas = document.getElementById("canvas"), context = canvas.getContext("2d");
        return arguments[0].filter(([x, y, colour]) => {
            const p = context.getImageData(x * devicePixelRatio, y * devicePixelRatio, 1, 1).data;
            return "#" + [...p.slice(0, 3)].map(v => v.toString(16).padStart(2, "0")).join("") !== colour;
        });""", places)
    assert len(wrong) * 10 <= len(places), (len(places), wrong)  # text and arrows lie over some
    page.browser.console()  # that reading pixels could be faster


def check_keys(page):
    page.open()
    whole = page.span()
    page.browser.run("document.getElementById('canvas').focus()")
    page.keys("w")
    nearer = page.span()
    assert whole[0] < nearer[0] < nearer[1] < whole[1], (whole, nearer)
    page.keys("d")
    assert page.span()[0] > nearer[0] and page.span()[1] > nearer[1]
    page.keys("a")
    assert all(abs(a - b) < 2 for a, b in zip(page.span(), nearer))
    page.keys("s")
    page.keys("0")
    assert page.span()[0] <= 0 and page.span()[1] >= page.trace["duration"]
    # The wheel zooms where the pointer is.
    _, _, width, _ = page.canvas()
    begin, end = page.span()
    time = begin + (end - begin) * 300 / width
    page.browser.wheel(*page.at(300, 100), -400)
    page.settle()
    begin, end = page.span()
    assert abs(begin + (end - begin) * 300 / width - time) < (end - begin) / width * 3
    # A drag moves.
    page.browser.pointer([("move", *page.at(400, 100)), ("down",), ("move", *page.at(350, 100)),
                          ("move", *page.at(300, 100)), ("up",)])
    page.settle()
    moved = page.span()[0] - begin
    assert abs(moved - (end - begin) * 100 / width) < (end - begin) / width * 3, moved
    # By keys alone: the link to the timeline keeps what is shown.
    seen = page.span()
    page.browser.run("document.activeElement.blur(); document.getElementById('skip').focus()")
    page.keys(ENTER)
    assert page.browser.run("return document.activeElement.id") == "canvas"
    assert page.span() == seen, (page.span(), seen)
    page.keys("?")
    assert page.browser.run("return document.getElementById('help').open")
    page.browser.click("#help-close")
    page.expect_silence()


def find_request(page):
    """A read of QEMU's that an arrow leads to."""
    track = page.track(layer="vmm", kind="slices", name="virtio_blk 1")["id"]
    arrows = page.server.ask("arrows", **{"from": 0, "to": page.trace["duration"]}, max=1000)["arrows"]
    arrows = sorted(arrow for arrow in arrows if arrow[4] == track)
    # Where there are most.
    arrow = max(arrows, key=lambda arrow: sum(abs(arrow[0] - other[0]) < 2_000_000 for other in arrows))
    return page.server.ask("slice", track=track, depth=arrow[5], time=arrow[3]), arrow


def wait_for_slice(page, track, depth, begin):
    page.browser.wait(f"location.hash.includes('slice={track}.{depth}.{begin}')", "the slice is selected")
    page.settle()


def check_click(page):
    request, arrow = find_request(page)
    length = request["end"] - request["begin"]
    page.show(request["begin"] - 10 * length, request["end"] + 10 * length)
    one = next(one for one in page.shown() if (one["track"], one["begin"]) == (request["track"], request["begin"]))
    page.click(one["x"] + one["width"] / 2, one["y"] + one["height"] / 2)
    text = page.browser.text("#details")
    event = request["event"]
    assert event and request["name"] in text and event["name"] in text, text
    assert "may be off by ±" in text, text
    assert any(value.startswith("0x") for _, value in event["shown"]), event
    for of in event, request["end_event"]:
        assert of["name"] in text, text
        for name, value in of["shown"]:
            assert name in text and value in text, (name, value, text)
    other = page.track(id=arrow[1])["name"]
    assert "connected with" in text and other in text, text
    stages = page.browser.run("""return [...document.querySelectorAll('#details tr')].slice(1).map(
        row => [...row.cells].map(cell => cell.textContent))""")
    assert len(stages) == 2 and any(stage[0].endswith(other) for stage in stages), stages
    assert [request["name"]] == [stage[1] for stage in stages if stage[0].endswith("virtio_blk 1")], stages
    # Keys follow the arrow back, and on again.
    page.keys("[")
    wait_for_slice(page, arrow[1], arrow[2], arrow[0])
    page.keys("]")
    wait_for_slice(page, request["track"], request["depth"], request["begin"])
    page.keys("]")  # there is no other
    assert page.browser.text("#details h3") == request["name"]
    # The arrow is drawn.
    svg = page.browser.run("return strata.svg()")
    assert len(re.findall("<path d=.M[^>]*C", svg)) >= 1
    # Fit, mark.
    page.keys("f")
    begin, end = page.span()
    assert begin < request["begin"] and end > request["end"] and end - begin < 2 * length + 100, (begin, end, request)
    page.keys("m")
    page.browser.wait("location.hash.includes('marks=')", "the mark is in the address")
    # To the next one of the track, and back.
    page.keys(".")
    lane = page.server.ask("slices", **{"from": request["end"] + 1, "to": page.trace["duration"]}, pixels=8192,
                           tracks=request["track"])["tracks"][0]["depths"][request["depth"]]
    page.browser.wait(f"location.hash.includes('slice={request['track']}.{request['depth']}.{lane[0]}')",
                      "the next slice is selected")
    page.keys(",")
    page.browser.wait(f"location.hash.includes('slice={request['track']}.{request['depth']}.{request['begin']}')",
                      "the slice is selected again")
    page.expect_silence()


def check_search(page):
    page.open()
    page.keys("/")
    page.keys("read")
    page.keys(ENTER)
    found = page.server.ask("search", text="read", limit=3, **{"from": 0})["found"]
    assert page.browser.text("#found").startswith("1 of"), page.browser.text("#found")
    assert page.browser.text("#details h3") == page.trace["names"][found[0]["name"]]
    begin, end = page.span()
    assert begin <= found[0]["begin"] <= end, (found, begin, end)
    page.keys(ENTER)
    assert page.browser.text("#found").startswith("2 of")
    begin, end = page.span()
    assert begin <= found[1]["begin"] <= end, (found, begin, end)
    page.keys("\ue009a\ue009no such slice")
    page.keys(ENTER)
    assert "nothing found" in page.browser.text("#found"), page.browser.text("#found")
    page.expect_silence()


def check_statistics(page):
    request, _ = find_request(page)
    length = request["end"] - request["begin"]
    page.show(request["begin"] - 20 * length, request["end"] + 20 * length)
    page.browser.pointer([("move", *page.at(100, 20)), ("down",), ("move", *page.at(300, 20)), ("move", *page.at(700, 20)),
                          ("up",)])
    page.settle()
    table = page.browser.run("return [...document.querySelectorAll('#statistics tbody tr')].map("
                             "row => [...row.cells].map(cell => cell.textContent))")
    begin, end = page.span()
    _, _, width, _ = page.canvas()
    span = [begin + (end - begin) * x / width for x in (100, 700)]
    rows = page.server.ask("statistics", **{"from": int(span[0]), "to": int(span[1]) + 1}, tracks=request["track"])["rows"]
    for row in rows:
        name = page.trace["names"][row["name"]]
        assert any(line[0].endswith("virtio_blk 1") and line[1] == name and line[2] == str(row["n"]) for line in table), \
            (row, table)
    assert rows
    page.expect_silence()


def check_events(page):
    request, _ = find_request(page)
    page.open(f"#cursor={request['begin']}")
    page.browser.click("#tab-events")
    page.settle()
    events = page.server.ask("events", **{"from": request["begin"]}, limit=100)["events"]
    table = page.browser.run("return [...document.querySelectorAll('#events tbody tr')].map("
                             "row => [...row.cells].map(cell => cell.textContent))")
    assert [line[5] for line in table] == [event.get("name") or "" for event in events], (table[:3], events[:3])
    page.browser.run("const e = document.querySelector('#events input'); e.value = 'virtio_blk_handle_*';"
                     "e.dispatchEvent(new Event('input'))")
    page.browser.wait("strata.idle() && document.querySelector('#events tbody tr') && [...document.querySelectorAll("
                      "'#events tbody tr')].every(r => r.cells[5].textContent.startsWith('virtio_blk_handle_'))",
                      "events are filtered")
    page.expect_silence()


def check_tree(page):
    browser = page.browser
    page.open()
    group = next(row for row in page.rows() if page.track(id=row["track"])["kind"] == "group")
    before = len(page.rows())
    browser.run("document.getElementById('tree').focus()")
    page.keys("\ue015\ue012")  # down to the first one, left: close
    assert browser.run("return document.querySelector('#tree [aria-expanded=false]').id") == f"row-{group['track']}"
    assert len(page.rows()) != before or page.rows()[1]["name"] != group["name"]
    page.keys("\ue014")
    # Filter, pin.
    browser.run("const f = document.getElementById('filter'); f.value = 'virtio_blk 1';"
                "f.dispatchEvent(new Event('input'))")
    page.settle()
    names = [row["name"] for row in page.rows()]
    assert names[-1] == "virtio_blk 1" and len(names) == 3, names
    browser.run("document.getElementById('tree').focus()")
    page.keys("\ue010p")  # the last one
    assert [row["name"] for row in page.rows() if row["pinned"]] == ["virtio_blk 1"]
    page.expect_silence()


def check_link(page):
    """The address shows the same once more."""
    request, _ = find_request(page)
    length = request["end"] - request["begin"]
    page.show(request["begin"] - 5 * length, request["end"] + 5 * length)
    one = next(one for one in page.shown() if (one["track"], one["begin"]) == (request["track"], request["begin"]))
    page.click(one["x"] + one["width"] / 2, one["y"] + one["height"] / 2)
    page.keys("m")
    page.browser.run("const f = document.getElementById('filter'); f.value = 'blk'; f.dispatchEvent(new Event('input'))")
    page.settle()
    page.browser.wait("/slice=.*marks=.*filter=blk/.test(location.hash)", "the address has all")
    link = page.browser.run("return location.hash")
    seen = page.rows(), page.span(), page.browser.text("#details"), page.shown()
    page.open()
    page.open(link)
    again = page.rows(), page.span(), page.browser.text("#details"), page.shown()
    assert seen[0] == again[0] and seen[2] == again[2], (seen, again)
    assert all(abs(a - b) <= 1 for a, b in zip(seen[1], again[1])), (seen[1], again[1])
    key = [(one["track"], one["begin"], one["end"], one["name"]) for one in seen[3]]
    assert key == [(one["track"], one["begin"], one["end"], one["name"]) for one in again[3]]
    # Times of a recording that was under way may have moved by less than their error.
    track, begin = request["track"], request["begin"]
    times = [one["begin"] for one in slices_of(page.server.ask(
        "slices", tracks=track, pixels=4096, **{"from": begin - 10 * length, "to": begin + 10 * length})["tracks"][0]["depths"][0])]
    assert begin in times
    page.expect_silence()
    page.open(f"#slice={track}.0.{begin - 1}")
    assert f"slice={track}.0.{begin}" in page.browser.run("return location.hash"), page.browser.run("return location.hash")
    said, = page.browser.console() # the browser's own words on the first answer
    assert "404" in said["message"], said
    # An invalid address changes nothing.
    page.open("#view=a~b&slice=1.x&marks=~,9~1&closed=,&pinned=99999&order=1&theme=pink&scroll=-5")
    page.expect_silence()


def check_picture(page):
    page.open()
    svg = page.browser.run("return strata.svg()")
    document = xml.dom.minidom.parseString(svg)
    texts = {node.firstChild.data for node in document.getElementsByTagName("text") if node.firstChild}
    assert {row["name"] for row in page.rows() if len(row["name"]) < 16} <= texts, texts
    assert len(document.getElementsByTagName("rect")) > len(page.shown())


def check_large(browser, page):
    """At 200 % zoom on a small screen nothing is out of reach."""
    page.open()
    _, _, width, height = page.canvas()
    assert browser.run("return devicePixelRatio") == 2
    assert width > 300 and height > 150, (width, height)
    assert "lost" in browser.text("#summary")
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
    # The canvas has the screen's pixels.
    assert abs(browser.run("return document.getElementById('canvas').width") - 2 * width) <= 1
    page.expect_silence()


def check_hostile(page):
    page.open()
    browser = page.browser
    for track in page.trace["tracks"]:
        if track["kind"] == "slices":
            depths = page.server.ask("slices", tracks=track["id"])["tracks"][0]["depths"]
            page.open(f"#slice={track['id']}.0.{depths[0][0]}")
    request = page.server.ask("search", text="img src", limit=1)["found"][0]
    page.open(f"#slice={request['track']}.0.{request['begin']}&search=%3Cimg+src%3Dx%3E&filter=%3Cimg")
    assert "<img src=x" in browser.text("#details"), browser.text("#details")
    browser.click("#tab-events")
    page.settle()
    assert browser.run("return window.injected === undefined")
    assert browser.run("return document.querySelectorAll('img, body script, iframe, b').length") == 0
    assert "<img" in browser.text("#events"), browser.text("#events")[:500]
    assert any(HOSTILE_MARK in row["name"] for row in page.rows())
    page.open("#latency=all~~~&view=0~9999999")
    assert "<img src=x" in browser.text("#latency"), browser.text("#latency")
    browser.run("const e = document.querySelector('#latency input'); e.value = '<img'; e.dispatchEvent(new Event('input'))")
    page.settle()
    assert browser.run("return window.injected === undefined")
    assert browser.run("return document.querySelectorAll('img, body script, iframe, b').length") == 0
    svg = xml.dom.minidom.parseString(browser.run("return strata.svg()"))
    assert not svg.getElementsByTagName("img") and not svg.getElementsByTagName("script")
    page.expect_silence()


def check_ticks(page):
    """Times of a clock whose rate is unknown are never shown as seconds."""
    page.open("#latency=all~~~")
    assert "times are ticks" in page.browser.text("#summary"), page.browser.text("#summary")
    for part in "#summary", "#status", "#latency":
        found = re.search(r"\d\.?\d* (?:[mµn]?s)\b", page.browser.text(part))
        assert not found, (part, found)
    page.expect_silence()


def check_failure(page):
    """A server that has gone is reported."""
    page.open()
    page.server.end()
    page.browser.run("document.getElementById('canvas').focus()")
    page.browser.type("wwwwww")
    page.browser.wait("!document.getElementById('error').hidden", "the failure is shown")
    assert "does not answer" in page.browser.text("#error"), page.browser.text("#error")


def main():
    strata, trace, hostile, xen = sys.argv[1:]
    server = Server(strata, trace)
    try:
        with Browser() as browser:
            page = Page(browser, server)
            duration = page.trace["duration"]
            check_load(page)
            request, _ = find_request(page)
            check_drawn(page, 0, duration)
            middle = request["begin"]
            check_drawn(page, middle - 50_000_000, middle + 50_000_000)
            check_pixels(page, check_drawn(page, middle - 1_000_000, middle + 1_000_000))
            check_places(page, strata, [trace], ["", "guest", "VMM", "host cpu", "guest cpu", "guest usleep", "VMM virtio_blk",
                                                 "host", "guest", "host 55"])
            check_keys(page)
            check_click(page)
            check_search(page)
            check_statistics(page)
            check_events(page)
            check_latency(page, strata, trace)
            check_tree(page)
            check_link(page)
            check_picture(page)
        with Browser(640, 660, scale=2) as browser:
            check_large(browser, Page(browser, server))
        other = Server(strata, *XEN_OPTIONS, xen)
        try:
            with Browser() as browser:
                check_places(Page(browser, other), strata, [*XEN_OPTIONS, xen], [""] * 6)
        finally:
            other.end()
        other = Server(strata, xen)
        try:
            with Browser() as browser:
                check_ticks(Page(browser, other))
        finally:
            other.end()
        other = Server(strata, hostile)
        try:
            with Browser() as browser:
                check_hostile(Page(browser, other))
                check_failure(Page(browser, other))
        finally:
            other.end()
    finally:
        server.end()


if __name__ == "__main__":
    main()
