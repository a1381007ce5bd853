# SPDX-License-Identifier: MIT
"""The traces in tests/data, and what `strata report` prints of them. $DATA and $STRATA_BIN are those of the test."""

import json
import lzma
import os
import struct
import subprocess
import tarfile
import tempfile

DATA = os.environ['DATA']
STRATA = os.environ['STRATA_BIN'] + '/strata'
# Columns of all events: a field of that name is exported under another one.
COMMON = ('id', 'time_ns', 'error_ns', 'source', 'cpu', 'pid', 'vcpu')

work = tempfile.TemporaryDirectory()


def unpack(name):
    """The file NAME without its suffix .xz."""
    path = os.path.join(work.name, os.path.basename(name)[:-3])
    if not os.path.exists(path):
        with lzma.open(os.path.join(DATA, name)) as packed, open(path, 'wb') as file:
            file.write(packed.read())
    return path


def unpack_tar(name):
    """The one entry of the archive NAME."""
    directory = os.path.join(work.name, os.path.basename(name))
    if not os.path.exists(directory):
        with tarfile.open(os.path.join(DATA, name)) as tar:
            tar.extractall(directory)
    return os.path.join(directory, os.listdir(directory)[0])


def xen():
    return unpack('xen/xen-4.17-all.raw.xz')


def vm():
    return unpack_tar('io/virtio-blk.tar.xz')


def report(path, *options):
    """The events and losses of the trace, as JSON has them."""
    output = subprocess.run([STRATA, 'report', '-f', 'json', *options, path], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def simpletrace(path, declarations, records):
    """A trace of QEMU's: RECORDS of (name, values), and the file that declares them."""
    names = sorted({name for name, _ in records})
    with open(path, 'wb') as out:
        out.write(struct.pack('=QQQ', 0xffffffffffffffff, 0xf2b177cb0aa429b4, 4))
        for i, name in enumerate(names):
            out.write(struct.pack('=QQL', 0, i, len(name)) + name.encode())
        for n, (name, values) in enumerate(records):
            payload = b''.join(struct.pack('=L', len(v)) + v if isinstance(v, bytes) else struct.pack('=Q', v)
                               for v in values)
            out.write(struct.pack('=QQQII', 1, names.index(name), 1000 + n, 24 + len(payload), 5) + payload)
    with open(path + '.events', 'w') as out:
        out.write(declarations)
    return path, '--trace-events', path + '.events'
