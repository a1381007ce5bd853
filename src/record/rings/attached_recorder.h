/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder of a program that runs, and was started with writer=none: record/rings/collect.h. Its native trace is the
 * directory "program" of its recording. Where the recording has no directory, it is one of its own, which the recorder
 * makes or goes on with. It is the primary recorder, and ends with the program. */

#include "record/recorder.h"
#include "record/rings/drain.h"

/* All borrowed, for as long as the recorder is there. */
struct attached_recorder_settings {
    const char *rings;  /* the directory of the program's rings */
    const char *output; /* that of the native trace, where the recording has none */
    bool
        keep_rings; /* of a program that has ended; else they are removed, if all of them was read */
};

struct attached_program {
    char program[17];
    uint32_t pid;
    const char *trace; /* the native trace */
    struct drain_stats stats;
};

/* -ENOMEM. */
int attached_recorder_new(const struct attached_recorder_settings *settings, struct recorder **ret);
/* What came of it, when it has finished. */
const struct attached_program *attached_recorder_program(const struct recorder *recorder);
