# SPDX-License-Identifier: MIT
"""ClickHouse servers of a test, each with a directory and ports of its own on 127.0.0.1.

    with Server(directory) as server:
        server.query('CREATE DATABASE trace')
        server.url            # http://127.0.0.1:PORT

A cluster: servers that know each other under one name, each a shard, in the order of the list.

    with cluster('traces', directory, 2) as (first, second): ...
"""

import contextlib
import fcntl
import glob
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

import captures
import fetched



def find_program():
    """The server's program: of an installed package, or of the one that is fetched for the group clickhouse, which is unpacked
    beside it; None: there is neither. Installed, it would be a service of this machine."""
    installed = shutil.which('clickhouse-server', path=os.environ.get('PATH', '') + ':/usr/sbin')
    directory = fetched.directory('clickhouse') or ''
    packages = glob.glob(directory + '/debs/clickhouse-server_*.deb')
    if installed or not packages:
        return installed
    program = directory + '/root/usr/sbin/clickhouse-server'
    # One test at a time unpacks it.
    with open(directory + '/lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(program):
            subprocess.run(['dpkg-deb', '-x', packages[0], directory + '/unpacked'], check=True)
            os.rename(directory + '/unpacked', directory + '/root')
    return program


PROGRAM = find_program()

CONFIG = """<?xml version="1.0"?>
<yandex>
  <logger><level>information</level><log>{dir}/server.log</log><errorlog>{dir}/server.err.log</errorlog></logger>
  <http_port>{http}</http_port>
  <tcp_port>{tcp}</tcp_port>
  <interserver_http_port>{interserver}</interserver_http_port>
  <listen_host>127.0.0.1</listen_host>
  <max_connections>64</max_connections>
  <mark_cache_size>67108864</mark_cache_size>
  <path>{dir}/data/</path>
  <tmp_path>{dir}/tmp/</tmp_path>
  <users_config>{dir}/users.xml</users_config>
  <default_profile>default</default_profile>
  <default_database>default</default_database>
  <remote_servers>{clusters}</remote_servers>
  {more}
</yandex>
"""

USERS = """<?xml version="1.0"?>
<yandex>
  <profiles><default><max_memory_usage>{memory}</max_memory_usage></default></profiles>
  <users>
    <default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
    <sender><password>secret &amp; safe</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></sender>
  </users>
  <quotas><default><interval><duration>3600</duration></interval></default></quotas>
</yandex>
"""


reserved = []


def reserve_ports(n):
    """N ports of 127.0.0.1, all different, that no other program is given: sockets of ours, which do not listen, keep them."""
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(('127.0.0.1', 0))
    reserved.extend(sockets)
    return [s.getsockname()[1] for s in sockets]


class QueryError(Exception):
    pass


class Server:
    def __init__(self, directory, clusters='', ports=None, memory=2 << 30, more=''):
        self.directory = os.path.abspath(directory)
        self.http, self.tcp, self.interserver = ports or reserve_ports(3)
        self.url = f'http://127.0.0.1:{self.http}'
        self.process = None
        os.makedirs(self.directory + '/data', exist_ok=True)
        os.makedirs(self.directory + '/tmp', exist_ok=True)
        with open(self.directory + '/config.xml', 'w') as file:
            file.write(CONFIG.format(dir=self.directory, http=self.http, tcp=self.tcp, interserver=self.interserver,
                                     clusters=clusters, more=more))
        with open(self.directory + '/users.xml', 'w') as file:
            file.write(USERS.format(memory=memory))

    def start(self):
        with open(self.directory + '/stderr', 'wb') as stderr:
            self.process = subprocess.Popen([PROGRAM, f'--config-file={self.directory}/config.xml'],
                                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr,
                                            cwd=self.directory)
        while True:
            try:
                if urllib.request.urlopen(self.url + '/ping', timeout=60).read() == b'Ok.\n':
                    return self
            except (urllib.error.URLError, ConnectionError):
                pass
            if self.process.poll() is not None:
                with open(self.directory + '/stderr') as stderr:
                    raise RuntimeError(f'clickhouse-server ended: {stderr.read()}')
            time.sleep(0.05)

    def kill(self):
        """As a power failure does: without a word to anybody."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()

    def query(self, sql, data=None, **settings):
        """The answer of a query as rows of strings."""
        settings['query'] = sql
        request = urllib.request.Request(self.url + '/?' + urllib.parse.urlencode(settings), data=data or b'')
        try:
            answer = urllib.request.urlopen(request).read()
        except urllib.error.HTTPError as error:
            raise QueryError(error.read().decode(errors='replace')) from None
        return [line.split('\t') for line in answer.decode(errors='surrogateescape').splitlines()]

    def value(self, sql):
        return self.query(sql)[0][0]

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()


@contextlib.contextmanager
def cluster(name, directory, n):
    ports = reserve_ports(3 * n)
    ports = [ports[3 * i:3 * i + 3] for i in range(n)]
    shards = ''.join(f'<shard><replica><host>127.0.0.1</host><port>{tcp}</port></replica></shard>' for _, tcp, _ in ports)
    clusters = f'<{name}>{shards}</{name}>'
    servers = [Server(f'{directory}/{i}', clusters, ports[i]) for i in range(n)]
    try:
        for server in servers:
            server.start()
        yield servers
    finally:
        for server in servers:
            server.stop()


def run_tests():
    """Those of the program that runs."""
    if not PROGRAM:
        print('SKIPPED: clickhouse-server is missing; fetch it: tools/packages fetch clickhouse build/clickhouse/debs')
        sys.exit(77)
    with captures.work:
        unittest.main(verbosity=1)
