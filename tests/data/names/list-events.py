#!/usr/bin/env python3
"""The names of events and of their fields, as versions of QEMU or of Linux declare them.

    list-events.py qemu VERSION=FILE...     a QEMU's trace-events-all
    list-events.py linux VERSION=TREE...    the source of a Linux kernel

Prints a line per event, "NAME FIELD... : VERSION..." of QEMU and "GROUP:NAME FIELD... : VERSION..." of Linux, sorted. An
event that versions or architectures declare with other fields has a line for each. Made by it, then by xz -9:

    qemu.xz     Debian's qemu-system-common 7.2+dfsg-7+deb12u18, 10.0.13+ds-0+deb13u1, 11.1.3+ds-1~bpo13+1
    linux.xz    Debian's linux-source 6.1.176-1, 6.12.117-1, 7.3.4-1~bpo13+1
"""

import pathlib
import re
import subprocess
import sys

# What the macros of a kernel's event declarations become, so that its preprocessor lists them.
MACROS = r"""
#define TRACE_EVENT(name, proto, args, fields, ...) @EVENT name fields @END
#define TRACE_EVENT_CONDITION(name, proto, args, cond, fields, ...) @EVENT name fields @END
#define TRACE_EVENT_FN(name, proto, args, fields, ...) @EVENT name fields @END
#define TRACE_EVENT_FN_COND(name, proto, args, cond, fields, ...) @EVENT name fields @END
#define TRACE_EVENT_SYSCALL(name, proto, args, fields, ...) @EVENT name fields @END
#define TRACE_EVENT_MAP(name, proto, args, fields, ...) @EVENT name fields @END
#define DECLARE_EVENT_CLASS(name, proto, args, fields, ...) @CLASS name fields @END
#define DECLARE_EVENT_SYSCALL_CLASS(name, proto, args, fields, ...) @CLASS name fields @END
#define DEFINE_EVENT(class, name, ...) @USE class name @END
#define DEFINE_EVENT_FN(class, name, ...) @USE class name @END
#define DEFINE_EVENT_PRINT(class, name, ...) @USE class name @END
#define DEFINE_EVENT_CONDITION(class, name, ...) @USE class name @END
#define DEFINE_EVENT_SYSCALL(class, name, ...) @USE class name @END
#define DEFINE_EVENT_MAP(class, name, ...) @USE class name @END
#define FTRACE_ENTRY(name, type, id, fields, ...) @EVENT name fields @END
#define FTRACE_ENTRY_DUP(name, type, id, fields, ...) @EVENT name fields @END
#define FTRACE_ENTRY_FN(name, type, id, fields, ...) @EVENT name fields @END
#define FTRACE_ENTRY_REG(name, type, id, fields, ...) @EVENT name fields @END
#define TP_STRUCT__entry(...) __VA_ARGS__
#define F_STRUCT(...) __VA_ARGS__
#define TP_fast_assign(...)
#define TP_printk(...)
#define TP_PROTO(...)
#define TP_ARGS(...)
#define __field(type, name) @FIELD name
#define __field_ext(type, name, ...) @FIELD name
#define __field_struct(type, name) @FIELD name
#define __field_struct_ext(type, name, ...) @FIELD name
#define __field_fn(type, name) @FIELD name
#define __field_desc(type, in, name) @FIELD name
#define __field_packed(type, in, name) @FIELD name
#define __array(type, name, ...) @FIELD name
#define __array_desc(type, in, name, ...) @FIELD name
#define __stack_array(type, name, ...) @FIELD name
#define __dynamic_array(type, name, ...) @FIELD name
#define __dynamic_field(type, name, ...) @FIELD name
#define __string(name, ...) @FIELD name
#define __string_len(name, ...) @FIELD name
#define __vstring(name, ...) @FIELD name
#define __bitmask(name, ...) @FIELD name
#define __cpumask(name) @FIELD name
#define __sockaddr(name, ...) @FIELD name
#define __rel_dynamic_array(type, name, ...) @FIELD name
#define __rel_string(name, ...) @FIELD name
#define __rel_string_len(name, ...) @FIELD name
#define __rel_bitmask(name, ...) @FIELD name
#define __rel_cpumask(name) @FIELD name
#define __rel_sockaddr(name, ...) @FIELD name
"""
OURS = set(re.findall(r"#define (\w+)", MACROS))
TOKENS = re.compile(r"@(EVENT|CLASS|USE|FIELD|END)\b\s*(\w+)?\s*(\w+)?")
DECLARES = re.compile(r"\b(TRACE_EVENT\w*|DECLARE_EVENT_\w*CLASS|DEFINE_EVENT\w*|FTRACE_ENTRY\w*)\s*\(")
SYSTEM = re.compile(r"^#\s*define\s+TRACE_SYSTEM\s+(\w+)", re.M)
NOT_MACROS = re.compile(r"TRACE_(SYSTEM|INCLUDE|HEADER)")
SYSCALL = re.compile(r"^(?:COMPAT_)?SYSCALL_DEFINE\d\(([^)]*)\)", re.M)


def qemu_events(path):
    for line in open(path, encoding="utf-8"):
        event = re.match(r"((?:\w+ )*)(\w+)\(([^)]*)\)", line)
        if event:
            arguments = [a.strip() for a in event[3].split(",")]
            yield event[2], [re.search(r"(\w+)$", a)[1] for a in arguments if a not in ("void", "")]


def without_conditions(source):
    """SOURCE with all branches of its conditions, without includes and the definitions that MACROS replace."""
    source = re.sub(r"\\\n", " ", source)
    kept = []
    for line in source.split("\n"):
        directive = re.match(r"\s*#\s*(\w+)\s*(\w*)", line)
        if not directive:
            kept.append(line)
        elif directive[1] == "define" and directive[2] not in OURS and not NOT_MACROS.match(directive[2]):
            kept.append(line)
    return "\n".join(kept)


def expand(source):
    run = subprocess.run(["gcc", "-E", "-P", "-w", "-undef", "-x", "c", "-"], input=MACROS + without_conditions(source),
                         capture_output=True, text=True, check=False)
    return run.stdout


def linux_events(tree):
    classes = {}
    used = []
    found = subprocess.run(["grep", "-rlE", "--include=*.[ch]", r"^\s*#\s*define TRACE_SYSTEM|SYSCALL_DEFINE|FTRACE_ENTRY", tree],
                           capture_output=True, text=True, check=True)
    for path in sorted(map(pathlib.Path, found.stdout.split())):
        source = path.read_text(encoding="utf-8", errors="replace")
        for call in SYSCALL.findall(source):
            name, *arguments = [part.strip() for part in call.split(",")]
            yield f"syscalls:sys_enter_{name}", ["__syscall_nr"] + [a.split()[-1].strip("*") for a in arguments[1::2]]
            yield f"syscalls:sys_exit_{name}", ["__syscall_nr", "ret"]
        system = SYSTEM.search(source)
        if not DECLARES.search(source) or not (system or path.name == "trace_entries.h"):
            continue
        group = system[1] if system else "ftrace"
        kind = name = None
        fields = []
        for token in TOKENS.finditer(expand(source)):
            if token[1] == "FIELD":
                fields.append(token[2])
            elif token[1] != "END":
                kind, name, fields = token[1], token[2], []
                if kind == "USE":
                    used.append((path, f"{group}:{token[3]}", name))
            elif kind in ("CLASS", "EVENT"):
                classes.setdefault(name, {})[path] = fields
                if kind == "EVENT":
                    yield f"{group}:{name}", fields
                kind = None
    for path, name, declared in used:
        places = classes.get(declared, {})
        for fields in [places[path]] if path in places else places.values():
            yield name, fields


def main():
    read = {"qemu": qemu_events, "linux": linux_events}.get(sys.argv[1] if len(sys.argv) > 2 else "")
    if not read:
        sys.exit(__doc__)
    versions = {}
    for argument in sys.argv[2:]:
        version, path = argument.split("=", 1)
        for name, fields in read(path):
            versions.setdefault(" ".join([name, *fields]), {})[version] = True
    for event, found in sorted(versions.items()):
        print(event, ":", *found)


main()
