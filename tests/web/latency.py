# SPDX-License-Identifier: MIT
"""The panel of latencies: its numbers are those of the events that `strata latency` prints, and its list leads to their
places."""

import json
import math
import re
import subprocess



def durations_of(strata, trace, rule, layer):
    """(begin, end) of the spans of a built-in rule."""
    output = subprocess.run([strata, "latency", "--layer", layer, "-f", "json", "--events", rule, trace],
                            stdout=subprocess.PIPE, text=True, check=True).stdout
    return [(span["begin_ns"], span["end_ns"]) for span in map(json.loads, output.splitlines())]


def within_bucket(value, durations, permille):
    """Whether VALUE is in the bucket of the percentile: 32 for each power of two."""
    exact = sorted(durations)[max(1, math.ceil(len(durations) * permille / 1000)) - 1]
    width = 2 ** max(0, exact.bit_length() - 6)
    return value // width == exact // width


def numbers(page):
    """{"p50": ns}."""
    rows = page.browser.run("return [...document.querySelectorAll('#latency .numbers tr')].map("
                            "row => [row.cells[0].textContent, row.cells[1].title, row.cells[1].textContent])")
    return {name: int(title.split()[0]) if title else int(text.replace(",", "")) for name, title, text in rows}


def choose(page, label):
    page.browser.run("""
        const select = document.querySelector("#latency select");
        select.value = [...select.options].find(option => option.text === arguments[0]).value;
        select.dispatchEvent(new Event("change"));""", label)
    page.settle()


def choose_time(page, value):
    page.browser.run("""
        const select = document.querySelectorAll("#latency select")[1];
        select.value = arguments[0];
        select.dispatchEvent(new Event("change"));""", value)
    page.settle()


def slowest(page):
    """Rows of the list: duration in ns, begin, name, track."""
    return page.browser.run("return [...document.querySelectorAll('#latency .slowest tbody tr')].map(row => ["
                            "parseInt(row.querySelector('button').title), ...[...row.cells].slice(1).map(c => c.textContent)])")


def check_numbers(page, spans):
    found = numbers(page)
    durations = [end - begin for begin, end in spans]
    assert (found["count"], found["min"], found["max"], found["sum"]) == (
        len(durations), min(durations), max(durations), sum(durations)), found
    for name, permille in (("p50", 500), ("p90", 900), ("p99", 990), ("p99.9", 999)):
        assert within_bucket(found[name], durations, permille), (name, found[name])
    expected = sorted(spans, key=lambda span: (span[0] - span[1], span[0]))[:100]
    listed = [(duration, begin) for duration, begin, *_ in slowest(page)]
    assert listed == [(end - begin, f"{begin // 10**9}.{begin % 10**9:09}") for begin, end in expected], listed[:3]


def check_jump(page, spans):
    """A click on the slowest shows it and selects it; the list stays."""
    begin, end = min(spans, key=lambda span: (span[0] - span[1], span[0]))
    zero = int(page.trace["begin_ns"])
    before = slowest(page)
    page.browser.click("#latency .slowest button.link")
    page.browser.wait(f"/slice=\\d+\\.\\d+\\.{begin - zero}(&|$)/.test(location.hash)", "the slowest is selected")
    page.settle()
    shown_from, shown_to = page.span()
    assert shown_from < begin - zero < end - zero < shown_to, (shown_from, begin - zero, shown_to)
    assert any((one["begin"], one["end"]) == (begin - zero, end - zero) and one["width"] > 8 for one in page.shown())
    assert slowest(page) == before, "the list stays"
    assert page.browser.run("return !document.getElementById('latency').hidden")


def canvas_of(page, number):
    page.browser.run("document.querySelectorAll('#latency canvas')[arguments[0]].scrollIntoView()", number)
    return page.browser.run("const b = document.querySelectorAll('#latency canvas')[arguments[0]].getBoundingClientRect();"
                            "return [b.left, b.top, b.width, b.height]", number)


def check_brush(page, spans):
    """What is selected in a chart is what is listed."""
    everything = slowest(page)
    left, top, width, height = canvas_of(page, 0)
    middle = left + (width - 30) / 2
    page.browser.pointer([("move", middle, top + height / 2), ("down",), ("move", left + width - 60, top + height / 2),
                          ("move", left + width - 1, top + height / 2), ("up",)])
    page.settle()
    longer = slowest(page)
    assert 0 < len(longer) < len(everything) and longer == everything[:len(longer)], (len(longer), len(everything))
    text = page.browser.text("#latency .slowest p")
    assert text.startswith(f"{len(longer)} selected"), text
    page.browser.click("#latency .slowest p button")
    page.settle()
    assert slowest(page) == everything
    # Over time: the left half, of all durations.
    left, top, width, height = canvas_of(page, 1)
    page.browser.pointer([("move", left + 47, top + 1), ("down",), ("move", left + 90, top + height - 30),
                          ("move", left + 46 + (width - 48) / 2, top + height - 1), ("up",)])
    page.settle()
    early = slowest(page)
    zero, duration = int(page.trace["begin_ns"]), page.trace["duration"]
    half = [span for span in spans if span[0] - zero <= duration * 0.51]
    assert 0 < len(early) <= len(half), (len(early), len(half))
    assert all(row in everything or len(everything) == 100 for row in early)
    assert all((float(row[1]) * 1e9 - zero) <= duration * 0.51 for row in early), early
    # By keys: the first bar, and the one after it.
    page.browser.run("document.querySelector('#latency canvas').focus()")
    page.browser.type("\ue00c")
    page.browser.type("\ue014")
    readout = page.browser.text("#latency .readout")
    assert re.search(r"µs to .*: \d+", readout), readout
    page.browser.command("actions", {"actions": [{"type": "key", "id": "keys", "actions": [
        {"type": kind, "value": key} for kind, key in (
            ("keyDown", "\ue008"), ("keyDown", "\ue014"), ("keyUp", "\ue014"), ("keyUp", "\ue008"))]}]})
    page.settle()
    assert 0 < len(slowest(page)) < len(spans), len(slowest(page))
    page.browser.type("\ue00c")
    page.settle()


def check_empty(page):
    choose_time(page, "selected")
    assert "No time is selected" in page.browser.text("#latency .bar"), page.browser.text("#latency .bar")
    # Where there is nothing.
    page.open(f"#span={page.trace['duration'] // 2}~{page.trace['duration'] // 2 + 1000}&latency=selected~~~")
    assert "No such slice" in page.browser.text("#latency .bar"), page.browser.text("#latency .bar")
    assert not page.browser.run("return document.querySelector('#latency canvas').checkVisibility()")


def check_latency(page, strata, path):
    page.open()
    page.browser.click("#tab-latency")
    page.settle()
    for label, rule, layer in (("guest / block", "block", "guest"), ("VMM / virtio_blk", "virtio-blk", "vmm")):
        choose(page, label)
        spans = durations_of(strata, path, rule, layer)
        check_numbers(page, spans)
    check_brush(page, spans)
    check_jump(page, spans)
    seen = numbers(page), slowest(page), page.span()
    link = page.browser.run("return location.hash")
    assert "latency=held." in link, link
    page.open(link)
    for before, after in zip(seen, (numbers(page), slowest(page), page.span())):
        assert after == before, (link, after, before)
    # In a piece of the time: those that lie within it.
    begin, end = sorted(spans)[10][0], sorted(spans)[60][1]
    zero = int(page.trace["begin_ns"])
    page.open(f"#span={begin - zero}~{end - zero}&latency=selected~{page.track(layer='vmm', name='virtio_blk')['id']}~~")
    check_numbers(page, [span for span in spans if begin <= span[0] and span[1] <= end])
    # Of the slice that is selected, by its name.
    found = page.server.ask("search", text="write", limit=1)["found"][0]
    page.open(f"#slice={found['track']}.{found['depth']}.{found['begin']}")
    page.browser.run("document.getElementById('canvas').focus()")
    page.keys("l")
    rows = page.server.ask("latency", tracks=found["track"], names=found["name"])
    assert numbers(page)["count"] == rows["n"] and numbers(page)["p90"] == rows["p90"], (numbers(page), rows["n"])
    check_empty(page)
    page.expect_silence()
