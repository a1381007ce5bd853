/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder of one kernel by its strata-agent: of a guest, into the directory "guest-NAME" of its recording, or of
 * this machine, by an agent that the recorder starts, into the directory "host".
 *
 * A guest's recorder waits for an agent as long as the recording lasts. When it is stopped, it reads what the agent
 * still has; with RECORDER_STOP_NOW it ends at once. An error of a guest is in its `error` and `what`, and in the trace; the
 * recorder itself does not fail. This machine's recorder is ready when the kernel is traced; a kernel that cannot be
 * traced is a failure of its start. */

#include "record/kernel/guest.h"
#include "record/recorder.h"

/* The limit of a guest's files if the recording has a directory and no limit: a guest could fill the disk. */
#define GUEST_MAX_SIZE_DEFAULT (UINT64_C(16) << 30)

/* Borrowed until the recorder is freed. */
struct kernel_recorder_settings {
    /* Of this machine's kernel: only `trace` and `live`. */
    struct guest_config config;
    /* For this machine's kernel: the program strata-agent, a path, or a name to be looked for in PATH. NULL: it is a guest. */
    const char *agent;
    pid_t pid_filter; /* … only threads of that process and of its children; 0: all */
    bool is_optional; /* a guest from which nothing came is not in the trace */
    /* A guest of a machine that is recorded, too: the machine's recorder starts, stops and ends it, by the functions below.
     * It is quiet, as the machine has the terminal, and has no limit but the recording's. */
    bool is_led;
    bool is_primary;
};

/* -ENOMEM. */
int kernel_recorder_new(const struct kernel_recorder_settings *settings, struct recorder **ret);
/* The guest, with its counts; NULL: it was not started. */
const struct guest *kernel_recorder_guest(const struct recorder *recorder);

/* ---- For the recorder of the guest's machine, where it is led ---- */

/* Starts it, now, in a process of one thread: its agent is at PORT (borrowed). MACHINE, which was added before, is woken when
 * it has ended or lost its connection. READ_MACHINE reads what MACHINE's monitor has reported until now. Without this call it records
 * nothing. -errno with ERROR. */
int kernel_recorder_join(struct recorder *recorder, struct recorder *machine,
                         void (*read_machine)(struct recorder *machine), const char *port,
                         struct error *error);
/* The machine had stopped at NS of CLOCK_MONOTONIC; or it was still stopped at NS, and went on then. */
void kernel_recorder_machine_stopped(struct recorder *recorder, uint64_t ns);
void kernel_recorder_machine_resumed(struct recorder *recorder, uint64_t ns);
/* A migration from another QEMU brought the machine, which went on here at NS; one took it away, and it had stopped at NS. 0: it
 * has not left after all. */
void kernel_recorder_machine_came(struct recorder *recorder, uint64_t ns);
void kernel_recorder_machine_left(struct recorder *recorder, uint64_t ns);
/* The agent has closed its port, or was killed. */
void kernel_recorder_agent_closed(struct recorder *recorder);
/* Stops the tracing. What the agent still has is read. */
void kernel_recorder_stop(struct recorder *recorder);
/* Ends it, if it has not ended. All that is known of it is final. TRACED: why, where the agent has not sent the rest;
 * SILENT: … or nothing at all. */
void kernel_recorder_end(struct recorder *recorder, const char *traced, const char *silent);
/* Whether nothing more will come for now: it has ended, or there is no connection. */
bool kernel_recorder_is_away(const struct recorder *recorder);
/* Whether its traced agent does not answer: it may have been killed, or have no CPU. */
bool kernel_recorder_is_silent(const struct recorder *recorder);
/* Whether it has ended. */
bool kernel_recorder_has_ended(const struct recorder *recorder);
