/* SPDX-License-Identifier: MIT */
#pragma once

/* The metadata of a CTF trace. They describe the packets of rings and each event class in TSDL, the language of CTF
 * 1.8. */

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "runtime/clock.h"
#include "runtime/events.h"

struct ctf_metadata {
    uint8_t uuid[16];
    enum clock_kind clock_kind;
    struct clock_pair start;
    uint64_t clock_hz;
    const char *program;
    pid_t pid;
};

/* Write the part before the classes, and the part of each class. */
void ctf_metadata_put_start(FILE *f, const struct ctf_metadata *metadata);
void ctf_metadata_put_class(FILE *f, const struct trace_class *class);
