/* SPDX-License-Identifier: MIT */
#pragma once

/* The metadata of a native trace: what CTF 1.8 (its language is called TSDL) says of the packets that
 * rings are made of, and of each class of events. */

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

/* The text: all that stands in front of the classes, and then each class. */
void ctf_metadata_put_start(FILE *f, const struct ctf_metadata *metadata);
void ctf_metadata_put_class(FILE *f, const struct trace_class *class);
