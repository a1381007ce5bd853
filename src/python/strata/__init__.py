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

from ._strata import (Batch, Batches, Column, Error, Event, EventClass, Loss, Trace, __version__, open)

__all__ = ['Batch', 'Batches', 'Column', 'Error', 'Event', 'EventClass', 'Loss', 'Trace', 'frame', 'open']


def frame(path, event, **options):
    """The events called EVENT of a trace as a pandas.DataFrame, a column per field; the options are those of open().

    Requires pandas. Times are in the column `time`, in ns, and losses in the attribute `attrs['lost']`.
    """
    import pandas

    with open(path, events=event, **options) as trace:
        frames = [_frame_of(batch, pandas) for batch in trace.batches(size=1 << 20)]
        whole = pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()
        if len(frames) > 1:
            whole = whole.sort_values('time', kind='stable', ignore_index=True)
        whole.attrs['lost'] = trace.lost
        return whole


def _frame_of(batch, pandas):
    columns = {}
    for name in batch.keys():
        values = pandas.Series(memoryview(batch[name]) if isinstance(batch[name], Column) else batch[name])
        valid = batch.valid(name)
        columns[name] = values if valid is None else values.where(pandas.Series(memoryview(valid)))
    return pandas.DataFrame(columns)
