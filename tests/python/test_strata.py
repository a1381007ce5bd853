#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The module `strata`, against what `strata report -f json` prints of the same traces."""

import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import unittest
import warnings
import zipfile

import strata

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../lib')

from captures import DATA, report, unpack, unpack_tar, vm, work, xen  # noqa: E402

BIN = os.environ['STRATA_BIN']
CPU_HZ = 2400000000


def as_json(value):
    """A value of the module as `strata report` has it in JSON."""
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, str):
        return value.encode('utf-8', 'surrogateescape').decode('utf-8', 'replace')
    return value


class Values(unittest.TestCase):
    def compare(self, path, *options, **arguments):
        expected = report(path, *options)
        with strata.open(path, losses=True, **arguments) as trace:
            items = list(trace)
        self.assertEqual(len(items), len(expected))
        n_values = 0
        for item, want in zip(items, expected):
            self.assertEqual(item.layer, want['layer'])
            if isinstance(item, strata.Loss):
                self.assertEqual(item.lost, want['lost'])
                continue
            self.assertEqual(item.name, want['event'])
            self.assertEqual(item.group, want.get('group', ''))
            self.assertEqual(item.time, want.get('time_ns', want.get('ticks')))
            self.assertEqual(item.cpu, want.get('cpu', -1))
            self.assertEqual(item.pid, want.get('pid', -1))
            self.assertEqual(item.time_error, want.get('error_ns', 0))
            for field, value in want['fields'].items():
                got = as_json(item[field])
                if isinstance(got, bytes):
                    continue # in JSON as a text of its own
                if isinstance(got, float) and not isinstance(value, float):
                    continue # not a number there
                self.assertEqual(got, value, (item, field))
                n_values += 1
        return n_values

    def test_xen(self):
        self.assertGreater(self.compare(xen()), 100000)

    def test_several_layers(self):
        self.assertGreater(self.compare(vm()), 10000)

    def test_selection(self):
        n = self.compare(vm(), '-e', 'sched:*,-sched_stat_*', '--layer', 'host', '--cpu', '1', '--from', '+0.5',
                         events='sched:*,-sched_stat_*', layers='host', cpus=1, since='+0.5')
        self.assertGreater(n, 100)
        self.compare(vm(), '-e', 'block_rq_*', '-e', 'blk_*', '--limit', '70', events=['block_rq_*', 'blk_*'], limit=70)

    def test_limit(self):
        for limit, n in ((0, 0), (1, 1), (None, 6)):
            with strata.open(os.path.join(DATA, 'ftrace/made/v7.dat'), limit=limit) as trace:
                self.assertEqual(sum(1 for _ in trace), n)

    def test_names(self):
        named = 0
        with strata.open(xen(), names=True) as trace:
            for event, want in zip(trace, (row for row in report(xen()) if 'event' in row)):
                for field, name in want.get('names', {}).items():
                    if isinstance(event[field], str):
                        self.assertEqual(event[field], name)
                        named += 1
        self.assertGreater(named, 1000)

    def test_time_of_ticks(self):
        with strata.open(xen(), cpu_hz=CPU_HZ, limit=1000) as trace, strata.open(xen(), limit=1000) as ticks:
            for event, tick in zip(trace, ticks):
                self.assertEqual(event.time, tick.time * 1000000000 // CPU_HZ)

    def test_text(self):
        with strata.open(vm(), events='sched_switch', layers='guest', limit=3) as trace:
            next(trace)
            self.assertIn('prev_comm=', trace.text())


class Batches(unittest.TestCase):
    def test_the_same_as_events(self):
        events = {}
        with strata.open(vm()) as trace:
            for event in trace:
                events.setdefault((event.layer, event.name), []).append(event)
        columns = {}
        with strata.open(vm()) as trace:
            for batch in trace.batches(size=1000):
                self.assertLessEqual(len(batch), 1000)
                of = columns.setdefault((batch.layer, batch.name), {})
                for name in batch.keys():
                    of.setdefault(name, []).extend(batch[name])
            self.assertEqual(trace.losses, 0)
        self.assertEqual(set(columns), set(events))
        for key, rows in events.items():
            self.assertEqual(columns[key]['time'], [row.time for row in rows])
            self.assertEqual(columns[key]['time_error'], [row.time_error for row in rows])
            for field in rows[0].fields:
                self.assertEqual(columns[key][field], [row[field] for row in rows], (key, field))

    def test_absent(self):
        """Of variants, some events do not have a field."""
        seen = 0
        with strata.open(unpack('xen/xen-4.22-all.raw.xz')) as events:
            absent = {}
            for event in events:
                for field in event.fields:
                    absent.setdefault((event.name, field), []).append(event[field] is None)
        with strata.open(unpack('xen/xen-4.22-all.raw.xz')) as trace:
            for batch in trace.batches(size=1 << 20):
                for field in batch.event_class.fields:
                    valid = batch.valid(field)
                    if valid is not None:
                        seen += 1
                        self.assertEqual(len(valid), len(batch))
        self.assertEqual(seen > 0, any(any(a) and not all(a) for a in absent.values()) or
                         any(all(a) for a in absent.values()))

    def test_buffers(self):
        with strata.open(vm(), events='sched_switch', layers='host') as trace:
            batch = next(trace.batches())
        view = memoryview(batch['time'])
        self.assertEqual((view.format, view.itemsize, view.readonly), ('q', 8, True))
        self.assertEqual(view.tolist(), list(batch['time']))
        with self.assertRaises(KeyError):
            batch['nothing']
        with self.assertRaises(TypeError):
            view[0] = 1

    def test_slices(self):
        with strata.open(vm(), events='sched_switch', layers='host') as trace:
            batch = next(trace.batches())
        for column in ('time', 'cpu', 'prev_pid'):
            whole = list(batch[column])
            for part in (slice(3), slice(-2, None), slice(None, None, -3), slice(5, 5), slice(2, 10**9)):
                self.assertEqual(batch[column][part], whole[part])
            self.assertEqual(batch[column][-1], whole[-1])
            for wrong in (len(whole), -len(whole) - 1, 2**70):
                with self.assertRaises(IndexError):
                    batch[column][wrong]
            with self.assertRaises(TypeError):
                batch[column]['0']

    def test_numpy(self):
        try:
            import numpy
        except ImportError:
            self.skipTest('numpy is not installed')
        with strata.open(vm(), events='sched_switch', layers='host') as trace:
            batch = next(trace.batches(size=1 << 20))
        pids = numpy.asarray(batch['next_pid'])
        self.assertEqual(pids.dtype, numpy.int64)
        self.assertEqual(pids.tolist(), list(batch['next_pid']))
        self.assertTrue((numpy.diff(numpy.asarray(batch['time'])) >= 0).all())

    def test_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest('pandas is not installed')
        frame = strata.frame(vm(), 'sched_switch', layers='host')
        want = report(vm(), '-e', 'sched_switch', '--layer', 'host')
        self.assertEqual(len(frame), len(want))
        self.assertEqual(list(frame['next_comm']), [row['fields']['next_comm'] for row in want])
        self.assertEqual(list(frame['time']), [row['time_ns'] for row in want])
        self.assertEqual(frame.attrs['lost'], 0)
        with self.assertWarnsRegex(UserWarning, "no event matches 'no_such_event'"):
            self.assertEqual(len(strata.frame(vm(), 'no_such_event')), 0)
        # Of several events: their names, and integers of 64 bits as they are.
        kvm = unpack_tar('kvm/exits.tar.xz')
        frame = strata.frame(kvm, 'kvm_e*')
        want = [row for row in report(kvm, '-e', 'kvm_e*') if 'event' in row]
        self.assertEqual(list(frame['event']), [row['event'] for row in want])
        addresses = [None if pandas.isna(value) else value for value in frame['guest_rip']]
        self.assertEqual(addresses, [row['fields'].get('guest_rip') for row in want])
        self.assertIn(str(frame['guest_rip'].dtype), ('Int64', 'UInt64'))
        self.assertIn(None, addresses)


def analysis(*arguments):
    return json.loads(subprocess.run([BIN + '/strata', *arguments, '-f', 'json', vm()],
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout)


class Tables(unittest.TestCase):
    def test_spans(self):
        """As many as `strata latency` counts, and as long."""
        rule = 'blk: block_rq_issue(sector) -> block_rq_complete(sector)'
        row = analysis('latency', '--pair', rule)['rows'][0]
        spans = strata.spans(vm(), pairs=rule)
        whole = [i for i, cut in enumerate(spans['cut']) if cut is None]
        self.assertEqual(len(whole), row['n'])
        self.assertEqual(sum(spans['duration_ns'][i] for i in whole), row['sum'])
        for i in range(len(spans)):
            self.assertEqual(spans.valid('end_ns')[i], spans['cut'][i] is None)
            if spans['cut'][i] is None:
                self.assertEqual(spans['end_ns'][i] - spans['begin_ns'][i], spans['duration_ns'][i])
        built_in = strata.spans(vm())
        for row in analysis('latency')['rows']:
            n = sum(1 for name, cut in zip(built_in['name'], built_in['cut']) if name == row['key']['name'] and not cut)
            self.assertEqual(n, row['n'], row['key'])

    def test_states(self):
        states = strata.states(vm())
        last = {}
        for kind, source, number, begin, end in zip(states['kind'], states['source'], states['id'], states['begin_ns'],
                                                    states['end_ns']):
            self.assertLessEqual(begin, end)
            self.assertGreaterEqual(begin, last.get((kind, source, number), begin))
            last[kind, source, number] = end
        self.assertGreater(len(last), 10)

    def test_others(self):
        self.assertEqual(strata.table(xen(), 'loss')['lost'][0], 188650)
        self.assertEqual(len(strata.table(vm(), 'source')), 3)
        with self.assertRaisesRegex(ValueError, 'limit is negative'):
            strata.open(vm(), limit=-1)
        with self.assertRaises(ValueError):
            strata.table(vm(), 'event')
        with self.assertRaises(ValueError):
            strata.table(vm(), 'guest')
        with self.assertRaisesRegex(strata.Error, 'column'):
            strata.spans(vm(), pairs='a ->')
        with self.assertRaises(FileNotFoundError):
            strata.states('/nonexistent')


class Losses(unittest.TestCase):
    def test_counted(self):
        with strata.open(xen()) as trace:
            self.assertTrue(all(isinstance(item, strata.Event) for item in trace))
            want = [row for row in report(xen()) if 'lost' in row]
            self.assertGreater(len(want), 0)
            self.assertEqual(trace.losses, len(want))
            self.assertEqual(trace.lost, sum(row['lost'] for row in want))
        with strata.open(xen()) as trace:
            for _ in trace.batches():
                pass
            self.assertEqual(trace.losses, len(want))


    def test_beyond_what_is_read(self):
        line = 'a-7 [00{cpu}] ..... {time}.000000: sys_exit: NR 1 = 1\n'
        with tempfile.NamedTemporaryFile('w', suffix='.txt') as file:
            file.write(''.join(line.format(cpu=cpu, time=time) for time in range(1, 20) for cpu in range(2) if cpu == 0 or time < 5))
            file.write('CPU:1 [LOST 9 EVENTS]\n' + line.format(cpu=1, time=21))
            file.flush()
            want = report(file.name, '--from', '10', '--until', '12')
            with strata.open(file.name, since='10', until='12', losses=True) as trace:
                got = [(item.cpu, item.time) for item in trace]
        self.assertEqual(got, [(item['cpu'], item['time_ns']) for item in want])
        self.assertEqual(got[-1], (1, 12000000000))


class Errors(unittest.TestCase):
    def test_no_file(self):
        with self.assertRaises(FileNotFoundError):
            strata.open('/nonexistent/trace')

    def test_no_trace(self):
        with self.assertRaisesRegex(strata.Error, 'test_strata.py'):
            strata.open(__file__)

    def test_arguments(self):
        for arguments in ({'cpus': 'x'}, {'since': 'yesterday'}, {'layers': 'cellar'}):
            with self.assertRaises(ValueError):
                strata.open(xen(), **arguments)
        with self.assertRaises(TypeError):
            strata.open(17)
        with self.assertRaises(TypeError):
            strata.open(xen(), events=[1])
        with self.assertRaises(TypeError):
            strata.open(xen(), limit='1')
        with self.assertRaises(OverflowError):
            strata.open(xen(), limit=2**70)
        with self.assertRaises(TypeError):
            strata.Event()

    def test_damaged(self):
        path = os.path.join(work.name, 'damaged')
        with open(xen(), 'rb') as whole, open(path, 'wb') as file:
            file.write(whole.read()[:200001])
        n = 0
        with self.assertRaisesRegex(strata.Error, 'the file ends within'):
            for _ in strata.open(path):
                n += 1
        self.assertGreater(n, 1000)
        n = 0
        with self.assertRaises(strata.Error):
            for batch in strata.open(path).batches():
                n += len(batch)
        self.assertGreaterEqual(sum(1 for _ in strata.open(path, keep_going=True)), n)

    def test_advice(self):
        """Messages name arguments, not the commands' options."""
        path = os.path.join(work.name, 'advice')
        with open(xen(), 'rb') as whole, open(path, 'wb') as file:
            data = bytearray(whole.read())
            data[100000:100400] = b'\xff' * 400
            file.write(data)
        for read in lambda: list(strata.open(path)), lambda: strata.table(path, 'loss'):
            with self.assertRaisesRegex(strata.Error, 'keep_going=True') as raised:
                read()
            self.assertNotIn('--', str(raised.exception))
        self.assertGreater(len(list(strata.open(path, keep_going=True))), 1000)

    def test_closed(self):
        trace = strata.open(xen())
        batches = trace.batches()
        trace.close()
        trace.close()
        for use in (lambda: next(trace), lambda: next(batches), trace.text, trace.batches, lambda: trace.notes):
            with self.assertRaises(ValueError):
                use()

    def test_unmatched(self):
        with strata.open(xen(), events='no_such_event,hypercall') as trace:
            with self.assertWarnsRegex(UserWarning, "no event that was read matches 'no_such_event'"):
                for _ in trace:
                    pass
            self.assertEqual(trace.unmatched, ['no_such_event'])
            with warnings.catch_warnings():
                warnings.simplefilter('error')  # once is enough
                self.assertEqual(list(trace), [])
        with strata.open(xen(), events='no_such_event') as trace, warnings.catch_warnings():
            warnings.simplefilter('error')
            with self.assertRaises(UserWarning):
                list(trace)


class Lifetime(unittest.TestCase):
    def test_outlives_the_trace(self):
        with strata.open(vm(), events='sched_switch', limit=1000) as trace:
            events = list(trace)
        del trace
        gc.collect()
        self.assertTrue(all(isinstance(event['prev_comm'], str) for event in events))
        self.assertEqual(events[0].event_class.fields, events[0].fields)
        self.assertIn('prev_pid', events[0])
        self.assertNotIn('nothing', events[0])
        self.assertEqual(events[0].get('nothing', 5), 5)
        self.assertEqual(events[0].as_dict()['prev_pid'], events[0]['prev_pid'])
        with self.assertRaises(KeyError):
            events[0]['nothing']
        self.assertIn('sched_switch', repr(events[0]))

    def test_memory(self):
        """What is read is freed: the largest size of the process stays that of the first rounds."""
        def once():
            with strata.open(xen()) as trace:
                for _ in trace:
                    pass
            for batch in strata.open(xen()).batches(size=5000):
                memoryview(batch['time'])
        for _ in range(3):
            once()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(6):
            once()
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 4096)


class Wheel(unittest.TestCase):
    def test_installs(self):
        """What is in the wheel works by itself."""
        build = os.path.dirname(BIN)
        tool = os.path.join(os.path.dirname(DATA), '..', 'tools', 'python-wheel')
        paths = [subprocess.run([tool, build, os.path.join(work.name, name)], stdout=subprocess.PIPE, check=True, text=True)
                 .stdout.strip() for name in ('one', 'two')]
        self.assertEqual(*(open(path, 'rb').read() for path in paths))
        with zipfile.ZipFile(paths[0]) as wheel:
            wheel.extractall(work.name + '/installed')
        environment = {name: value for name, value in os.environ.items() if not name.startswith('LD_')}
        environment['PYTHONPATH'] = work.name + '/installed'
        program = 'import strata, simpletrace, sys; print(sum(1 for _ in strata.open(sys.argv[1])), strata.__file__)'
        n, path = subprocess.run([sys.executable, '-c', program, xen()], env=environment, stdout=subprocess.PIPE, check=True,
                                 text=True).stdout.split()
        self.assertEqual(int(n), 107202)
        self.assertTrue(path.startswith(work.name))


if __name__ == '__main__':
    with work:
        unittest.main(verbosity=1)
