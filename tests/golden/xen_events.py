# SPDX-License-Identifier: MIT
"""The work of xen_events.sh. Arguments: strata, the directory with `trace-points` and
`trace-points.expected`, the built-in table, and perhaps --update."""

import re
import struct
import subprocess
import sys

VERSIONS = ["4.17", "4.18", "4.19", "4.20", "4.21", "4.22", "4.23"]
# What is told of the host: nothing, the version, and the version and the processor.
HOSTS = [(None, None)] + [(v, None) for v in VERSIONS] + [(v, c) for c in ("amd", "intel") for v in VERSIONS]


class Point:
    def __init__(self, words):
        self.number = int(words[0], 16)
        self.traced = words[1] != "not"
        if not self.traced:
            return
        self.n, self.flags = int(words[1]), words[2]
        self.since, self.until = words[3], words[4]
        # Halves that can be told apart, or as asked.
        self.words = [2 * i + 1 | 2 * i + 2 << 16 for i in range(self.n)]
        if len(words) > 5:
            self.words = [int(v, 16) for v in words[5].split(",")]
            assert len(self.words) == self.n, words
        self.texts = {}

    def is_of(self, version):
        at = VERSIONS.index(version)
        return (self.since == "-" or VERSIONS.index(self.since) <= at) and (
            self.until == "-" or at <= VERSIONS.index(self.until))

    def record(self, n, more=0):
        header = self.number | n << 28
        time = b""
        if "t" in self.flags:
            header |= 1 << 31
            time = struct.pack("<Q", 1000)
        return struct.pack("<I", header) + time + struct.pack(f"<{n}I", *(self.words + [more])[:n])


def report(strata, host, records):
    """The text of each record, without what is before it."""
    version, cpu = host
    data = b"".join(records)
    stream = struct.pack("<III", 0x2001F003, 0, len(data)) + data
    args = [strata, "report", "-"]
    args += ["--xen-version", version] if version else []
    args += ["--cpu-vendor", cpu] if cpu else []
    run = subprocess.run(args, input=stream, capture_output=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{args}: {run.stderr.decode()}")
    texts = [re.sub(r"^\S+ \[000\] +\S+ ", "", line) for line in run.stdout.decode().splitlines()]
    assert len(texts) == len(records), f"{args}: {len(texts)} lines of {len(records)} records"
    return texts


def host_name(host):
    return "-".join(part for part in host if part) or "?"


def shorten(hosts):
    """4.17, 4.17-amd and 4.17-intel are 4.17."""
    whole = [v for v in VERSIONS if {v, f"{v}-amd", f"{v}-intel"} <= set(hosts)]
    return [h for h in hosts if h in whole or not any(h.startswith(v) for v in whole)]


def main():
    strata, data, table = sys.argv[1:4]
    with open(f"{data}/trace-points", encoding="utf-8") as f:
        points = [Point(line.split()) for line in f if not line.startswith("#")]
    wrong = []
    traced = [p for p in points if p.traced]

    for host in HOSTS:
        version = host[0]
        # Without a version, records of any; but those of SVM since 4.19 would tell the version.
        some = [p for p in traced if (p.is_of(version) if version else p.number & ~0x500 != 0x81003)]
        for p, text in zip(some, report(strata, host, [p.record(p.n) for p in some])):
            p.texts.setdefault(text, []).append(host_name(host))
            if "unknown_" in text or ("=?" in text and "m" not in p.flags):
                wrong.append(f"{host_name(host)} 0x{p.number:08x} with {p.n} words: {text}")
        # The last word counts: without it something is missing.
        short = [p for p in some if p.n > 0 and "p" not in p.flags and "o" not in p.flags
                 and "m" not in p.flags]
        if version:
            for p, text in zip(short, report(strata, host, [p.record(p.n - 1) for p in short])):
                if "=?" not in text and "[" not in text:
                    wrong.append(f"{host_name(host)} 0x{p.number:08x}: the last of {p.n} words is not "
                                 f"used: {text}")

        # A word that nobody knows of is shown.
        longer = [p for p in some if p.n < 7 and "m" not in p.flags]
        for p, text in zip(longer, report(strata, host, [p.record(p.n + 1, 0xabcdef) for p in longer])):
            if not text.endswith("[0xabcdef]"):
                wrong.append(f"{host_name(host)} 0x{p.number:08x}: a word more is not shown: {text}")

    lines = []
    for p in traced:
        for text, hosts in p.texts.items():
            what = " [" + " ".join(shorten(hosts)) + "]" if len(p.texts) > 1 else ""
            lines.append(f"0x{p.number:08x} {p.n}{what} {text}\n")
    if "--update" in sys.argv:
        with open(f"{data}/trace-points.expected", "w", encoding="utf-8") as f:
            f.writelines(lines)
    with open(f"{data}/trace-points.expected", encoding="utf-8") as f:
        expected = f.readlines()
    for line in sorted(set(lines) ^ set(expected)):
        wrong.append(("+" if line in lines else "-") + line.rstrip())

    # Nothing stands in the table that nobody traces, unless it is known to be old.
    known = {p.number for p in points}
    with open(table, encoding="utf-8") as f:
        for line in f:
            if re.match("0x", line) and int(line.split()[0], 16) not in known:
                wrong.append("no trace point: " + line.rstrip())
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())
