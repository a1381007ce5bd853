# SPDX-License-Identifier: MIT
"""DuckDB, of the npm package @duckdb/node-api: `tools/packages fetch duckdb build/duckdb/debs`. Debian has no program that
reads Parquet."""

import json
import os
import shutil
import subprocess

import fetched

MODULES = os.path.join(fetched.directory('duckdb') or '/nonexistent', 'debs', 'node_modules')
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'duckdb.cjs')


def missing():
    """Why it cannot run; None: it can."""
    if not shutil.which('node'):
        return 'node is not installed'
    if not os.path.exists(MODULES + '/@duckdb/node-api/package.json'):
        if not shutil.which('npm'):
            return 'DuckDB is missing: it comes from npm, which is not installed, and Debian has no reader of Parquet'
        return 'DuckDB is missing; fetch it: tools/packages fetch duckdb build/duckdb/debs'
    return None


def query(sql, directory):
    """Rows of the last statement; the others run before. DIRECTORY is the working directory."""
    done = subprocess.run(['node', SCRIPT, MODULES], input=sql, cwd=directory, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]
