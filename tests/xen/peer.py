"""What xenalyze, Xen's own decoder, says of a stream: each record in its order, and its words on it."""
import collections
import re
import subprocess

# vcpu: "d0v1", None where xenalyze does not know it (yet); text: None where it says nothing.
Line = collections.namedtuple("Line", "event words tsc cpu vcpu text")

RAW = re.compile(r"\* +([0-9a-f]+) \d +(\d+|-) \[ ([^\]]*)\]")
# A message of xenalyze 4.20 that has no line feed: the next line follows it.
LEAVES_INIT = re.compile(r"d\d+v\d+ RUNSTATE_RUNNING detected, leaving INIT(?=.)")
# A character for each cpu: x is the record's own.
SAID = re.compile(r"[\]! ] +(?:\d+\.\d+)? ([^ ]*x[^ ]*) (d[0-9?]+v[0-9?]+) +(.*)")


def svm_mode(xenalyze):
    """The option for a trace of an AMD processor. From Xen 4.19 on there is none: the records' numbers say it."""
    help_text = subprocess.run([xenalyze, "--help"], stdout=subprocess.PIPE, text=True).stdout
    return ["--svm-mode"] if "--svm-mode" in help_text else []


def run(xenalyze, path):
    """Stops with an error where xenalyze does."""
    done = subprocess.run(
        [xenalyze, *svm_mode(xenalyze), "--dump-all", "--dump-raw-process", path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    if done.returncode != 0:
        raise ValueError(f"xenalyze {path}: status {done.returncode}: {done.stderr[-300:]}")
    lines = []
    for text in done.stdout.splitlines():
        text = LEAVES_INIT.sub("", text)
        raw = RAW.match(text)
        if raw:
            event, tsc, words = raw.groups()
            words = tuple(int(word, 16) for word in words.split())
            lines.append(Line(int(event, 16), words, None if tsc == "-" else int(tsc), None, None, None))
            continue
        said = SAID.match(text)
        if said and lines and lines[-1].text is None:
            cpus, vcpu, text = said.groups()
            if "?" in vcpu or vcpu.startswith("d32768"):
                vcpu = None
            lines[-1] = lines[-1]._replace(cpu=cpus.index("x"), vcpu=vcpu, text=text)
    return lines
