"""xentrace_format with data/formats, against Python's own % operator, which those rules are for."""
import os
import re
import subprocess

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def compare(bin, path, stream_):
    """Every line of every cpu; raises ValueError at the first that differs."""
    formats = os.path.join(TREE, "data", "formats")
    rules = {}
    with open(formats) as file:
        for line in file:
            match = re.match(r"(0x[0-9a-f]+)\s+(\S.*)", line)
            if match:
                rules[int(match[1], 16)] = match[2]
    with open(path, "rb") as file:
        printed = subprocess.run(
            [os.path.join(bin, "xentrace_format"), formats], stdin=file, stdout=subprocess.PIPE, text=True, check=True
        ).stdout.splitlines()
    # In the order of the file, where windows of the cpus alternate.
    by_cpu = {}
    for line in printed:
        cpu = re.match(r"CPU(\d+) ", line)
        if cpu and not re.search(r"  (lost_records|wrap_buffer|cpu_change)\b", line):
            by_cpu.setdefault(int(cpu[1]), []).append(line)
    for cpu, records in stream_.cpus.items():
        if len(by_cpu.get(cpu, [])) != len(records):
            raise ValueError(f"{path}: cpu {cpu}: {len(by_cpu.get(cpu, []))} lines, {len(records)} records")
        last = 0
        for record, line in zip(records, by_cpu[cpu]):
            words = list(record.words) + [0] * (7 - len(record.words))
            # It leaves out which arguments there are, and only in this one.
            if record.event == 0x20100D:
                words[0] &= 0xFFFFF
            values = {str(i + 1): word for i, word in enumerate(words)}
            values.update(cpu=cpu, event=record.event, tsc=record.tsc or 0, reltsc=0)
            if record.tsc is not None:
                values["reltsc"] = record.tsc - last if last else 0
                last = record.tsc
            wanted = rules.get(record.event, rules[0]) % values
            if line != wanted:
                raise ValueError(f"{path}: {line!r}, not {wanted!r}")
