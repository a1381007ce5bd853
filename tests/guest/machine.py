"""A guest under QEMU's software emulation, and a shell in it to talk to."""

import os
import select
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from waiting import Failure, expect, wait_until  # noqa: E402

CPUS = 2
# QEMU and its options, and the kernel's command line, per kind of processor. $EMULATOR: another QEMU.
X86_64 = ([os.environ.get("EMULATOR", "qemu-system-x86_64"), "-machine", "q35", "-cpu", "max"],
          # Without tsc=reliable the kernel distrusts the emulated TSC and reads a slow timer instead. Without no_timer_check it
          # waits for some ticks of the timer, which a busy host delays, and then stands still ("8254 timer not connected").
          "console=ttyS0 quiet nokaslr mitigations=off tsc=reliable no_timer_check cryptomgr.notests panic=-1")
# Pointer authentication by QEMU's own function, not by the slow one of the architecture.
ARM64 = (["qemu-system-aarch64", "-machine", "virt", "-cpu", "max,pauth-impdef=on"],
         "console=ttyAMA0 quiet nokaslr mitigations=off panic=-1")
# With a thread for each vCPU, QEMU 7.2 may run code of one that Linux changes on another, which then locks up.
ONE_THREAD = "tcg,thread=single"
# How long anything may take that has an end, on a busy machine. No test measures time.
PATIENCE = 240


class Lost(Failure):
    """The guest does not answer any more."""


def at_once(*commands):
    """One command that runs several at the same time, and waits for them and nothing else."""
    return "(" + " ".join(command + " &" for command in commands) + " wait)"


class Machine:
    """The running guest.

    Its ports of Strata's are FIFOs (those of the old agents' protocol) and a socket (strata-agent's
    own protocol, with HAS_AGENT) in FOLDER; the ports of the tests are on a second controller, which no test
    stalls. PREFIX comes before QEMU in the command, OPTIONS after its own options. KIND is of the processor, ACCEL how it is emulated:
    ONE_THREAD where no test looks at the threads of its vCPUs.
    With INCOMING it waits there for a guest that migrates; open_shell() is for when that has come.
    """

    def __init__(self, kernel, initramfs, folder, prefix=(), has_agent=True, options=(), kind=X86_64,
                 incoming=None, accel="tcg,thread=multi"):
        self.folder = folder
        self.commands = 0
        self.ports = os.path.join(folder, "ports")
        os.makedirs(self.ports)
        command = [
            *prefix, *kind[0], "-accel", accel,
            "-smp", str(CPUS), "-m", "512", "-nodefaults", "-display", "none", "-no-reboot",
            "-kernel", kernel, "-initrd", initramfs,
            "-append", kind[1],
            "-serial", f"file:{folder}/console.log", "-monitor", f"unix:{folder}/monitor,server=on,wait=off",
            "-qmp", f"unix:{folder}/qmp,server=on,wait=off", "-device", "virtio-serial-pci,id=strata",
        ]
        for number, name in enumerate(["agent-ctl-path"] + [f"trace-path-cpu{n}" for n in range(CPUS)], 1):
            path = os.path.join(self.ports, name)
            os.mkfifo(path + ".in")
            os.mkfifo(path + ".out")
            command += ["-chardev", f"pipe,id=fifo{number},path={path}",
                        "-device", f"virtserialport,bus=strata.0,nr={number},chardev=fifo{number},name={name}"]
        if has_agent:
            command += self._socket("agent", "org.strata.agent", "strata", number + 1)
        command += ["-device", "virtio-serial-pci,id=tests"]
        command += self._socket("shell", "org.strata.test.shell", "tests", 1)
        command += self._socket("bell", "org.strata.test.bell", "tests", 2)
        command += options
        if incoming:
            command += ["-incoming", incoming]
        with open(os.path.join(folder, "qemu.log"), "wb") as log:
            self.qemu = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if incoming:
            return
        try:
            self.open_shell()
            self.run("dmesg -n 1", patience=4 * PATIENCE)
        except BaseException:
            self.kill()
            raise

    def _socket(self, name, port, controller, number):
        path = os.path.join(self.folder, name)
        return ["-chardev", f"socket,id={name},path={path},server=on,wait=off",
                "-device", f"virtserialport,bus={controller}.0,nr={number},chardev={name},name={port}"]

    def open_shell(self):
        self.shell = self.connect("shell")

    def connect(self, name):
        """The host's end of a port that is a socket."""
        end = socket.socket(socket.AF_UNIX)

        def connected():
            expect(self.qemu.poll() is None, "QEMU ended:", open(f"{self.folder}/qemu.log").read())
            try:
                end.connect(os.path.join(self.folder, name))
                return True
            except (FileNotFoundError, ConnectionRefusedError):
                return False
        wait_until(connected, f"no socket {name}")
        return end

    def start(self, command):
        """Gives COMMAND, some lines of sh, to the guest's shell. ended() takes its end."""
        self.commands += 1
        self.mark = f"\n@@ {self.commands} ".encode()
        text = f"{{ {command}\n}} </dev/null; printf '\\n@@ {self.commands} %d\\n' $?\n"
        self.shell.sendall(text.encode())

    def ended(self, patience=PATIENCE):
        """The exit status and the output, standard error included, of what was started."""
        output = bytearray()
        end = time.monotonic() + patience
        while True:
            at = output.find(self.mark, max(0, len(output) - 65536 - len(self.mark) - 8))
            if at >= 0 and output.endswith(b"\n") and len(output) > at + len(self.mark):
                return int(output[at + len(self.mark):]), bytes(output[:at])
            left = end - time.monotonic()
            if left <= 0:
                raise Lost(f"no answer from the guest but: {bytes(output[-2000:])}\n{self.console()}\n{self.registers()}")
            if select.select([self.shell], [], [], left)[0]:
                got = self.shell.recv(65536)
                if not got:
                    raise Lost("the guest is gone; the end of its console:\n" + self.console())
                output += got

    def run(self, command, patience=PATIENCE):
        """The output of COMMAND, which must succeed."""
        self.start(command)
        status, output = self.ended(patience)
        expect(status == 0, f"in the guest, {command!r}: exit status {status}:", output.decode(errors="replace"))
        return output

    def text(self, command, patience=PATIENCE):
        return self.run(command, patience).decode(errors="replace").strip()

    def registers(self):
        """What the CPUs are at, of a guest that hangs."""
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.settimeout(10)
            monitor.connect(os.path.join(self.folder, "monitor"))
            monitor.sendall(b"info registers -a\n")
            text = b""
            try:
                while text.count(b"(qemu)") < 2:
                    text += monitor.recv(65536)
            except TimeoutError:
                return "QEMU's monitor does not answer"
        return "\n".join(line for line in text.decode(errors="replace").splitlines() if "RIP" in line or "CPU#" in line)

    def console(self, lines=30):
        """The end of it."""
        with open(f"{self.folder}/console.log", errors="replace") as log:
            return "".join(log.readlines()[-lines:])

    def end(self):
        """Ends the guest as a guest ends."""
        self.shell.sendall(b"exit\n")
        try:
            self.qemu.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failure("the guest did not end:\n" + self.console()) from None

    def end_recording(self, expected=0):
        """Ends QEMU, which PREFIX's recorder started: the guest sends what is left first. What the recorder printed."""
        self.qemu.send_signal(signal.SIGTERM)
        status = self.qemu.wait(PATIENCE)
        with open(f"{self.folder}/qemu.log") as log:
            said = log.read()
        expect(status == expected, "strata record ended with", status, said)
        return said

    def _explain(self):
        with open(f"{self.folder}/qemu.log", errors="replace") as log:
            print(f"QEMU, or the recorder that started it, said:\n{log.read()[-4000:]}\nthe end of the console:\n{self.console()}")
        print(f"its CPUs are at:\n{self.registers()}")
        try:
            print("the agent said:", self.text("cat /tmp/agent.log; ps | grep strata; dmesg | tail -n 20", patience=60))
        except (Failure, OSError) as error:
            print("its shell:", error)

    def kill(self):
        """On the way out of a test that failed, it first prints what is known of this machine."""
        if sys.exc_info()[0] and self.qemu.poll() is None:
            self._explain()
        self.qemu.kill()
        self.qemu.wait()
