# SPDX-License-Identifier: MIT
"""What a figure should be, and whether it is. Where STRATA_BENCH_AIMS names a file, each is noted there as a line of JSON,
for bench/all."""

import json
import os


class Aim:
    def __init__(self, comparison, value, unit=""):
        """COMPARISON: ">=" or "<="; UNIT: with its space (" x")."""
        self.comparison = comparison
        self.value = value
        self.unit = unit

    def __str__(self):
        return f"{self.comparison} {self.value:g}{self.unit}"

    def is_reached(self, measured):
        return measured >= self.value if self.comparison == ">=" else measured <= self.value

    def show(self, measured):
        """With three digits, all where there are more before the point."""
        return (f"{measured:,.0f}" if abs(measured) >= 100 else f"{measured:.3g}") + self.unit


def at_least(value, unit=" x"):
    return Aim(">=", value, unit)


def at_most(value, unit=" x"):
    return Aim("<=", value, unit)


def reach(what, measured, aim, figure=None):
    """Notes MEASURED, None: it could not be measured. FIGURE: how to show it. "yes", "NO", or "?"."""
    reached = None if measured is None else aim.is_reached(measured)
    path = os.environ.get("STRATA_BENCH_AIMS")
    if path:
        shown = figure or (aim.show(measured) if measured is not None else "")
        with open(path, "a", encoding="utf-8") as out:
            out.write(json.dumps({"what": what, "measured": shown, "aim": str(aim), "reached": reached}) + "\n")
    return "?" if reached is None else "yes" if reached else "NO"
