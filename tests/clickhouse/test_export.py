#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""strata export --to clickhouse, to real servers."""

import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.abspath(__file__)) + '/../lib']

from captures import COMMON, STRATA, report, simpletrace, vm, work, xen  # noqa: E402
from server import Server, cluster, reserve_ports, run_tests  # noqa: E402

TABLES = ('event', 'span', 'state', 'loss', 'source', 'clock', 'trace')


def command(url, *arguments, host='h1', database='traces'):
    # The trace of Xen does not have the rate of its clock: this makes its ticks nanoseconds.
    return [STRATA, 'export', '--to', 'clickhouse', '--url', f'{url}/{database}', *(['--host-name', host] if host else []),
            *([] if vm() in arguments else ['--cpu-hz', '1G']), *arguments]


def send(url, *arguments, status=0, environment=None, **options):
    done = subprocess.run(command(url, *arguments, **options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, **(environment or {})})
    if done.returncode != status:
        raise AssertionError(f'exit status {done.returncode}, not {status}: {done.stderr}')
    return done.stderr


def counts(server, database='traces', table_suffix=''):
    return {table: int(server.value(f'SELECT count() FROM {database}.`{table}{table_suffix}`')) for table in TABLES}


class OneServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(work.name + '/one').start()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def setUp(self):
        self.server.query('DROP DATABASE IF EXISTS traces')

    def check_events(self, path):
        """Each event, and each value, as `strata report` prints it."""
        send(self.server.url, path)
        rows = self.server.query('SELECT time_ns, event, layer, cpu, pid, number.name, number.value, text.name, text.value'
                                 ' FROM traces.event ORDER BY id FORMAT JSONEachRow',
                                 output_format_json_quote_64bit_integers=0)
        rows = [json.loads('\t'.join(row)) for row in rows]
        want = [row for row in report(path) if 'event' in row]
        self.assertEqual(len(rows), len(want))
        n = 0
        for row, event in zip(rows, want):
            self.assertEqual((row['event'], row['layer']), (event['event'], event['layer']))
            self.assertEqual(row['time_ns'], event.get('time_ns', event.get('ticks')))
            self.assertEqual(row['cpu'], event.get('cpu'))
            self.assertEqual(row['pid'], event.get('pid'))
            numbers = dict(zip(row['number.name'], row['number.value']))
            texts = dict(zip(row['text.name'], row['text.value']))
            for field, value in event['fields'].items():
                if field in COMMON: # of all events: the field's own column has a prefix
                    field = 'field_' + field
                if isinstance(value, bool) or isinstance(value, int):
                    self.assertEqual(numbers[field] & (2 ** 64 - 1), int(value) & (2 ** 64 - 1), event)
                    n += 1
                elif isinstance(value, str) and field in texts:
                    self.assertEqual(texts[field], value)
                    n += 1
        return n

    def test_values(self):
        self.assertGreater(self.check_events(vm()), 20000)

    def test_values_of_xen(self):
        self.assertGreater(self.check_events(xen()), 100000)

    def test_spans_and_states(self):
        """As many spans, as long, as `strata latency` says; the day and time that the recording has."""
        send(self.server.url, vm())
        analysis = json.loads(subprocess.run([STRATA, 'latency', '-f', 'json', vm()], stdout=subprocess.PIPE,
                                             stderr=subprocess.DEVNULL, check=True).stdout)
        got = {name: (int(n), int(total)) for name, n, total in self.server.query(
            'SELECT name, count(), sum(duration_ns) FROM traces.span WHERE cut IS NULL GROUP BY name')}
        for row in analysis['rows']:
            self.assertEqual(got[row['key']['name']], (row['n'], row['sum']), row['key'])
        with open(vm() + '/trace.json') as file:
            manifest = json.load(file)
        began = min(source['began']['realtime_ns'] for source in manifest['sources'] if 'began' in source)
        first = int(self.server.value('SELECT min(unix_ns) FROM traces.event'))
        self.assertLess(abs(first - began), 60e9)
        self.assertEqual(self.server.value('SELECT day_is_known FROM traces.trace'), '1')
        self.assertEqual(self.server.value('SELECT uniqExact(day) FROM traces.event'), '1')

    def test_twice(self):
        self.assertIn('rows were sent', send(self.server.url, xen()))
        before = counts(self.server)
        copy = work.name + '/copy'
        shutil.copyfile(xen(), copy)
        self.assertIn('has all of this trace already', send(self.server.url, copy))
        self.assertEqual(counts(self.server), before)
        # Another host has the same trace, too.
        send(self.server.url, copy, host='h2')
        self.assertEqual(counts(self.server), {table: 2 * n for table, n in before.items()})

    def test_other_options(self):
        send(self.server.url, xen())
        whole = counts(self.server)
        self.assertIn('--replace removes them first', send(self.server.url, '-e', 'hypercall', xen(), status=1))
        self.assertEqual(counts(self.server), whole)
        send(self.server.url, '-e', 'hypercall', '--replace', xen())
        self.assertEqual(self.server.query('SELECT DISTINCT event FROM traces.event'), [['hypercall']])
        send(self.server.url, '--replace', xen())
        self.assertEqual(counts(self.server), whole)

    def test_broken_off(self):
        """What is missing is sent, and nothing twice, wherever it was broken off."""
        send(self.server.url, xen())
        whole = counts(self.server)
        for table in ('trace', 'state', 'event'):
            self.server.query('ALTER TABLE traces.trace DELETE WHERE 1')
            self.server.query(f'ALTER TABLE traces.{table} DELETE WHERE 1')
            while counts(self.server)[table] or counts(self.server)['trace']:
                time.sleep(0.05)
            self.assertIn('were there already', send(self.server.url, xen()))
            self.assertEqual(counts(self.server), whole)

    def test_damaged(self):
        """What is left of a damaged trace is sent, and not called whole."""
        path = work.name + '/damaged'
        with open(xen(), 'rb') as file, open(path, 'wb') as out:
            out.write(file.read()[:400001])
        send(self.server.url, path, status=1)
        self.assertEqual(counts(self.server)['trace'], 0)
        self.assertGreater(counts(self.server)['event'], 1000)

    def test_hostile_names(self):
        """Names are data, never SQL, and a number keeps its 64 bits."""
        evil = "'; DROP TABLE event; --\\"
        trace = simpletrace(work.name + '/evil', 'Value(uint64_t a, const char *b) "%d %s"\nvalue(uint64_t A) "%d"\n',
                            [('Value', (2 ** 64 - 2, evil.encode() + b'\xff\x00\n')), ('value', (7,))])
        send(self.server.url, *trace, host=evil)
        self.assertEqual(counts(self.server)['event'], 2)
        self.assertEqual(self.server.value("SELECT hex(host) FROM traces.event LIMIT 1"), evil.encode().hex().upper())
        self.assertEqual(self.server.query("SELECT event, toUInt64(number.value[1]) FROM traces.event ORDER BY id"),
                         [['Value', str(2 ** 64 - 2)], ['value', '7']])
        self.assertEqual(self.server.value("SELECT hex(text.value[1]) FROM traces.event WHERE event = 'Value'"),
                         (evil.encode() + b'\xff').hex().upper())
        self.assertIn('has all of this trace', send(self.server.url, *trace, host=evil))

    def test_password(self):
        environment = {'CLICKHOUSE_USER': 'sender', 'CLICKHOUSE_PASSWORD': 'wrong'}
        said = send(self.server.url, vm(), status=1, environment=environment)
        self.assertIn('Wrong password', said)
        self.assertNotIn("wrong'", said)
        send(self.server.url, vm(), environment={**environment, 'CLICKHOUSE_PASSWORD': 'secret & safe'})
        netrc = work.name + '/netrc'
        with open(netrc, 'w') as file:
            file.write('machine 127.0.0.1 login sender password "secret & safe"\n')
        send(self.server.url, '--netrc-file', netrc, '--replace', vm())
        self.assertIn('may not have a user or a password', send(self.server.url.replace('//', '//a:secret@'), vm(), status=1))

    def test_another_schema(self):
        self.server.query('CREATE DATABASE traces')
        self.server.query('CREATE TABLE traces.event (host String, x Int8) ENGINE = MergeTree ORDER BY host')
        said = send(self.server.url, vm(), status=1)
        self.assertIn("traces.event is not of this version: it does not have the column 'trace'", said)

    def test_printed_schema(self):
        printed = subprocess.run([STRATA, 'export', '--to', 'clickhouse', '--print-schema', '--url', 'http://h/traces'],
                                 stdout=subprocess.PIPE, check=True, text=True).stdout
        for statement in printed.split(';\n'):
            if statement:
                self.server.query(statement)
        send(self.server.url, vm())
        self.assertEqual(counts(self.server)['trace'], 1)


class Failures(unittest.TestCase):
    def fails(self, url, text, *arguments):
        said = send(url, '--retry', '0', *arguments, vm(), status=1)
        self.assertIn(text, said)
        self.assertEqual(said.count('\n'), 1, said)

    def test_down(self):
        with socket.socket() as unused:
            unused.bind(('127.0.0.1', 0))
            self.fails(f'http://127.0.0.1:{unused.getsockname()[1]}', "Couldn't connect to server")

    def test_url(self):
        for url, text in (('ftp://h', 'only http and https'), ('http://h/a/b', 'the path is the database'),
                          ('nonsense', 'invalid URL')):
            self.fails(url, text)

    def test_garbage(self):
        """A server that is another one."""
        class Handler(http.server.BaseHTTPRequestHandler):
            answer = (200, b'<html>\x1b[2J</html>')

            def do_POST(self):
                self.rfile.read(int(self.headers['Content-Length']))
                self.send_response(self.answer[0])
                self.send_header('Content-Length', str(len(self.answer[1])))
                self.end_headers()
                self.wfile.write(self.answer[1])

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            url = f'http://127.0.0.1:{server.server_address[1]}'
            try:
                self.fails(url, 'does not answer as ClickHouse does')
                Handler.answer = (404, b'\x1b[2Jno\n')
                self.fails(url, 'status 404, "[2Jno"')
                Handler.answer = (200, b'\n' * 70000)
                self.fails(url, 'does not answer as ClickHouse does')
            finally:
                server.shutdown()
                thread.join()

    def test_no_host(self):
        said = send('http://127.0.0.1:1', xen(), status=1, host=None)
        self.assertIn('give --host-name=NAME', said)

    def test_usage(self):
        for arguments, text in ((['--to', 'csv', '--url', 'x'], '--url requires --to=clickhouse'),
                                (['--to', 'clickhouse'], '--url=http://HOST:PORT/DATABASE is required'),
                                (['--to', 'clickhouse', '--url', 'http://h/d', '-o', 'x'], 'is a server')):
            done = subprocess.run([STRATA, 'export', *arguments, xen()], stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)

    def test_tls(self):
        directory = work.name + '/tls'
        os.makedirs(directory)
        subprocess.run(['openssl', 'req', '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-new',
                        '-newkey', 'rsa:2048', '-days', '2', '-nodes', '-x509', '-keyout', directory + '/key', '-out',
                        directory + '/certificate'], check=True, stderr=subprocess.DEVNULL)
        (port,) = reserve_ports(1)
        more = (f'<https_port>{port}</https_port><openSSL><server><certificateFile>{directory}/certificate</certificateFile>'
                f'<privateKeyFile>{directory}/key</privateKeyFile><verificationMode>none</verificationMode>'
                '<loadDefaultCAFile>false</loadDefaultCAFile></server></openSSL>')
        with Server(directory + '/server', more=more) as server:
            url = f'https://127.0.0.1:{port}'
            self.fails(url, 'certificate')
            send(url, '--ca-file', directory + '/certificate', vm())
            self.assertEqual(counts(server)['trace'], 1)


class Cluster(unittest.TestCase):
    """Two shards behind distributed tables; a host's rows are on one of them."""

    def prepare(self, servers):
        printed = subprocess.run([STRATA, 'export', '--to', 'clickhouse', '--print-schema', '--cluster', 'traces', '--url',
                                  servers[0].url + '/traces'], stdout=subprocess.PIPE, check=True, text=True).stdout
        for server in servers:
            for statement in printed.split(';\n'):
                if statement:
                    server.query(statement)
        # A host whose rows go to the second one.
        for i in range(64):
            if int(servers[0].value(f"SELECT cityHash64('far{i}') % 2")) == 1:
                return f'far{i}'

    def wait_for(self, sender, condition):
        while not condition():
            self.assertIsNone(sender.poll(), 'it has ended')
            time.sleep(0.01)

    def test_killed_while_data_arrives(self):
        n = 600000 # of which a block has 262144
        big = simpletrace(work.name + '/big', 'number(uint64_t n) "%d"\n', [('number', (i,)) for i in range(n)])
        with cluster('traces', work.name + '/cluster', 2) as servers:
            near, far = servers
            host = self.prepare(servers)
            arrived = f"SELECT count() FROM traces.event_shard WHERE host = '{host}'"
            sender = subprocess.Popen(command(near.url, '--retry', '120', *big, host=host), stderr=subprocess.PIPE, text=True)
            try:
                # The server stands still with a part of an insert, and is killed. The sender waits for it to come back.
                self.wait_for(sender, lambda: int(far.value(arrived)) > 0)
                os.kill(far.process.pid, signal.SIGSTOP)
                self.wait_for(sender, lambda: near.query("SELECT 1 FROM system.processes WHERE query LIKE 'INSERT%'"))
                far.kill()
                far.start()
                said = sender.communicate()[1]
            finally:
                sender.kill()
            # The insert may have been written just before: then there was nothing to try again.
            self.assertEqual(sender.returncode, 0, said)
            self.assertEqual(far.query(f"SELECT count(), uniqExact(number.value[1]), uniqExact(block) FROM traces.event_shard"),
                             [[str(n), str(n), '3']])
            # It is down: that is said, and nothing is there twice when it is sent again.
            far.query('ALTER TABLE traces.trace_shard DELETE WHERE 1')
            self.wait_for(far.process, lambda: int(far.value('SELECT count() FROM traces.trace_shard')) == 0)
            far.kill()
            self.assertIn('127.0.0.1', send(near.url, '--retry', '1', *big, host=host, status=1))
            far.start()
            self.assertIn('600001 were there already', send(near.url, *big, host=host).replace('600002', '600001'))
            self.assertEqual(far.value(arrived), str(n))
            self.assertEqual(near.value('SELECT count() FROM traces.trace'), '1')

    def test_killed_at_any_moment(self):
        """The sender is killed after a while that grows; then what is missing is sent."""
        with Server(work.name + '/killed') as server:
            send(server.url, xen())
            whole = counts(server)
            for i in range(8):
                host = f'k{i}'
                sender = subprocess.Popen(command(server.url, xen(), host=host), stderr=subprocess.DEVNULL)
                deadline = time.monotonic() + 0.03 * i
                while time.monotonic() < deadline and sender.poll() is None:
                    time.sleep(0.005)
                sender.kill()
                sender.wait()
                send(server.url, xen(), host=host)
                for table in TABLES:
                    n = int(server.value(f"SELECT count() FROM traces.{table} WHERE host = '{host}'"))
                    self.assertEqual(n, whole[table], (i, table))


if __name__ == '__main__':
    run_tests()
