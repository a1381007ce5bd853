/* SPDX-License-Identifier: MIT */
#pragma once

/* Triggers of a recording: `strata record --flight --on CONDITION`. */

#include "base/arena.h"
#include "cli/options.h"
#include "cmd/record/watch.h"
#include "record/triggers.h"

struct record_triggers_options {
    struct strings conditions; /* --on */
    uint64_t after;            /* ns */
    uint64_t per_hour;         /* RECORD_TRIGGERS_PER_HOUR */
    uint64_t size;             /* 0: as large as is usual */
    const char *command;       /* --then; NULL: none */
};

#define RECORD_TRIGGERS_DEFAULT              \
    {                                        \
        .after = 2000000000, .per_hour = 12, \
    }

extern const struct cli_option record_triggers_options[];

void record_triggers_options_done(struct record_triggers_options *options);

/* That all conditions are well formed, and the options fit each other. IS_FLIGHT: --flight is given. An exit status. */
int record_triggers_check(const struct record_triggers_options *options, bool is_flight);
/* What is recorded, which decides which conditions can be met. */
enum record_triggers_subject {
    RECORD_TRIGGERS_PROGRAM, /* started by the recorder */
    RECORD_TRIGGERS_QEMU,    /* … */
    RECORD_TRIGGERS_ATTACHED, /* a process that runs already, of which no more than its end is seen */
    RECORD_TRIGGERS_LIBVIRT, /* a domain of libvirt */
    RECORD_TRIGGERS_OTHER,   /* no process: kernels, buffers */
};
/* That they can be met there. An exit status. */
int record_triggers_check_subject(const struct record_triggers_options *options,
                                  enum record_triggers_subject subject);

/* Adds to PATTERNS, of events of QEMU to record, those that conditions name as QEMU's ("vmm:blk_*"). EVENTS: those that this QEMU
 * has, and NULL. They are in ARENA. DECLARATIONS: a file that declares what they log; NULL: not known. An exit status: it
 * lacks one, or none of those that a condition means has a field that the condition names. */
int record_triggers_add_vmm(const struct record_triggers_options *options,
                            const char *const *events, const char *declarations,
                            struct arena *arena, struct strings *patterns);

/* What the recorder borrows. */
struct record_triggers;
/* *RET has no recorder, and is NULL, where OPTIONS have no condition. WATCH gets those that need events, and is borrowed: then the
 * recorder starts the process that it describes, and hands the lines for metrics on to METRICS, unless that is NULL.
 * FLIGHT_SIZE: of what is kept, bytes; 0: not known. An exit status. */
int record_triggers_new(const struct record_triggers_options *options, struct record_watch *watch,
                        struct recorder *metrics, uint64_t flight_size, struct recorder *flight,
                        struct record_triggers **ret, struct recorder **ret_recorder);
/* After the recorder. */
void record_triggers_free(struct record_triggers *triggers);
