/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder of a running program that was started with writer=none (record/rings/collect.h). Its native trace is the
 * directory "program" of its recording. If the recording has no directory, the recorder creates a directory for the
 * trace, or continues an existing one. It is the primary recorder, and ends with the program. */

#include "record/recorder.h"
#include "record/rings/drain.h"

/* All pointers are borrowed for the life of the recorder. */
struct attached_recorder_settings {
    const char *rings;  /* the directory of the program's rings */
    const char *output; /* directory of the native trace, if the recording has none */
    /* Keep the rings of a program that has ended. False: they are removed if everything was read. */
    bool keep_rings;
};

struct attached_program {
    char program[17];
    uint32_t pid;
    const char *trace; /* the native trace */
    struct drain_stats stats;
};

/* -ENOMEM. */
int attached_recorder_new(const struct attached_recorder_settings *settings, struct recorder **ret);
/* The result, after the recorder has finished. */
const struct attached_program *attached_recorder_program(const struct recorder *recorder);
