/* SPDX-License-Identifier: MIT */
#pragma once

/* The metadata of a CTF trace: what CTF 1.8 (in its language TSDL) says about the packets of rings and
 * about each event class. */

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

/* The text: the part before the classes, and each class. */
void ctf_metadata_put_start(FILE *f, const struct ctf_metadata *metadata);
void ctf_metadata_put_class(FILE *f, const struct trace_class *class);
