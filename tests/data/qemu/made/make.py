#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the traces beside this file: simpletrace files of every version with what real ones rarely
have. v4.txt and no-header.txt are what QEMU 7.2's simpletrace.py printed of v4.simpletrace and
no-header.simpletrace; v4-as-10.txt what QEMU 10.0's printed of the former, but for the event with
the property `vcpu`, of which that version knows no implicit argument. v0.txt and v2.txt follow the
programs of QEMU 1.0 to 1.6 by reading them, with the name that drops have had since."""
import struct

DROPPED = 0xfffffffffffffffe
EVENTS = ['empty', 'numbers', 'text', 'mixed', 'quiet', 'cpu_thing',
          'a_name_that_is_longer_than_any_copy_of_a_fixed_size_in_the_printer', 'last']


class Trace:
    def __init__(self, order='<', version=4, header=True):
        self.order = order
        self.version = version
        self.data = b''
        if header:
            self.data = self.pack('QQQ', (1 << 64) - 1, 0xf2b177cb0aa429b4, version)
            if version == 0:
                self.data += bytes(40)

    def pack(self, layout, *values):
        return struct.pack(self.order + layout, *values)

    def name(self, number, text):
        self.data += self.pack('QQI', 0, number, len(text)) + text.encode()

    def event(self, number, time, pid, *arguments):
        if self.version == 0:
            words = [a & (1 << 64) - 1 for a in arguments]
            words += [0] * (6 - len(words))
            self.data += self.pack('QQ6Q', number, time, *words)
            return
        payload = b''
        for a in arguments:
            if isinstance(a, bytes):
                payload += self.pack('I', len(a)) + a
            else:
                payload += self.pack('Q', a & (1 << 64) - 1)
        if self.version == 4:
            self.data += self.pack('Q', 1)
        self.data += self.pack('QQII', number, time, 24 + len(payload), pid) + payload

    def write(self, path):
        with open(path, 'wb') as f:
            f.write(self.data)


def fill(trace, first):
    """All that a version with strings can have; the ids count from FIRST."""
    empty, numbers, text, mixed, quiet, cpu, long, last = range(first, first + 8)
    t = 1_000_000_000
    trace.event(empty, t, 0)
    trace.event(numbers, t + 1, 0, -1, 0xffffffff, -5, (1 << 64) - 1, 1, 255, -128)
    trace.event(numbers, t + 999, 4242, 0, 0, 0, 0, 0, 0, 0)
    trace.event(text, t + 12345, 4242, b'plain', b'')
    trace.event(text, t + 12345678, 4242, b"it's", b'say "no"')
    trace.event(text, t + 12345000, 4242, b'it\'s "both"', b'back\\slash')
    trace.event(text, t + 99_999_999 + 12345000, 4243, bytes(range(128)), bytes(range(128, 256)))
    trace.event(text, t + 200_000_000 + 12345000, 4243, b'exactly8', b'sixteen bytes ..')
    trace.event(text, t + 10**12, 4243, b'seventeen bytes..', b'fifteen bytes\xff.')
    trace.event(DROPPED, t + 10**12 + 7, 4243, 17)
    trace.event(mixed, t, 0xffffffff, 0x7fff12345678, b'a', 7, b'bc', -2)
    trace.event(mixed, t - 1, 1, 0, b'x' * 512, 1, b"'" * 512, 0)
    trace.event(mixed, t - 1_000_000, 1, 0, b'x' * 5000, 1, b'\x00' * 1000, 0)
    trace.event(cpu, t, 1, 0x5566778899aa, -3)
    trace.event(long, t, 1, 0x123456789abcdef0, b'long names')
    trace.event(last, (1 << 63) + 5, 1, 1)
    trace.event(last, 3, 1, 0xabcdef)
    trace.event(last, 3, 10, 0x10)
    trace.event(empty, 4, 10)


def version_4(order):
    trace = Trace(order)
    for i, name in enumerate(EVENTS):
        trace.name(10 + i, name)
    trace.name(70000, 'last')
    fill(trace, 10)
    trace.name(10, 'last')  # an id that is given another name
    trace.event(10, 5000, 10, 1)
    trace.event(70000, 6000, 10, 2)
    return trace


version_4('<').write('v4.simpletrace')
version_4('>').write('v4-big-endian.simpletrace')

for version in 2, 3:
    trace = Trace('<', version)
    if version == 3:
        fill(trace, 0)
    else:  # without the disabled event
        trace.event(0, 1000, 0)
        trace.event(3, 2000, 77, 1, b'two', 3, b'', -1)
        trace.event(6, 3500, 77, 9)
        trace.event(DROPPED, 3000, 0, 2)
    trace.write('v%d.simpletrace' % version)

trace = Trace('<', 4, header=False)
fill(trace, 0)
trace.write('no-header.simpletrace')

trace = Trace('<', 0)
trace.event(0, 1000, 0)
trace.event(3, 2000, 0, 0x7f0012345678, 0x55aa, 3, 4, -1)
trace.event(2, 2500, 0, 0x7f0012345678, 0)
trace.event(6, 2400, 0, 5)
trace.event(DROPPED, 3000, 0, 3)
trace.write('v0.simpletrace')
