#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""same_times.py LIBSTRATA_READ: an event has the same time, and the same error, wherever it is shown.

The trace has three clocks, of which the guest's is tightened by causes and effects."""

import collections
import csv
import ctypes
import json
import os
import signal
import sqlite3
import subprocess
import sys
import urllib.request

import strata

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/lib')

from captures import STRATA, vm, work  # noqa: E402

NAMES = ['block_rq_issue', 'block_rq_complete', 'virtio_blk_handle_read', 'virtio_blk_req_complete']
EVENTS = 'guest:block_rq_issue,guest:block_rq_complete,virtio_blk_handle_read,virtio_blk_req_complete'
N = 50  # of each name
os.environ['XDG_CACHE_HOME'] = os.path.join(work.name, 'cache')


def run(*arguments):
    return subprocess.run([STRATA, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True).stdout


def collect(events):
    """The first N (time, error) of each name, in order."""
    found = collections.defaultdict(list)
    for name, time, error in events:
        if name in NAMES and len(found[name]) < N:
            found[name].append((int(time), None if error is None else int(error)))
    return found


def of_report(*options):
    return collect((event['event'], event['time_ns'], event.get('error_ns'))
                   for event in map(json.loads, run('report', '-f', 'json', '-e', EVENTS, *options, vm()).splitlines()))


def of_csv(*arguments):
    return collect((row['event'], row['time'].replace('.', ''), row['error_ns'])
                   for row in csv.DictReader(run(*arguments, '-e', EVENTS, vm()).splitlines()))


def of_sql():
    rows = run('sql', '--format', 'csv', '-c', f"SELECT event, time_ns, error_ns FROM event WHERE event IN {tuple(NAMES)}"
               " AND layer IN ('guest', 'vmm') ORDER BY id", vm())
    return collect(list(csv.reader(rows.splitlines()))[1:])


def of_sqlite():
    path = os.path.join(work.name, 'vm.sqlite')
    run('export', '--to', 'sqlite', '-o', path, vm())
    with sqlite3.connect(path) as database:
        return collect(database.execute("SELECT event, time_ns, error_ns FROM event"
                                        " WHERE layer IN ('guest', 'vmm') ORDER BY id").fetchall())


def of_ctf():
    path = os.path.join(work.name, 'vm.ctf')
    run('export', '--to', 'ctf', '-e', EVENTS, '-o', path, vm())
    return collect((event['event'], event['time_ns'], None)
                   for event in map(json.loads, run('report', '-f', 'json', path).splitlines()))


def of_server():
    with subprocess.Popen([STRATA, 'serve', vm()], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            address = process.stdout.readline().strip()

            def get(what):
                with urllib.request.urlopen(f'{address}api/{what}', timeout=60) as answer:
                    return json.load(answer)
            begin = int(get('trace')['begin_ns'])
            events = get(f'events?from=0&limit=1000&filter={EVENTS}')['events']
            return collect((event['name'].split(':')[-1], begin + event['time'], event['error_ns'])
                           for event in events if event.get('layer') != 'host')
        finally:
            process.send_signal(signal.SIGTERM)


def of_python():
    with strata.open(vm(), EVENTS) as trace:
        return collect((event.name, event.time, event.time_error) for event in trace)


class Item(ctypes.Structure):
    _fields_ = [('kind', ctypes.c_int), ('cpu', ctypes.c_int32), ('pid', ctypes.c_int32), ('vcpu', ctypes.c_int32),
                ('time', ctypes.c_int64), ('time_error_ns', ctypes.c_uint32), ('source', ctypes.c_void_p),
                ('event_class', ctypes.POINTER(ctypes.c_char_p))]


def of_library():
    library = ctypes.CDLL(sys.argv[1])
    library.strata_reader_new.restype = ctypes.c_void_p
    library.strata_reader_item.restype = ctypes.POINTER(Item)
    reader = ctypes.c_void_p(library.strata_reader_new())
    found = []

    def call(name, *arguments):
        return getattr(library, 'strata_reader_' + name)(reader, *arguments)
    assert call('add', vm().encode()) == call('add_filter', EVENTS.encode()) == 0
    while call('next') > 0:
        item = call('item').contents
        if item.kind == 1:
            found.append((item.event_class[0].decode(), item.time, item.time_error_ns))
    call('free')
    return collect(found)


def compare(where, found, wanted, has_errors=True):
    for name in NAMES:
        want = wanted[name] if has_errors else [(time, None) for time, _ in wanted[name]]
        assert found[name] == want, (where, name, [pair for pair in zip(found[name], want) if pair[0] != pair[1]][:3],
                                     len(found[name]), len(want))


def main():
    wanted = of_report()
    assert all(len(wanted[name]) == N for name in NAMES), {name: len(wanted[name]) for name in NAMES}
    stated = of_report('--no-causal')
    assert all(a != b for a, b in zip(wanted['block_rq_issue'], stated['block_rq_issue']))
    compare('report -f csv', of_csv('report', '-f', 'csv'), wanted)
    compare('export --to csv', of_csv('export', '--to', 'csv'), wanted)
    compare('sql', of_sql(), wanted)
    compare('export --to sqlite', of_sqlite(), wanted)
    compare('export --to ctf', of_ctf(), wanted, False)
    compare('the page', of_server(), wanted)
    compare('Python', of_python(), wanted)
    compare('libstrata-read', of_library(), wanted)
    # One source alone, and a part of the trace.
    alone = of_report('--source', 'guest', '--host-time')
    assert [[time for time, _ in alone[name]] for name in NAMES[:2]] == [[time for time, _ in wanted[name]] for name in NAMES[:2]]
    begin, end = wanted['block_rq_issue'][10][0], wanted['block_rq_issue'][20][0]
    window = [f'{time // 10 ** 9}.{time % 10 ** 9:09}' for time in (begin, end)]
    part = of_report('--from', window[0], '--until', window[1])['block_rq_issue']
    assert part == [pair for pair in wanted['block_rq_issue'] if begin <= pair[0] <= end], part
    # The slowest requests begin and end at events that the others show.
    slowest = json.loads(run('io', '-f', 'json', '--layer', 'guest,vmm', '--slowest', str(N), vm()))['slowest']
    times = {event['time_ns'] for event in map(json.loads, run('report', '-f', 'json', vm()).splitlines())}
    assert len(slowest) == N
    for span in slowest:
        assert span['begin_ns'] in times and (span.get('open') or span['end_ns'] in times), span
    print(f'the same {N} times of {len(NAMES)} events everywhere')


main()
