# SPDX-License-Identifier: MIT
"""Runs analysers of QEMU's simpletrace files, with the interface of QEMU's module of this name.

    import simpletrace

    class Locks(simpletrace.Analyzer2):
        def qemu_mutex_lock(self, mutex, file, line, *, timestamp_ns, **kwargs): ...

    simpletrace.run(Locks())        # SCRIPT [--no-header] TRACE-EVENTS TRACE

Scripts for QEMU 7.2 and later run as they are; the trace is read by Strata, some ten times faster. Analyzer and Analyzer2
differ in how their functions are called; see there. As QEMU's module does, numbers are given as 64 bits without a sign,
strings as bytes, and events in the order of the file.
"""

import inspect
import os
import sys
import tempfile

import strata
from strata import _strata

__all__ = ['Analyzer', 'Analyzer2', 'process', 'run']

dropped_event_id = 0xfffffffffffffffe

# How a function is called; dispatch.c has the same numbers.
_VALUES, _TIME, _TIME_PID, _CATCHALL, _KEYWORDS, _NOTHING = range(6)


class SimpleException(Exception):
    """What is wrong with a trace or the arguments."""


class Arguments:
    """The arguments of an event: pairs of type and name."""

    def __init__(self, pairs):
        self._pairs = tuple(pairs)

    def __iter__(self):
        return iter(self._pairs)

    def __len__(self):
        return len(self._pairs)

    def names(self):
        return [name for _, name in self._pairs]

    def types(self):
        return [type_ for type_, _ in self._pairs]


class Event:
    """An event as it is declared: its name and its arguments."""

    def __init__(self, name, pairs):
        self.name = name
        self.args = Arguments(pairs)

    def __repr__(self):
        return "Event('%s(%s)')" % (self.name, ', '.join('%s %s' % pair for pair in self.args))


class Timestamp(int):
    """A time in ns. QEMU 7.2 passes the time as a tuple of one, later versions as a number: it is both."""

    __slots__ = ()

    def __getitem__(self, i):
        return (int(self),)[i]

    def __iter__(self):
        return iter((int(self),))

    def __len__(self):
        return 1


class Analyzer:
    """An analyser: begin() is called first, then a function for each event, then end().

    The function for an event is the method of its name; without one, catchall(event, record) is called, with the record
    (name, timestamp, pid, argument, …). The arguments of a method are those of the event. It may have one more, in front,
    which is the timestamp in ns, or two, which are timestamp and pid.
    """

    def begin(self):
        """Called before the first event."""

    def catchall(self, event, rec):
        """Called for events without a method."""

    def end(self):
        """Called after the last event."""

    def __enter__(self):
        self.begin()
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        if exc_type is None:
            self.end()
        return False

    def _handler(self, event):
        function = getattr(self, event.name, None)
        if function is None:
            # Most analysers have none of their own.
            plain = getattr(self.catchall, '__func__', None) is Analyzer.catchall
            return self.catchall, _NOTHING if plain else _CATCHALL
        more = len(inspect.getfullargspec(function)[0]) - 1 - len(event.args)
        return function, {1: _TIME, 2: _TIME_PID}.get(more, _VALUES)


class Analyzer2(Analyzer):
    """As Analyzer, with keyword arguments: the functions are called with the event's arguments, and with event, event_id,
    timestamp_ns and pid by these names. They should accept **kwargs."""

    def catchall(self, *rec_args, event, timestamp_ns, pid, event_id, **kwargs):
        """Called for events without a method."""

    def _handler(self, event):
        function = getattr(self, event.name, None)
        if function is None:
            plain = getattr(self.catchall, '__func__', None) is Analyzer2.catchall
            return self.catchall, _NOTHING if plain else _KEYWORDS
        return function, _KEYWORDS


def _look_up(analyzer):
    def look_up(event_class):
        if event_class is None:
            event, name = Event('Dropped_Event', [('uint64_t', 'num_events_dropped')]), 'dropped'
        else:
            event = Event(event_class.name, zip(event_class.types, event_class.fields))
            name = event.name
        function, style = analyzer._handler(event)
        return function, event, name, style

    return look_up


class _Path:
    """A path to what is given as a path, a file, or a list of declared events."""

    def __init__(self, what):
        self._temporary = None
        if isinstance(what, (str, os.PathLike)):
            self.path = os.fspath(what)
        elif isinstance(what, list):
            lines = ('%s(%s) ""\n' % (event.name, ', '.join('%s %s' % pair for pair in event.args) or 'void')
                     for event in what)
            self._keep(''.join(lines).encode())
        elif self._is_whole_file(what):
            self.path = what.name
        else:
            data = what.read()
            self._keep(data.encode() if isinstance(data, str) else data)

    @staticmethod
    def _is_whole_file(file):
        name = getattr(file, 'name', None)
        try:
            return isinstance(name, str) and os.path.samestat(os.stat(name), os.fstat(file.fileno())) and file.tell() == 0
        except (OSError, ValueError, AttributeError):
            return False

    def _keep(self, data):
        self._temporary = tempfile.NamedTemporaryFile(prefix='strata-')
        self._temporary.write(data)
        self._temporary.flush()
        self.path = self._temporary.name

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        if self._temporary:
            self._temporary.close()


def process(events, log, analyzer, read_header=True):
    """Calls the functions of an analyser for each event of a trace.

    events       the declarations: a path, an open file, or a list of events with `name` and `args`
    log          the trace: a path, or an open file
    analyzer     an Analyzer
    read_header  False: the trace has no header, and numbers of events are places in the declarations
    """
    with _Path(events) as declarations, _Path(log) as trace:
        try:
            opened = strata.open(trace, declarations=declarations, no_header=not read_header, file_order=True)
        except strata.Error as error:
            raise SimpleException(str(error)) from None
        with opened:
            analyzer.begin()
            try:
                _strata._dispatch(opened, _look_up(analyzer), Timestamp)
            except strata.Error as error:
                raise SimpleException(str(error)) from None
            analyzer.end()


def run(analyzer):
    """Runs an analyser on the files that the command line names: [--no-header] TRACE-EVENTS TRACE."""
    *options, events, log = sys.argv[1:] if len(sys.argv) > 2 else [None, None, None]
    if options not in ([], ['--no-header']):
        raise SimpleException('usage: %s [--no-header] <trace-events> <trace-file>\n' % sys.argv[0])
    process(events, log, analyzer, read_header=not options)


if __name__ == '__main__':
    class _Formatter(Analyzer):
        def __init__(self):
            self._last = None

        def catchall(self, event, rec):
            last, self._last = self._last, rec[1]
            fields = [event.name, '%0.3f' % ((rec[1] - (rec[1] if last is None else last)) / 1000.0), 'pid=%d' % rec[2]]
            for (_, name), value in zip(event.args, rec[3:]):
                fields.append('%s=%s' % (name, value) if isinstance(value, bytes) else '%s=0x%x' % (name, value))
            print(' '.join(fields))

    try:
        run(_Formatter())
    except SimpleException as error:
        sys.stderr.write(str(error) + '\n')
        sys.exit(1)
