#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The module `simpletrace`: what QEMU's module of that name does."""

import contextlib
import io
import lzma
import os
import struct
import subprocess
import sys
import tempfile
import unittest

import simpletrace

DATA = os.environ['DATA']
QEMU_EVENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools/qemu-events')

DECLARED = '''
# of two kinds
disk_read(void *disk, uint64_t sector, const char *name, int flags) "%p %"PRIu64" %s %d"
disk_done(void *disk, int ret) "%p %d"
nothing(void) ""
'''
HEADER = struct.pack('=QQQ', 0xffffffffffffffff, 0xf2b177cb0aa429b4, 4)
DROPPED = 0xfffffffffffffffe


def mapping(number, name):
    return struct.pack('=QQL', 0, number, len(name)) + name


def record(number, time, pid, *values):
    payload = b''.join(struct.pack('=L', len(v)) + v if isinstance(v, bytes) else struct.pack('=Q', v) for v in values)
    return struct.pack('=QQQII', 1, number, time, 24 + len(payload), pid) + payload


MINUS = (1 << 64) - 5
# The second record is earlier than the first: the order is that of the file.
TRACE = (HEADER + mapping(0, b'disk_read') + mapping(1, b'disk_done') + mapping(2, b'nothing') +
         record(0, 2000, 7, 0xffff800012345678, 8, b'a\xffb', MINUS) + record(1, 1000, 8, 0x10, MINUS) + record(2, 3000, 9) +
         record(DROPPED, 4000, 10, 17))


class Files(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.events = self.write('trace-events', DECLARED.encode())
        self.trace = self.write('trace', TRACE)

    def write(self, name, data):
        path = os.path.join(self.directory.name, name)
        with open(path, 'wb') as file:
            file.write(data)
        return path


class Order(Files):
    """Functions with all kinds of arguments."""

    def test_catchall(self):
        seen = []

        class All(simpletrace.Analyzer):
            def begin(self):
                seen.append('begin')

            def catchall(self, event, rec):
                seen.append((event.name, len(event.args), event.args.names(), rec[1:]))

            def end(self):
                seen.append('end')

        simpletrace.process(self.events, self.trace, All())
        self.assertEqual(seen, [
            'begin',
            ('disk_read', 4, ['disk', 'sector', 'name', 'flags'], (2000, 7, 0xffff800012345678, 8, b'a\xffb', MINUS)),
            ('disk_done', 2, ['disk', 'ret'], (1000, 8, 0x10, MINUS)),
            ('nothing', 0, [], (3000, 9)),
            ('Dropped_Event', 1, ['num_events_dropped'], (4000, 10, 17)),
            'end'])

    def test_arguments(self):
        seen = []

        class Some(simpletrace.Analyzer):
            def disk_read(self, disk, sector, name, flags):
                seen.append((disk, sector, name, flags))

            def disk_done(self, timestamp, disk, ret):
                # As QEMU 7.2 and as later versions pass it.
                seen.append((timestamp, timestamp[0], timestamp + 1, disk, ret))

            def nothing(self, timestamp, pid):
                seen.append((timestamp, pid))

        simpletrace.process(self.events, self.trace, Some())
        self.assertEqual(seen, [(0xffff800012345678, 8, b'a\xffb', MINUS), (1000, 1000, 1001, 0x10, MINUS), (3000, 9)])

    def test_keywords(self):
        seen = []

        class Two(simpletrace.Analyzer2):
            def disk_done(self, disk, ret, *, timestamp_ns, pid, **kwargs):
                seen.append((disk, ret, timestamp_ns, pid, sorted(kwargs)))

            def catchall(self, *rec_args, event, timestamp_ns, pid, event_id):
                seen.append((event.name, timestamp_ns, pid, event_id, rec_args))

        simpletrace.process(self.events, self.trace, Two())
        self.assertEqual(seen, [('disk_read', 2000, 7, 'disk_read', (0xffff800012345678, 8, b'a\xffb', MINUS)),
                                (0x10, MINUS, 1000, 8, ['event', 'event_id']),
                                ('nothing', 3000, 9, 'nothing', ()),
                                ('Dropped_Event', 4000, 10, 'dropped', (17,))])

    def test_ways_to_give_files(self):
        class Count(simpletrace.Analyzer):
            n = 0

            def catchall(self, event, rec):
                self.n += 1

        class Declared:
            def __init__(self, name, args):
                self.name, self.args = name, args

        declared = [Declared('disk_read', [('void *', 'disk'), ('uint64_t', 'sector'), ('const char *', 'name'),
                                           ('int', 'flags')]),
                    Declared('disk_done', [('void *', 'disk'), ('int', 'ret')]), Declared('nothing', [])]
        with open(self.events) as events, open(self.trace, 'rb') as trace:
            for e, t in ((events, trace), (self.events, io.BytesIO(TRACE)), (declared, self.trace)):
                count = Count()
                simpletrace.process(e, t, count)
                self.assertEqual(count.n, 4)

    def test_no_header(self):
        seen = []

        class All(simpletrace.Analyzer):
            def catchall(self, event, rec):
                seen.append(event.name)

        path = self.write('headless', record(1, 10, 1, 2, 3) + record(2, 11, 1))
        simpletrace.process(self.events, path, All(), read_header=False)
        self.assertEqual(seen, ['disk_done', 'nothing'])

    def test_exceptions_of_functions(self):
        class Bad(simpletrace.Analyzer):
            def nothing(self):
                raise RuntimeError('stop')

            def end(self):
                raise AssertionError('not the end')

        with self.assertRaisesRegex(RuntimeError, 'stop'):
            simpletrace.process(self.events, self.trace, Bad())

    def test_bad_files(self):
        with self.assertRaises(simpletrace.SimpleException):
            simpletrace.process(self.events, self.events, simpletrace.Analyzer())
        with self.assertRaises(simpletrace.SimpleException):
            path = self.write('cut', TRACE[:-4])
            simpletrace.process(self.events, path, simpletrace.Analyzer())
        with self.assertRaises(FileNotFoundError):
            simpletrace.process(self.events, '/nonexistent', simpletrace.Analyzer())


class Boot(Files):
    def test_a_real_boot(self):
        """As a program, the module prints what QEMU's does."""
        declared = os.path.join(self.directory.name, 'declared')
        made = subprocess.run([QEMU_EVENTS, declared], stderr=subprocess.PIPE, text=True)
        if made.returncode == 77:
            self.skipTest(made.stderr)
        self.assertEqual(made.returncode, 0, made.stderr)
        trace = self.write('boot', lzma.open(DATA + '/qemu/trace.simpletrace.xz').read())
        want = lzma.open(DATA + '/qemu/simpletrace.txt.xz').read()
        got = subprocess.run([sys.executable, simpletrace.__file__, declared, trace], stdout=subprocess.PIPE, check=True)
        self.assertTrue(got.stdout == want)

    def test_usage(self):
        got = subprocess.run([sys.executable, simpletrace.__file__, '--headless', 'a', 'b'], stderr=subprocess.PIPE)
        self.assertEqual(got.returncode, 1)
        self.assertIn(b'usage: ', got.stderr)


if __name__ == '__main__':
    unittest.main(verbosity=1)
