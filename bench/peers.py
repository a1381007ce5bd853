# SPDX-License-Identifier: MIT
"""Where the peers are, and how to get those that are not there."""

import glob
import os
import shutil
import subprocess
import tarfile

from inputs import Missing

PACKAGES = {
    "xenalyze": "xen-utils-common",
    "trace-cmd": "trace-cmd",
    "babeltrace2": "babeltrace2",
    "perf": "linux-perf",
}


def install():
    """All that is packaged, by apt."""
    packages = [*PACKAGES.values(), "qemu-system-common", "gcc", "libc6-dev"]
    apt = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    if os.geteuid() != 0:
        apt.insert(0, "sudo")
    subprocess.run(apt, check=True)


def find(name):
    places = [shutil.which(name), *sorted(glob.glob(f"/usr/lib/xen-*/bin/{name}")), f"/usr/sbin/{name}"]
    for place in places:
        if place and os.access(place, os.X_OK):
            return place
    raise Missing(f"{name} is not installed: bench/decode --install, or apt-get install {PACKAGES[name]}")


def simpletrace_py(cache, may_fetch):
    """QEMU's own reader. No package ships it: it comes from Debian's source package of qemu, by apt
    with a list of sources of its own, and only what is needed of it is kept."""
    folder = os.path.join(cache, "qemu-scripts")
    script = os.path.join(folder, "simpletrace.py")
    if os.path.exists(script):
        return script
    if not may_fetch:
        raise Missing("simpletrace.py is not in the cache; a run without --short gets it (120 MB)")
    if not shutil.which("apt-get"):
        raise Missing("simpletrace.py is taken from Debian's source package of qemu, and there is no apt-get")

    print("Getting simpletrace.py from Debian's source package of qemu ...", flush=True)
    work = os.path.join(cache, "apt")
    os.makedirs(os.path.join(work, "lists", "partial"), exist_ok=True)
    sources = os.path.join(work, "sources.list")
    with open(sources, "w", encoding="ascii") as f:
        f.write(deb_src_lines())
    options = [
        "-o", f"Dir::Etc::SourceList={sources}",
        "-o", "Dir::Etc::SourceParts=/dev/null",
        "-o", f"Dir::State::Lists={work}/lists",
        "-o", "APT::Sandbox::User=",
    ]
    try:
        for command in (["update"], ["source", "--download-only", "qemu"]):
            subprocess.run(["apt-get", "-q", *options, *command], cwd=work, check=True, capture_output=True)
        archives = glob.glob(os.path.join(work, "qemu_*.orig.tar.*"))
        if not archives:
            raise Missing("Debian's source package of qemu holds no qemu_*.orig.tar")
        keep_scripts(archives[0], folder)
    except (OSError, subprocess.CalledProcessError, tarfile.TarError) as e:
        said = getattr(e, "stderr", b"") or b""
        last = said.decode(errors="replace").strip().splitlines()[-1:] or [str(e)]
        raise Missing(f"simpletrace.py cannot be had: {last[0]}") from e
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return script


def deb_src_lines():
    """A deb-src line for each archive of Debian's that this machine takes packages from."""
    told = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)|$(RELEASE)|$(COMPONENT)"],
        capture_output=True, text=True, check=True,
    ).stdout
    lines = set()
    for line in told.splitlines():
        uri, release, component = line.split("|")
        if component == "main" and "debian" in uri:
            lines.add(f"deb-src {uri} {release} main\n")
    return "".join(sorted(lines))


def keep_scripts(archive, folder):
    """scripts/simpletrace.py and the module tracetool that it uses."""
    fresh = folder + ".new"
    shutil.rmtree(fresh, ignore_errors=True)
    with tarfile.open(archive) as tar:
        for member in tar:
            _, _, inner = member.name.partition("/scripts/")
            if not member.isfile() or not (inner == "simpletrace.py" or inner.startswith("tracetool/")):
                continue
            target = os.path.normpath(os.path.join(fresh, inner))
            if not target.startswith(fresh + os.sep):
                continue
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with tar.extractfile(member) as inside, open(target, "wb") as out:
                shutil.copyfileobj(inside, out)
    if not os.path.exists(os.path.join(fresh, "simpletrace.py")):
        raise Missing("Debian's source package of qemu holds no scripts/simpletrace.py")
    os.rename(fresh, folder)
