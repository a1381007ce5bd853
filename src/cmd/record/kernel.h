/* SPDX-License-Identifier: MIT */
#pragma once

/* The kernels that `strata record` takes besides what it runs: a guest's, this machine's. */

#include "cli/options.h"
#include "record/kernel/guests.h"

/* Bytes of each CPU's buffer where none are given. */
#define RECORD_KERNEL_BUFFER (UINT64_C(4) << 20)

struct record_kernel {
    struct guest_event *items;
    struct strings words;
    struct trace_config trace; /* points into the above */
};

/* What is wished for: GIVEN, names of events with commas between, which is cut up, and the NEEDED; without either, what
 * is usual. IS_HOST: of this machine's, and of the needed and usual ones those that are there. BUFFER_SIZE: bytes of each
 * CPU's buffer; 0: RECORD_KERNEL_BUFFER. -ENOMEM; -EINVAL with ERROR. */
int record_kernel_choose(char *given, const struct strings *needed, bool is_host,
                         uint64_t buffer_size, struct record_kernel *ret, struct error *error);
/* What is usual, whether or not it is there: *RET_N patterns. */
const char *const *record_kernel_usual(bool is_host, unsigned *ret_n);
void record_kernel_done(struct record_kernel *kernel);

/* The program strata-agent, for this machine's: beside strata, or to be found in PATH. Returns BUF, or a
 * constant. */
const char *record_kernel_agent(char *buf, size_t size);

/* Whether a kernel may hold what it records for seconds, or until it is asked: what is kept is looked at later, and is far
 * longer than that. */
struct record_options;
bool record_kernel_may_hold(const struct record_options *options);

/* Tells what came of it into DIR. Whether nothing was lost. */
bool record_kernel_tell(const char *dir, const struct guest *guest);
/* … and what readers of the trace should know of it. */
void record_kernel_tell_problems(const struct guest *guest);
/* Whether events came that could not be written, other than those after --max-size: the disk is full, for example. */
bool record_kernel_is_cut(const struct guest *guest);

/* Adds the recorders of this machine's kernel, where --host asks for it, and of guests, and what prints them live, before
 * all others. LEADS: the recording is about guests. BESIDE: beside something else, which is recorded even if this machine's kernel
 * may not be traced. PID: the process that --host-threads means; 0: what the recording starts. An exit status. */
struct record_run;
int record_kernels_add(struct record_run *run, bool is_primary, bool beside, pid_t pid);
