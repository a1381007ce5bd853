"""summary_html.py PAGE JSON: the page is well-formed, has only elements and attributes of ours, loads nothing, and has
the numbers of the JSON, all of them."""
import html.parser, json, re, sys

ELEMENTS = {
    "html": {"lang"}, "head": set(), "meta": {"charset", "name", "content", "http-equiv"}, "title": set(), "style": set(),
    "body": set(), "main": set(), "header": set(), "nav": set(), "section": {"id"}, "h1": set(), "h2": set(), "h3": set(),
    "p": {"class"}, "a": {"href"}, "b": set(), "code": set(), "span": {"class"}, "div": {"class"}, "dl": {"class"},
    "dt": set(), "dd": set(), "ol": {"class"}, "li": {"class"}, "data": {"value"}, "figure": set(), "figcaption": set(),
    "table": {"id"}, "caption": set(), "thead": set(), "tbody": set(), "tr": {"class"}, "th": {"scope", "class"},
    "td": {"class", "style"}, "details": set(), "summary": set(),
    "svg": {"class", "viewbox", "preserveaspectratio", "aria-hidden", "width", "height"}, "defs": set(),
    "pattern": {"id", "width", "height", "patternunits", "patterntransform"},
    "rect": {"class", "x", "y", "width", "height"}, "path": {"class", "d"},
}
VALUES = {
    "class": r"[a-z -]+", "value": r"-?[0-9.]+(e[+-]?[0-9]+)?", "href": r"#[a-z0-9-]+", "style": r"--v:[0-9.e+-]+%",
    "id": r"[a-z0-9-]+", "d": r"[-MVHZ0-9. e+]+", "scope": "row|col", "x": "[0-9.e+-]+", "y": "[0-9.e+-]+",
    "width": "[0-9.e+-]+", "height": "[0-9.e+-]+",
}
EMPTY = {"meta", "rect", "path"}


class Node:
    def __init__(self, name, attributes):
        self.name, self.attributes, self.children = name, attributes, []

    def text(self):
        return "".join(c if isinstance(c, str) else c.text() for c in self.children)

    def all(self, name, **attributes):
        for child in self.children:
            if isinstance(child, Node):
                if child.name == name and attributes.items() <= child.attributes.items():
                    yield child
                yield from child.all(name, **attributes)

    def value(self):
        return float(next(self.all("data")).attributes["value"])


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.root = Node("", {})
        self.open = [self.root]

    def handle_starttag(self, name, attributes):
        assert name in ELEMENTS, f"an element {name} that is not ours"
        for attribute, value in attributes:
            assert attribute in ELEMENTS[name], f"an attribute {attribute} of {name} that is not ours: {value}"
            assert re.fullmatch(VALUES.get(attribute, "[^<>]*"), value), f"{name} {attribute}={value}"
        node = Node(name, dict(attributes))
        self.open[-1].children.append(node)
        if name not in EMPTY:
            self.open.append(node)

    def handle_startendtag(self, name, attributes):
        assert name in EMPTY, name
        self.handle_starttag(name, attributes)

    def handle_endtag(self, name):
        assert self.open[-1].name == name, f"</{name}> ends {self.open[-1].name}"
        self.open.pop()

    def handle_data(self, data):
        self.open[-1].children.append(data)

    def handle_comment(self, data):
        raise AssertionError("a comment")

    def handle_pi(self, data):
        raise AssertionError("an instruction")

    def unknown_decl(self, data):
        raise AssertionError("a declaration")


def near(value, told):
    """JSON has six digits of what is not a whole number."""
    return abs(value - told) <= 1e-5 * max(abs(value), abs(told))


def label(name, kind):
    if kind == "share" and name.endswith("_share"):
        name = name[: -len("_share")]
    return name.replace("_", " ") + {"share": " %", "rate": "/s"}.get(kind, "")


def escaped(name):
    """As it stands in the page: what is not printed is escaped, what is long is cut."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] if ord(c) < 256 else f"\\u{ord(c):04x}" for c in name)


source = open(sys.argv[1], encoding="utf-8").read()
told = json.load(open(sys.argv[2]))
page = Page()
page.feed(source)
page.close()
assert page.open == [page.root], [node.name for node in page.open]
root = page.root

# It loads nothing, and runs nothing.
policy = [node.attributes["content"] for node in root.all("meta") if "http-equiv" in node.attributes]
assert policy == ["default-src 'none'; style-src 'unsafe-inline'"], policy
assert re.findall(r"url\([^)]*\)", source) == ["url(#lost)"]
assert "://" not in next(root.all("style")).text() and "@import" not in source
assert not re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e]", source)
ids = [node.attributes["id"] for name in ELEMENTS for node in root.all(name) if "id" in node.attributes]
assert len(ids) == len(set(ids))
for link in root.all("a"):
    assert link.attributes["href"][1:] in ids, link.attributes
sections = {node.attributes["id"]: node for node in root.all("section")}

# The head.
facts = {node.text(): value for node, value in zip(root.all("dt"), root.all("dd"))}
for name, number in (("events", told["events"]), ("lost", told["lost"]["events"]), ("sources", len(told["sources"])),
                     ("stands out", len(told["findings"])),
                     ("duration", told.get("duration_ns", told.get("duration_ticks", 0)))):
    assert facts[name].value() == number, (name, facts[name].text(), number)

# What stands out: all of it, in this order, with its commands.
findings = list(sections["findings"].all("li"))
assert len(findings) == len(told["findings"])
for item, finding in zip(findings, told["findings"]):
    assert next(item.all("p")).text() == escaped(finding["text"]), (item.text(), finding)
    assert next(item.all("code")).text().startswith("strata " + finding["command"] + " "), item.text()
    numbers = {}
    for span in item.all("span"):
        data = next(span.all("data"))
        numbers[span.text()[: -len(data.text())].strip()] = span.value()
    if "key" in finding:
        for name in ("unknown_share", "error_ns"):
            shown = numbers.pop({"unknown_share": "unknown %", "error_ns": "clock error"}[name], 0)
            assert near(shown, finding[name]), (name, shown, finding)
        assert len(numbers) == 1 and near(*numbers.values(), finding["value"]), (numbers, finding)

# The sources: their numbers, and those of each period.
table, periods = sections["sources"].all("table")
assert len(list(sections["sources"].all("svg", **{"class": "series"}))) == \
    len(told["sources"]) + sum("series" in part for part in told["results"])
heads = [node.text() for node in next(table.all("thead")).all("th")]
rows = list(next(table.all("tbody")).all("tr"))
assert len(rows) == len(told["sources"])
for row, source in zip(rows, told["sources"]):
    cells = dict(zip(heads, [c for c in row.children if isinstance(c, Node)]))
    assert cells["layer"].text() == source["layer"] and cells["format"].text() == source["format"]
    assert cells["source"].text() == escaped(source["source"]), (cells["source"].text(), source["source"])
    for name, number in (("events", source["events"]), ("lost", source["lost"]["events"]), ("error ns", source["error_ns"])):
        assert cells[name].value() == number, (name, number)
    for name, key in (("rate/s", "rate"), ("unknown %", "unknown_share")):
        assert near(cells[name].value(), source[key]) if key in source else not list(cells[name].all("data")), (name, source)
    assert cells["lost"].text().endswith("+") == (source["lost"]["uncounted"] > 0 or source["lost"].get("incomplete", False))
series = [(source["series"], source["lost"]["places"]) for source in told["sources"]] + \
    [(part["series"], told["lost"]["places"]) for part in told["results"] if "series" in part]
for number, row in enumerate(next(periods.all("tbody")).all("tr")):
    cells = [c for c in row.children if isinstance(c, Node)]
    assert len(cells) == len(series) + 2
    for cell, (one, losses) in zip(cells[1:], series):
        begin, count, lost = one[number] if number < len(one) else (int(cells[0].value()), 0, None)
        assert cells[0].value() == float(begin) and int(cell.text()) == count
        # A source that lost nothing has no period with losses.
        assert lost is None or lost == (losses > 0 and cells[-1].text() == "yes"), (number, lost, losses)
assert number + 1 >= max(len(one) for one, _ in series)
lanes = list(sections["sources"].all("svg", **{"class": "series"}))
for lane, (one, losses) in zip(lanes, series):
    hatched = bool(list(lane.all("rect")))
    assert hatched if losses > 0 and any(period[2] for period in one) else losses > 0 or not hatched, losses

# The analyses: each row and each number.
shown = {}
for name, section in sections.items():
    if name.startswith("part-"):
        command = next(next(section.all("caption")).all("code")).text()
        for part in told["results"]:
            if command.startswith(f"strata {part['command']} ") and len(part["command"]) > len(shown.get(name, ("",))[0]):
                shown[name] = (part["command"], part["result"])
assert len(shown) == sum(name.startswith("part-") for name in sections)
missed = {part["command"] for part in told["results"] if part["result"]["rows"]} - {command for command, _ in shown.values()}
assert missed <= {"sched"}, missed
n_numbers = 0
for name, (command, result) in shown.items():
    table = next(sections[name].all("table"))
    heads = [node.text() for node in next(table.all("thead")).all("th")]
    rows = list(next(table.all("tbody")).all("tr"))
    assert len(rows) == len(result["rows"]) > 0, (command, len(rows))
    columns = {label(column, kind): (column, kind) for column, kind in zip(result["columns"], result["kinds"])}
    for head in heads:
        assert head in columns or head == "time" or "distribution" in head or \
            any(head in row["key"] for row in result["rows"]), head
    for row, line in zip(rows, result["rows"]):
        cells = [c for c in row.children if isinstance(c, Node)]
        assert len(cells) == len(heads)
        for head, cell in zip(heads, cells):
            if cell.name == "th":
                assert cell.text() == escaped(str(line["key"].get(head, "-"))), (command, head, cell.text(), line)
            elif head in columns:
                column, kind = columns[head]
                if kind == "text":
                    assert cell.text() == escaped(line.get(column, "-"))
                elif column in line and line[column] is None:
                    assert cell.text() == "?", (command, head, cell.text(), line)
                elif column in line:
                    assert near(cell.value(), line[column]), (command, head, cell.text(), line)
                    n_numbers += 1
                else:
                    assert cell.text() == "-", (command, head, cell.text(), line)
            elif "distribution" in head and list(cell.all("svg")):
                # The median and the maximum are where the numbers are.
                marks = [float(p.attributes["d"].split()[0][1:]) for p in cell.all("path") if p.attributes["class"] != "area"]
                assert marks == sorted(marks) and len(marks) >= 2, (command, marks, line)
            elif head == "time":
                width = sum(float(r.attributes["width"]) for r in cell.all("rect"))
                assert 99 < width < 101, (command, width, line)
    # No column that has a number is left out of what the page has in common with the text.
    for column in ("n", "p50", "p99", "max", "sum", "unknown_share"):
        assert column not in result["columns"] or not any(column in line for line in result["rows"]) or \
            label(column, result["kinds"][result["columns"].index(column)]) in heads or command.startswith("sched"), column
    for fate, count in result["unpaired"].items():
        assert count == 0 or command.startswith("sched") or \
            any(p.text().split()[0] == str(count) for p in sections[name].all("p")), (command, fate, count)
assert n_numbers > 0 or not shown

# What it cannot answer, and how it was recorded.
missing = {dt.text(): dd for dt, dd in zip(sections["missing"].all("dt"), sections["missing"].all("dd"))}
for item in told["missing"]:
    assert missing[item["analysis"]].text() == item["text"].replace("'", ""), item
    assert [code.text() for code in missing[item["analysis"]].all("code")] == re.findall("'([^']*)'", item["text"])
recorded = sections["recording"].text()
for source in told["sources"]:
    for key, value in source["facts"].items():
        assert escaped(value)[:1400] in recorded or len(value) > 100000, (key, value)
versions = [dd.text() for dd in sections["recording"].all("dd")]
assert any(text.startswith("strata summary ") for text in versions) and \
    any(re.fullmatch(r"strata [0-9][^ ]*", text) for text in versions)
