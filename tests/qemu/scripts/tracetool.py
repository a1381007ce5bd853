# SPDX-License-Identifier: MIT
"""Stands for QEMU's script of that name: only what the backend itself generates.

    tracetool.py --format=FORMAT --backends=NAME --group=GROUP EVENTS OUTPUT
"""

import importlib
import sys

import tracetool

options = dict(word[2:].split("=") for word in sys.argv[1:4])
backend = importlib.import_module("tracetool.backend." + options["backends"])
events = tracetool.read_events(sys.argv[4])
tracetool.out_open(sys.argv[5])
if options["format"] != "h":
    events = [event for event in events if "disable" not in event.properties]
for step in (f"generate_{options['format']}_begin", f"generate_{options['format']}"):
    function = getattr(backend, step, None)
    if function and step.endswith("_begin"):
        function(events, options["group"])
    elif function:
        for event in events:
            function(event, options["group"])
