/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of `strata record` tell each other. */

#include "analysis/needs.h"
#include "cli/options.h"
#include "cmd/record/config.h"
#include "cmd/record/guests.h"
#include "cmd/record/live.h"
#include "cmd/record/metrics.h"
#include "cmd/record/triggers.h"
#include "record/retention.h"

/* Of recording from per-CPU trace buffers. */
struct record_buffers_options {
    struct strings names;  /* of files of them */
    struct strings tables; /* files that declare events */
    const char *cpus;
    uint64_t buffer_size; /* bytes; 0: as it is */
    uint64_t memory;
    uint64_t poll; /* ms */
    bool backlog, leave_on, libxenctrl;
};

/* --min-free was not given. */
#define RECORD_MIN_FREE_DEFAULT UINT64_MAX

#define RECORD_BUFFERS_DEFAULT \
    {                          \
        .poll = 100            \
    }

extern const struct cli_option record_buffers_options[];
/* Of struct record_options: what all that is recorded has in common. */
extern const struct cli_option record_common_options[];

struct record_options {
    const char *verb;                  /* "record", or that which is a spelling of it */
    const char *output;                /* NULL, of what is run: record_output() */
    uint64_t time;                     /* ns; 0: until it ends or is stopped */
    uint64_t max_size;                 /* bytes; 0: any */
    uint64_t min_free;                 /* on the disk, bytes; 0: any */
    struct retention_limit flight;     /* --flight: what is kept; 0: everything */
    struct strings domains;            /* --libvirt: one at most */
    const char *libvirt, *libvirt_uri; /* that domain, and the daemon that has it; NULL */
    bool attach, xen, keep, strict;
    bool restarts;     /* what the directory has is kept as a snapshot */
    bool runs;         /* a command */
    bool host_threads; /* the host's kernel only while threads of what is recorded run */
    /* Events of the kernels of a QEMU's guest and of the host, with commas between; "": what is usual; NULL: none. */
    const char *guest, *host;
    const char *qemu; /* that the command starts in its own way; NULL: it is to be seen */
    /* Of Xen words of schema/xen/event_mask.h, of programs and virtual machine monitors what switches their events
     * on; none: all, or what is usual there. */
    struct strings events;
    const char *for_analyses;   /* --for: "exits,sched"; NULL: not given */
    struct needed_events needs; /* the events of these */
    struct record_buffers_options buffers;
    struct record_guest_options guests;
    struct record_live_options live;
    struct record_metrics_options metrics;
    struct record_triggers_options triggers;
    struct record_config_options config;
};

void record_options_done(struct record_options *options);
/* Records what no command is run for: guests, Xen, buffers, this machine's kernel. An exit status. */
int record_beside(const struct record_options *options);

/* Where the trace goes: what was given, or a name made of this moment, into BUF. */
const char *record_output(const struct record_options *options, char *buf, size_t size);

/* Each returns an exit status. COMMAND is ended by NULL. */
int record_program(const struct record_options *options, char **command);
/* PROGRAM is the QEMU that COMMAND starts, after N_BEFORE words, or in its own way (options->qemu). */
int record_vm(const struct record_options *options, const char *program, unsigned n_before,
              char **command);
/* The QEMU that is process PID, or that serves QMP on SOCKET (then PID does not matter; NULL: it is looked for). */
int record_vm_attached(const struct record_options *options, pid_t pid, const char *socket);
/* The same of libvirt's domain --libvirt; of a process that libvirt has started. */
struct qemu_process;
int record_libvirt(const struct record_options *options);
int record_libvirt_process(const struct record_options *options,
                           const struct qemu_process *running);
/* One that runs, as HOW has it: `running`, `monitor`, `qmp`, `connection`, which it takes ownership of, and `domain`. */
struct qemu_recorder_settings;
int record_vm_running(const struct record_options *options,
                      const struct qemu_recorder_settings *how);
/* N processes that run virtual machines of KVM, and have no events of their own. */
int record_vmms_attached(const struct record_options *options, unsigned n, const pid_t *pids);
/* What the N operands mean: one process, several that run virtual machines of KVM, or one socket of QMP. */
int record_attached(const struct record_options *options, int n, char **operands);
/* Adds the recorders of --xen and --percpu. An exit status. */
struct record_run;
int record_buffers_add(struct record_run *run);
