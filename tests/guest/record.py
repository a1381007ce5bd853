"""Virtual machines that `strata record` starts, or attaches to: monitor and kernel on one timeline."""

import json
import os
import re
import signal
import subprocess
import tempfile

import timeline
from agent import Agent
from machine import ONE_THREAD, PATIENCE, Machine, expect, wait_until
from tracefs import tracing_instances

MARKS = 50


def sources(folder):
    """Those with events: not a guest whose agent has not answered."""
    try:
        with open(f"{folder}/trace.json") as manifest:
            return {source["name"]: source for source in json.load(manifest)["sources"] if source["kind"] != "none"}
    except FileNotFoundError:
        return {}


def traced(guest, folder, recorder, former=None):
    """Waits until the guest is traced and part of the recording in FOLDER. Returns its instance of tracefs. The recording
    knows of it earlier, when it is being set up; until then there may be the instance FORMER, of a recorder that was killed or
    of another QEMU's, which waits for its host to come back."""
    def instance():
        expect(recorder.poll() is None, "strata record has ended:", recorder.returncode)
        paths = tracing_instances(guest) if "guest" in sources(folder) else []
        return paths[0] if len(paths) == 1 and paths[0] != former else None
    return wait_until(instance, "the guest is not recorded")


def error_bound(folder, usual):
    """The largest error, in ns, that a time of the guest in FOLDER may state: USUAL, but where this machine was so busy that
    readings of both clocks took longer."""
    with open(f"{folder}/clock-pairs") as file:
        return max(usual, 2 * max(int(line.split()[2]) for line in file if not line.startswith("#")))


def record_vm(run):
    """A machine that is started; its agent comes late, and is at work when QEMU is asked to end."""
    out = os.path.join(run.folder("record"), "trace")
    runtime = tempfile.mkdtemp(prefix="strata-test-")
    os.environ["XDG_RUNTIME_DIR"] = runtime
    guest = Machine(f"{run.work}/kernel", f"{run.work}/initramfs", run.folder("record-machine"), has_agent=False, prefix=[
        run.strata, "record", "-o", out, "-e", "virtio_console_*,runstate_set,serial_write", "-e", "guest:sched:*,guest:irq:*", "--"],
        options=["-serial", "null"])
    try:
        # The agent may come at any time.
        expect("guest" not in sources(out), "there is an agent before it is started")
        agent = Agent(guest)
        instance = traced(guest, out, guest.qemu)
        for n in range(MARKS):
            # QEMU sees the port of the answer after the mark.
            expect(guest.text(f"echo mark {n} >{instance}/trace_marker; echo {n}") == str(n), "the guest answers")
        timeline.write_numbers(guest, instance)
        expect(agent.is_running(), "the agent ended:", agent.log())
        guest.end_recording()
    finally:
        guest.kill()
        del os.environ["XDG_RUNTIME_DIR"]
    left = os.listdir(runtime)
    os.rmdir(runtime) if not left else None
    expect(not left, "left behind:", left)

    recorded = sources(out)
    expect(set(recorded) == {"vmm", "guest"}, "recorded are", set(recorded))
    for name, source in recorded.items():
        expect(source["complete"] and not source.get("problems") and source["lost"] == 0, name, source)
    vcpus = {thread["vcpu"] for thread in recorded["vmm"]["vmm"]["threads"] if "vcpu" in thread}
    expect(vcpus == {0, 1}, "vCPUs", vcpus)

    report = subprocess.run([run.strata, "report", "--format", "json", out], stdout=subprocess.PIPE, check=True, text=True)
    items = [json.loads(line) for line in report.stdout.splitlines()]
    times = [item["time_ns"] for item in items]
    expect(times == sorted(times), "the times step back")
    layers = {item["layer"] for item in items}
    expect(layers == {"vmm", "guest"}, "layers", layers)
    marks = [item for item in items if item["layer"] == "guest" and item["event"] == "print"
             and "mark " in str(item["fields"])]
    expect(len(marks) == MARKS, len(marks), "marks")
    bound = error_bound(f"{out}/guest-guest", 10_000_000)
    expect(all(0 < item["error_ns"] < bound for item in marks), "the error of marks:",
           sorted({item.get("error_ns") for item in marks}))
    # Between a mark and the next one the guest has taken a command, and answered: QEMU passed both on.
    passed = [item["time_ns"] for item in items if item["layer"] == "vmm" and item["event"] == "virtio_console_flush_buf"]
    for one, two in zip(marks, marks[1:]):
        slack = one["error_ns"] + two["error_ns"]
        expect(any(one["time_ns"] - slack <= time <= two["time_ns"] + slack for time in passed),
               "nothing passes between", one, two)
    expect({item.get("vcpu") for item in items if item["layer"] == "vmm"} & {0, 1}, "no vCPU did anything in QEMU")
    timeline.compare(run.strata, out)


def record_killed_agent(run):
    killed_agent(run, "record-killed-agent")


def record_killed_agent_at_own_port(run):
    """The same where QEMU's command line has the port, with an ID of its own."""
    path = os.path.join(run.folder("own-port"), "agent")
    killed_agent(run, "record-killed-agent-at-own-port", [
        "-chardev", f"socket,id=own,path={path},server=on,wait=off",
        "-device", "virtserialport,bus=strata.0,nr=9,chardev=own,name=org.strata.agent,id=mine"])


def killed_agent(run, name, port=()):
    """An agent that is killed, and another one after it: both are recorded, and that something is missing is known. QEMU keeps its
    end of the connection, and tells by an event that the port is closed."""
    out = os.path.join(run.folder(name), "trace")
    runtime = tempfile.mkdtemp(prefix="strata-test-")
    os.environ["XDG_RUNTIME_DIR"] = runtime
    guest = Machine(f"{run.work}/kernel", f"{run.work}/initramfs", run.folder(f"{name}-machine"), has_agent=False, prefix=[
        run.strata, "record", "-o", out, "-e", "runstate_set", "-e", "guest:sched:*", "--"], options=["-serial", "null", *port])
    try:
        first = Agent(guest)
        instance = traced(guest, out, guest.qemu)
        guest.run(f"echo first >{instance}/trace_marker")
        first.stop("KILL")

        def printed(what, times=1):
            with open(f"{guest.folder}/qemu.log") as file:
                return file.read().count(what) == times
        wait_until(lambda: printed("the guest's agent has ended: nothing of the guest is recorded until"), "its end is not reported")
        wait_until(lambda: sources(out)["guest"]["guest"].get("away"), "the guest is said to be recorded")
        second = Agent(guest)
        wait_until(lambda: printed("the guest's agent is traced again"), "its return is not reported")
        expect("away" not in sources(out)["guest"]["guest"], "the guest is said not to be recorded")
        wait_until(lambda: any("the agent ended before it had sent the rest" in problem
                               for problem in sources(out)["guest"].get("problems", [])), "the second agent is not recorded")
        guest.run("echo again >$(ls -d /sys/kernel/tracing/instances/*/ | tail -n 1)trace_marker")
        expect(second.is_running(), "the agent ended:", second.log())
        second.stop("KILL")
        wait_until(lambda: sources(out)["guest"]["guest"].get("away"), "the guest is said to be recorded")
        wait_until(lambda: printed("the guest's agent has ended", 2), "its second end is not reported")
        guest.end_recording(expected=1)
    finally:
        guest.kill()
        del os.environ["XDG_RUNTIME_DIR"]
    os.rmdir(runtime) if not os.listdir(runtime) else None
    source = sources(out)["guest"]
    expect(not source["complete"] and source.get("lost_uncounted"), "nothing is missing:", source)
    expect(any(re.match(r"the guest's agent ended unexpectedly \d+\.\d seconds before the recording of the guest ended", problem)
               for problem in source["problems"]), source["problems"])


def record_killed_agent_attached(run):
    """The same of a QEMU that runs: it is asked whether the port is closed when the agent does not answer."""
    guest = run.guest
    out = os.path.join(run.folder("record-killed-agent-attached"), "trace")
    runtime = tempfile.mkdtemp(prefix="strata-test-")
    with open(os.path.join(run.folder("killed-attached-said"), "said"), "w+b") as said:
        recorder = subprocess.Popen(
            [run.strata, "record", "--attach", "-o", out, "-e", "runstate_set", "--event=guest:sched:*", str(guest.qemu.pid)],
            stdout=said, stderr=said, env=dict(os.environ, XDG_RUNTIME_DIR=runtime))
        try:
            agent = Agent(guest)
            traced(guest, out, recorder)
            agent.stop("KILL")

            def printed(what):
                said.flush()
                with open(said.name, errors="replace") as file:
                    return what in file.read()
            # "does not answer any more" is what is known without QEMU's answer.
            wait_until(lambda: printed("the guest's agent "), "its end is not reported")
            expect(printed("the guest's agent has ended: nothing of the guest is recorded until"), open(said.name).read())
            recorder.send_signal(signal.SIGTERM)
            expect(recorder.wait(PATIENCE) == 1, "it ended with", recorder.returncode)
        finally:
            recorder.kill()
            recorder.wait()
    source = sources(out)["guest"]
    expect(not source["complete"] and any("the guest's agent ended unexpectedly" in problem for problem in source["problems"]),
           "nothing is missing:", source)
    guest.run("rmdir /sys/kernel/tracing/instances/*")


def record_attached(run):
    """A machine that runs, whose command line has a port for the agent, and no times for QEMU's log."""
    guest = run.guest
    out = os.path.join(run.folder("attached"), "trace")
    runtime = tempfile.mkdtemp(prefix="strata-test-")
    with open(os.path.join(run.folder("attached-said"), "said"), "w+b") as said:
        recorder = subprocess.Popen(
            [run.strata, "record", "--attach", "-o", out, "-e", "virtio_console_*", "--event=guest:sched:*", str(guest.qemu.pid)],
            stdout=said, stderr=said, env=dict(os.environ, XDG_RUNTIME_DIR=runtime))
        try:
            agent = Agent(guest)
            instance = traced(guest, out, recorder)
            for n in range(MARKS):
                expect(guest.text(f"echo mark {n} >{instance}/trace_marker; echo {n}") == str(n), "the guest answers")
            recorder.send_signal(signal.SIGTERM)
            status = recorder.wait(PATIENCE)
        finally:
            recorder.kill()
            recorder.wait()
        said.seek(0)
        expect(status == 0, "strata record ended with", status, said.read().decode())
    # Machine and agent live on, and nothing is left; the recorder does not wait long for the kernel to remove it.
    wait_until(lambda: guest.text("ls /sys/kernel/tracing/instances") == "", "an instance is left")
    agent.stop()
    left = os.listdir(runtime)
    expect(not left, "left behind:", left)
    os.rmdir(runtime)

    recorded = sources(out)
    expect(set(recorded) == {"vmm", "guest"}, "recorded are", set(recorded))
    expect(all(source["complete"] and source["lost"] == 0 for source in recorded.values()), recorded)
    expect("no times" in recorded["vmm"]["problems"][0] and not recorded["guest"].get("problems"), recorded)
    expect({thread["vcpu"] for thread in recorded["vmm"]["vmm"]["threads"] if "vcpu" in thread} == {0, 1}, "vCPUs", recorded["vmm"])
    report = subprocess.run([run.strata, "report", "--format", "json", out], stdout=subprocess.PIPE, check=True, text=True)
    items = [json.loads(line) for line in report.stdout.splitlines()]
    marks = [item for item in items if item["layer"] == "guest" and item["event"] == "print" and "mark " in str(item["fields"])]
    expect(len(marks) == MARKS, len(marks), "marks")
    passed = [item for item in items if item["layer"] == "vmm" and item["event"] == "virtio_console_flush_buf"]
    late = re.search(r"were read late, within ([\d.]+) ms", recorded["vmm"]["problems"][0])
    error = float(late[1]) * 1e6 if late else 0  # of lines; the trace does not say which
    for one, two in zip(marks, marks[1:]):
        low, high = one["time_ns"] - one["error_ns"], two["time_ns"] + two["error_ns"]
        expect(any(low <= item["time_ns"] + max(error, item["error_ns"]) and
                   item["time_ns"] - max(error, item["error_ns"]) <= high for item in passed), "nothing passes between", one, two)


def record_refused(run):
    """An agent that refuses an event: the recorder says so while it records QEMU."""
    guest = run.guest
    out = os.path.join(run.folder("refused"), "trace")
    said = os.path.join(run.folder("refused-said"), "said")
    runtime = tempfile.mkdtemp(prefix="strata-test-")

    def status():
        rows = subprocess.run([run.strata, "ctl", out, "status", "-f", "json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              check=False, text=True).stdout
        return {row["source"]: row for row in map(json.loads, rows.splitlines())}

    with open(said, "wb") as file:
        recorder = subprocess.Popen(
            [run.strata, "record", "--attach", "-o", out, "-e", "virtio_console_*", "--event=guest:nosuch:event", str(guest.qemu.pid)],
            stdout=file, stderr=file, env=dict(os.environ, XDG_RUNTIME_DIR=runtime))
    try:
        wait_until(lambda: "guest" in status(), "the guest has no row")
        expect(not status()["guest"]["recording"] and not status()["guest"]["problems"], status())
        agent = Agent(guest)
        reason = "the kernel has no event 'nosuch:event'"
        with open(said) as file:
            wait_until(lambda: f"strata: guest: the agent: {reason}" in file.seek(0) * "" + file.read(), "nothing is printed")
        expect(recorder.poll() is None, "strata record has ended")
        wait_until(lambda: any(reason in problem for problem in status()["guest"]["problems"]), "the row does not say why")
        recorder.send_signal(signal.SIGTERM)
        expect(recorder.wait(PATIENCE) == 1, "strata record ended with", recorder.returncode)
    finally:
        recorder.kill()
        recorder.wait()
    if agent.is_running():
        agent.stop()
    with open(f"{out}/trace.json") as manifest:
        (source,) = json.load(manifest)["sources"]
    expect(source["name"] == "vmm" and any(reason in problem for problem in source["problems"]), source)
    expect(not os.listdir(runtime), "left behind:", os.listdir(runtime))
    os.rmdir(runtime)


def marks_of(run, folder):
    report = subprocess.run([run.strata, "report", "--format", "json", folder], stdout=subprocess.PIPE, check=True, text=True)
    items = [json.loads(line) for line in report.stdout.splitlines()]
    return [item for item in items if item["layer"] == "guest" and item["event"] == "print" and "mark " in str(item["fields"])]


def check_summary(run, out, said):
    """The summary that the recorder printed says of the guest what its trace has."""
    summary = re.search(r"guest +(\d+) events?, (an unknown number|(?:at least )?\d+) lost, times within ([\d.]+[nm]?u?s); Linux", said)
    expect(summary, "no summary:", said)
    info = subprocess.run([run.strata, "info", "--format", "json", out], stdout=subprocess.PIPE, check=True, text=True).stdout
    info = [json.loads(line) for line in info.splitlines()]
    info = next(source for source in info if source.get("layer") == "guest")
    expect(info["events"] == int(summary[1]), "the summary has", summary[1], "events;", info)
    lost = info["facts"]["lost in all"]
    expect(lost == "unknown; 0 by the recorder's count" if summary[2] == "an unknown number" else
           lost == f"unknown; {summary[2][9:]} by the recorder's count" if summary[2].startswith("at least ") else
           lost == summary[2], "the summary has", summary[2], "lost;", info)
    expect(is_rounded_up(summary[3], info["host_time"]["error_ns"]), "the summary has an error of", summary[3], info)


def is_rounded_up(text, ns):
    """Whether TEXT, "1.05us", is NS with three digits, and no less."""
    number, unit = re.fullmatch(r"([\d.]+)(\w+)", text).groups()
    stated = float(number) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]
    return ns * (1 - 1e-9) <= stated <= ns * 1.011 + 1


def guest_errors(run, trace):
    """The largest error, in ns, that TRACE states of the times of each guest, or boot of one."""
    info = subprocess.run([run.strata, "info", "--format", "json", trace], stdout=subprocess.PIPE, check=True, text=True).stdout
    return [source["host_time"]["error_ns"] for source in map(json.loads, info.splitlines()) if source.get("layer") == "guest"]


def record_added_port(run):
    """A machine without a port for the agent: each recorder adds one and removes it again, also after one that was killed, and
    when the agent has exited before. At last the guest powers off while it is recorded, before its agent could say what it has
    sent: the summary counts what is in the trace."""
    guest = Machine(f"{run.work}/kernel", f"{run.work}/initramfs", run.folder("added-machine"), has_agent=False,
                    accel=ONE_THREAD)
    folder = run.folder("added")
    runtime = tempfile.mkdtemp(prefix="strata-test-")
    environment = dict(os.environ, XDG_RUNTIME_DIR=runtime)
    former = None

    def attach(name, end, agent_exits=False):
        nonlocal former
        out = os.path.join(folder, name)
        with open(out + ".said", "w+b") as said:
            recorder = subprocess.Popen(
                [run.strata, "record", "--attach", "-o", out, "-e", "runstate_set", "--event=guest:sched:*", str(guest.qemu.pid)],
                stdout=said, stderr=said, env=environment)
            try:
                former = instance = traced(guest, out, recorder, former)
                for n in range(MARKS):
                    expect(guest.text(f"echo mark {n} >{instance}/trace_marker; echo {n}") == str(n), "the guest answers")
                if agent_exits:
                    agent.stop()
                if end:
                    recorder.send_signal(end)
                else:
                    expect(agent.is_running(), "the agent ended:", agent.log())
                    guest.end()
                status = recorder.wait(PATIENCE)
            finally:
                recorder.kill()
                recorder.wait()
            said.seek(0)
            said = said.read().decode()
        expect(status == (-end if end == signal.SIGKILL else 0), name, "ended with", status, said)
        if not end:
            check_summary(run, out, said)
        if end in (None, signal.SIGKILL):
            return
        source = sources(out).get("guest", {})
        expect(source.get("complete") and source["lost"] == 0 and not source.get("problems"), name, sources(out))
        expect(len(marks_of(run, out)) == MARKS, name, "has other marks")
        wait_until(lambda: guest.text("ls /sys/kernel/tracing/instances") == "", "an instance is left")
        # Linux removes it in a work queue.
        wait_until(lambda: "org.strata.agent" not in guest.text("cat /sys/class/virtio-ports/*/name"), f"{name} leaves its port")

    try:
        agent = Agent(guest)
        attach("first", signal.SIGTERM)
        attach("second", signal.SIGTERM)
        attach("killed", signal.SIGKILL)
        attach("third", signal.SIGTERM, agent_exits=True)
        agent = Agent(guest)
        attach("poweroff", None)
    finally:
        guest.kill()
    left = os.listdir(runtime)
    expect(not left, "left behind:", left)
    os.rmdir(runtime)


SCENARIOS = [record_vm, record_killed_agent, record_killed_agent_at_own_port, record_killed_agent_attached,
             record_attached, record_refused, record_added_port]
