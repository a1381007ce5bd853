#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""strata export --to parquet, read by DuckDB: every value, what a query skips, names and numbers that are easily lost."""

import glob
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../lib')

import duckdb  # noqa: E402
from captures import COMMON, STRATA, report, simpletrace, vm, work, xen  # noqa: E402

PARTITIONS = ('host', 'day', 'layer', 'event', 'unix_ns')
ROWS = 400000 # of one event: four row groups


def export(name, path, *options, host='h'):
    directory = os.path.join(work.name, name)
    subprocess.run([STRATA, 'export', '--to', 'parquet', '--host-name', host, '-o', directory, *options, path], check=True,
                   stderr=subprocess.PIPE)
    return directory


def rows_of(directory, sql):
    """The rows of a query as DuckDB writes them into JSON."""
    path = os.path.join(work.name, 'rows.json')
    duckdb.query(f"COPY ({sql}) TO '{path}' (FORMAT json)", directory)
    with open(path) as file:
        return [json.loads(line) for line in file]


class Values(unittest.TestCase):
    def check_events(self, name, path, *options):
        """Each event, and each number and text, as `strata report` prints it."""
        directory = export(name, path, *options)
        n = 0
        wanted = {}
        for row in report(path, *options):
            if 'event' in row:
                wanted.setdefault((row['layer'], row['event']), []).append(row)
        found = {}
        for layer, event in wanted:
            found[layer, event] = rows_of(
                directory, f"FROM read_parquet('event/host=*/day=*/layer={layer}/event={event}/*.parquet',"
                           " union_by_name = true, hive_partitioning = true) ORDER BY id")
        for key, events in wanted.items():
            self.assertEqual(len(found[key]), len(events), key)
            for row, event in zip(found[key], events):
                self.assertEqual((row['layer'], row['event']), key)
                self.assertEqual(row['time_ns'], event.get('time_ns', event.get('ticks')))
                self.assertEqual((row['cpu'], row['pid']), (event.get('cpu'), event.get('pid')))
                for field, value in event['fields'].items():
                    column = 'field_' + field if field in COMMON + PARTITIONS else field
                    if isinstance(value, (bool, int)):
                        self.assertEqual(row[column] & (2 ** 64 - 1), int(value) & (2 ** 64 - 1), event)
                        n += 1
                    elif isinstance(value, str) and isinstance(row[column], str):
                        self.assertEqual(row[column], value)
                        n += 1
        return directory, n

    def test_layers(self):
        directory, n = self.check_events('vm', vm())
        self.assertGreater(n, 20000)
        analysis = json.loads(subprocess.run([STRATA, 'latency', '-f', 'json', vm()], stdout=subprocess.PIPE,
                                             stderr=subprocess.DEVNULL, check=True).stdout)
        got = {row['name']: (row['n'], int(row['total'])) for row in rows_of(
            directory, "SELECT name, count(*) AS n, sum(duration_ns) AS total FROM read_parquet('span/**/*.parquet')"
                       " WHERE cut IS NULL GROUP BY name")}
        for row in analysis['rows']:
            self.assertEqual(got[row['key']['name']], (row['n'], row['sum']), row['key'])

    def test_xen(self):
        _, n = self.check_events('xen', xen(), '--cpu-hz', '1G')
        self.assertGreater(n, 100000)


class Made(unittest.TestCase):
    def test_skips_row_groups(self):
        """A time in the first row group: the others are not read."""
        path, *options = simpletrace(work.name + '/many', 'many(uint64_t n)\n', [('many', (i,)) for i in range(ROWS)])
        directory = export('many.parquet', path, *options)
        table = "read_parquet('event/**/*.parquet')"
        self.assertEqual(rows_of(directory, f"SELECT count(*) AS n, sum(n) AS total FROM {table}"),
                         [{'n': ROWS, 'total': ROWS * (ROWS - 1) // 2}])
        groups = rows_of(directory, "SELECT row_group_id, stats_min_value::BIGINT AS low, stats_max_value::BIGINT AS high"
                                    " FROM parquet_metadata('event/**/*.parquet') WHERE path_in_schema = 'time_ns' ORDER BY 1")
        self.assertGreaterEqual(len(groups), 4)
        self.assertTrue(all(a['high'] < b['low'] for a, b in zip(groups, groups[1:])), groups)
        # What is overwritten is not read.
        second, = rows_of(directory, "SELECT min(least(data_page_offset, coalesce(dictionary_page_offset, data_page_offset))) AS at"
                                     " FROM parquet_metadata('event/**/*.parquet') WHERE row_group_id = 1")
        file, = glob.glob(directory + '/event/**/*.parquet', recursive=True)
        with open(file, 'r+b') as data:
            data.seek(-8, os.SEEK_END)
            footer = data.tell() - int.from_bytes(data.read(4), 'little')
            data.seek(second['at'])
            data.write(b'\xa5' * (footer - second['at']))
        time = groups[0]['low'] + 5
        self.assertEqual(rows_of(directory, f"SELECT n FROM {table} WHERE time_ns = {time}"), [{'n': 5}])
        with self.assertRaises(AssertionError):
            rows_of(directory, f"SELECT sum(n) AS n FROM {table}")

    def test_names_and_numbers(self):
        """Fields whose names differ only by case, or that are a column's; numbers from 2^63 on; a host that is not a file name."""
        big, text = 2 ** 64 - 1, b"it's \"so\"\n\xff"
        path, *options = simpletrace(work.name + '/odd', 'odd(uint64_t a, uint64_t A, uint64_t host, const char *Day, uint64_t id)\n',
                                     [('odd', (big, 2 ** 63, 3, text, 5))])
        host = "../x'; DROP TABLE event; --/\u00e4"
        directory = export('odd.parquet', path, *options, host=host)
        row, = rows_of(directory, "FROM read_parquet('event/**/*.parquet', hive_partitioning = true)")
        numbers = [value for name, value in row.items() if name.lower().startswith('a')]
        self.assertEqual(numbers, [big, 2 ** 63], row)
        self.assertEqual((row['field_host'], row['field_id'], row['host']), (3, 5, host), row)
        self.assertEqual(len({name.lower() for name in row}), len(row), row)
        self.assertTrue(all(name.startswith('host=') for name in os.listdir(directory + '/event')))


if __name__ == '__main__':
    if duckdb.missing():
        print('SKIPPED: ' + duckdb.missing())
        sys.exit(77)
    with work:
        unittest.main(verbosity=1)
