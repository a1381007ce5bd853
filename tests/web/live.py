#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""live.py STRATA EMIT: the page of `strata serve` in a real browser while what it shows is being recorded. The recorded
programs wait in the middle until this script lets them go on."""

import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser  # noqa: E402
from page import Page, Server  # noqa: E402

TIMEOUT_S = 120
NAMES_PX = 220  # left of the timeline in a picture
COUNT = 3000  # events of a run before and after it waits
GATES = ["gate1", "gate2", "gate3"]


def open_gate(name):
    open(name, "w").close()


def wait_for_events(page, n, live):
    """Until the page shows N events, all of it."""
    condition = f"strata.trace().events === {n} && strata.trace().live === {str(live).lower()} && strata.idle()"
    page.browser.wait(condition, f"the page shows {n} events, live {live}")
    page.trace = page.server.ask("trace")
    assert page.trace["events"] == n, page.trace["events"]
    return page.trace["duration"]


# The time of the newest event as the page knows it. The server may know another one already: a better rate of the program's
# clock moves it by nanoseconds.
DURATION = "strata.trace().duration"
SHOWS_ALL = f"strata.span().from <= 0 && strata.span().to >= {DURATION}"


def is_following(page):
    return page.browser.run("return document.getElementById('follow').getAttribute('aria-pressed') === 'true'")


def check_end(page):
    """The newest events are drawn, where they happened: as a bar of the track of all events."""
    rows = [row for row in page.rows() if row["name"] == "all events"]
    counts = page.server.ask("counts", **{"from": 0, "to": page.trace["duration"] + 1}, pixels=4096,
                             tracks=",".join(str(row["track"]) for row in rows))["tracks"]
    last, top, height = max((max(i for i, count in enumerate(track["counts"]) if count), row["y"], row["height"])
                            for track, row in zip(counts, rows))
    begin, end = page.span()
    _, _, width, _ = page.canvas()
    x = (last * (page.trace["duration"] + 1) / 4096 - begin) / (end - begin) * width
    bars = page.browser.run("""
        const [x, top, height] = arguments, drawn = new DOMParser().parseFromString(strata.svg(), "image/svg+xml");
        return [...drawn.querySelectorAll("rect")].map(r => ["x", "y", "width", "height"].map(
            name => Number(r.getAttribute(name)))).filter(([left, y, w, h]) =>
                y > top && y + h < top + height && w < 100 && left <= x + 8 && left + w >= x - 8);
        """, NAMES_PX + x, top, height)
    assert bars, f"no bar at {x} px of {width}"


def check_following(page):
    page.open()
    duration = wait_for_events(page, COUNT, True)
    assert "recording" == page.browser.text("#live-status"), page.browser.text("#live-status")
    assert is_following(page)
    page.browser.wait(SHOWS_ALL, "all of the trace is shown")
    rows = [row["name"] for row in page.rows()]

    # What was not there before: later events, another program. All of the trace stays shown.
    open_gate(GATES[0])
    longer = wait_for_events(page, 3 * COUNT, True)
    assert longer > duration
    page.browser.wait(SHOWS_ALL, "all of the longer trace is shown")
    assert len([row["name"] for row in page.rows()]) > len(rows), rows
    assert f"{3 * COUNT:,} events" in page.browser.text("#summary"), page.browser.text("#summary")
    check_end(page)

    # Less time: its right edge moves on with the newest event. The link has it all.
    page.browser.run("document.getElementById('canvas').focus()")
    page.keys("www")
    assert is_following(page)
    # (Within a nanosecond: the page computes with fractions of them.)
    page.browser.wait(f"0 < strata.span().from && strata.span().from < {DURATION} && {DURATION} < strata.span().to + 1",
                      "less is shown, with the newest event")
    begin, end = page.span()
    length = end - begin
    open_gate(GATES[1])
    wait_for_events(page, 5 * COUNT, True)
    page.browser.wait(f"{DURATION} <= strata.span().to && strata.span().to <= {DURATION} + {length / 10}",
                      "the right edge has moved on")
    begin, end = page.span()
    assert abs(end - begin - length) < 2, (begin, end, length)
    check_end(page)
    page.browser.wait("/follow=1/.test(location.hash)", "the address says that the recording is followed")
    page.expect_silence(gone=True)


def check_standing(page, recorder):
    """Moved by hand, the page stays where it is, and G follows again."""
    page.keys("a")
    assert not is_following(page)
    page.keys("g")
    assert is_following(page)
    page.browser.wait(f"strata.span().to >= {DURATION}", "the newest event is shown")
    page.keys("aaa")
    assert not is_following(page)
    seen = page.span()
    open_gate(GATES[2])
    assert recorder.wait(TIMEOUT_S) == 0
    wait_for_events(page, 6 * COUNT, False)
    assert page.span() == seen, (page.span(), seen)
    assert page.browser.text("#live-status") == "recording ended"
    assert page.browser.run("return document.getElementById('follow').hidden")
    page.keys("0")
    page.browser.wait(SHOWS_ALL, "all of the whole trace is shown")
    check_end(page)
    page.expect_silence(gone=True)


def check_ended(page):
    """One that had ended when the page was opened is a trace as any other."""
    page.open()
    assert page.browser.run("return document.getElementById('live').hidden")
    page.expect_silence()


def main():
    strata, emit = sys.argv[1:]
    script = "; ".join(f"'{emit}' -q -w {gate} {COUNT} 2" for gate in GATES)
    recorder = subprocess.Popen([strata, "record", "-o", "trace", "--", "sh", "-c", script], stdout=subprocess.DEVNULL)
    server = None
    try:
        end = time.monotonic() + TIMEOUT_S
        while not os.path.isdir("trace"):
            assert recorder.poll() is None and time.monotonic() < end, "nothing is recorded"
            time.sleep(0.05)
        server = Server(strata, "trace")
        with Browser() as browser:
            page = Page(browser, server)
            check_following(page)
            check_standing(page, recorder)
            check_ended(page)
    finally:
        for gate in GATES:
            open_gate(gate)
        if server:
            server.end()
        if recorder.poll() is None:
            recorder.kill()
            recorder.wait()


main()
