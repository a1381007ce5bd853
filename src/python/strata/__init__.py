# SPDX-License-Identifier: MIT
"""Reads traces of virtual machines: of QEMU, Xen, Linux guests and their hosts.

    import strata

    with strata.open('vm', events='sched:sched_switch') as trace:
        for event in trace:
            print(event.time, event.cpu, event['prev_comm'], event['next_comm'])
    print(trace.lost, 'events were lost')

Any trace that `strata report` reads, with the same selection. See help(strata.open).

For many events, batches are several times faster, and NumPy reads their columns without a copy:

    for batch in strata.open('vm', events='block_rq_*').batches():
        sectors = numpy.asarray(batch['sector'])
"""

import os
import warnings

from ._strata import (Batch, Batches, Column, Error, Event, EventClass, Loss, Trace, __version__, _table, open)

__all__ = ['Batch', 'Batches', 'Column', 'Error', 'Event', 'EventClass', 'Loss', 'Trace', 'frame', 'open', 'spans', 'states',
           'table']


def _paths(value):
    if value is None:
        return ()
    return tuple(os.fsencode(path) for path in ([value] if isinstance(value, (str, bytes, os.PathLike)) else value))


def table(path, name, *, pairs=(), declarations=None, cpu_hz=0, xen_version=None, cpu_vendor=None, keep_going=False,
          host_time=False, stated_clocks=False):
    """The rows of a table of `strata sql` as one Batch: 'span', 'state', 'loss', 'clock', 'source', 'thread', 'cpu', ….

    pairs: own pairs for 'span', as of `strata latency --pair`; without any, all built-in ones. The other options are those
    of open(). All rows are in memory at a time; a number that is not known is 0, and valid(column) False there.
    """
    if isinstance(pairs, str):
        pairs = (pairs,)
    return _table(name, _paths(path), tuple(pairs), _paths(declarations), cpu_hz, xen_version, cpu_vendor, keep_going,
                  host_time, stated_clocks)


def spans(path, pairs=(), **options):
    """From one event to another: name, begin_ns, end_ns, duration_ns, key, cut (None: complete), …; see table()."""
    return table(path, 'span', pairs=pairs, **options)


def states(path, **options):
    """What threads, CPUs and vCPUs did, and when: kind, id, name, state, begin_ns, end_ns, cpu, …; see table()."""
    return table(path, 'state', **options)


def frame(path, event, **options):
    """The events called EVENT of a trace as a pandas.DataFrame, a column per field; the options are those of open().

    EVENT may be a pattern, as in open(): then the column `event` has the names, and a value is missing where an event does not
    have the field. Integers of a column in which values are missing are of pandas' types Int64 and UInt64.

    Requires pandas. Times are in the column `time`, in ns, and losses in the attribute `attrs['lost']`.
    """
    import pandas

    with open(path, events=event, **options) as trace:
        batches = list(trace.batches(size=1 << 20))
        for pattern in trace.unmatched:
            warnings.warn(f"no event matches '{pattern}'", stacklevel=2)
        lost = trace.lost
    classes = {batch.event_class for batch in batches}
    frames = [_frame_of(batch, pandas, len(classes) > 1) for batch in batches]
    if not isinstance(event, str) or any(c in event for c in '*?[,'):
        for batch, one in zip(batches, frames):
            one.insert(0, 'event', batch.name)
    whole = pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()
    if len(frames) > 1:
        whole = whole.sort_values('time', kind='stable', ignore_index=True)
    whole.attrs['lost'] = lost
    return whole


def _frame_of(batch, pandas, mixed):
    """With MIXED, other frames may lack columns of this one."""
    columns = {}
    for name in batch.keys():
        values = pandas.Series(memoryview(batch[name]) if isinstance(batch[name], Column) else batch[name])
        valid = batch.valid(name)
        if values.dtype.kind in 'iu' and (mixed or valid is not None):
            values = values.astype('UInt64' if values.dtype.kind == 'u' else 'Int64')
        columns[name] = values if valid is None else values.where(pandas.Series(memoryview(valid)).astype(bool))
    return pandas.DataFrame(columns)
