/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder of one kernel by its strata-agent. It records a guest into the directory "guest-NAME" of its recording,
 * or this machine, by an agent that the recorder starts, into the directory "host".
 *
 * A guest's recorder waits for an agent as long as the recording lasts. When it is stopped, it reads the data that the
 * agent still has; with RECORDER_STOP_NOW it ends at once. An error of a guest is in its `error` and `what` and in the
 * trace; the recorder itself does not fail. This machine's recorder is ready when the kernel is traced. If the kernel
 * cannot be traced, the recorder fails to start. */

#include "record/kernel/guest.h"
#include "record/recorder.h"

/* The limit of a guest's files if the recording has a directory and no limit. Without it, a guest could fill the
 * disk. */
#define GUEST_MAX_SIZE_DEFAULT (UINT64_C(16) << 30)

/* Borrowed until the recorder is freed. */
struct kernel_recorder_settings {
    /* For this machine's kernel, only `trace` and `live` are used. */
    struct guest_config config;
    /* For this machine's kernel: the program strata-agent, as a path or a name to be found in PATH. NULL: the kernel is
     * a guest's. */
    const char *agent;
    /* with `agent`: record only threads of this process and its children; 0: all threads */
    pid_t pid_filter;
    bool is_optional; /* a guest that has sent nothing is left out of the trace */
    /* The guest of a machine that is also recorded. The machine's recorder starts, stops and ends this recorder by the
     * functions below. This recorder prints nothing, because the machine has the terminal, and has only the recording's
     * limit. */
    bool is_led;
    bool is_primary;
};

/* -ENOMEM. */
int kernel_recorder_new(const struct kernel_recorder_settings *settings, struct recorder **ret);
/* The guest with its counts, or NULL if it was not started. */
const struct guest *kernel_recorder_guest(const struct recorder *recorder);

/* ---- For the recorder of the guest's machine, with `is_led` ---- */

/* Starts RECORDER now, with its agent at PORT (borrowed). The process must have one thread. MACHINE, which was added
 * before, is woken when RECORDER has ended or lost its connection. READ_MACHINE reads what MACHINE's monitor has
 * reported until now. Without this call, RECORDER records nothing. -errno with ERROR. */
int kernel_recorder_join(struct recorder *recorder, struct recorder *machine,
                         void (*read_machine)(struct recorder *machine), const char *port,
                         struct error *error);
/* Report that the machine had stopped by NS (CLOCK_MONOTONIC), and that it was still stopped at NS and resumed then. */
void kernel_recorder_machine_stopped(struct recorder *recorder, uint64_t ns);
void kernel_recorder_machine_resumed(struct recorder *recorder, uint64_t ns);
/* Report migrations. came: a migration from another QEMU brought the machine, which continued here at NS. left: a
 * migration took it away, and it had stopped at NS; 0: it has not left after all. */
void kernel_recorder_machine_came(struct recorder *recorder, uint64_t ns);
void kernel_recorder_machine_left(struct recorder *recorder, uint64_t ns);
/* Reports that the agent has closed its port or was killed. */
void kernel_recorder_agent_closed(struct recorder *recorder);
/* Stops the tracing. The data that the agent still has is read. */
void kernel_recorder_stop(struct recorder *recorder);
/* Ends RECORDER, if it has not ended. Afterwards, its state is final. TRACED: the error if the agent has not sent the
 * remaining data; SILENT: the error if it has sent nothing at all. */
void kernel_recorder_end(struct recorder *recorder, const char *traced, const char *silent);
/* True if nothing more will come for now, because RECORDER has ended or there is no connection. */
bool kernel_recorder_is_away(const struct recorder *recorder);
/* True if its traced agent does not answer: it may have been killed, or get no CPU time. */
bool kernel_recorder_is_silent(const struct recorder *recorder);
/* True if RECORDER has ended. */
bool kernel_recorder_has_ended(const struct recorder *recorder);
