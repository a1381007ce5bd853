# SPDX-License-Identifier: MIT
"""Tests that wait for a state, never for a time."""

import time


class Failure(Exception):
    """What a test expected was not so."""


def expect(true, *words):
    if not true:
        raise Failure(" ".join(str(word) for word in words))


def wait_until(condition, what, patience=240):
    """Returns what CONDITION returns, once that is true. PATIENCE: seconds, that pass only in a test that fails."""
    end = time.monotonic() + patience
    while True:
        result = condition()
        if result:
            return result
        expect(time.monotonic() < end, f"after {patience} s:", what)
        time.sleep(0.02)
