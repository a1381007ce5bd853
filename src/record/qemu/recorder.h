/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder of a virtual machine: of a QEMU that it starts, or of one that runs already.
 *
 *     DIR/vmm/trace.log      what QEMU logs; or trace.simple; or
 *     DIR/program/           the native trace of one that links libstrata (record/rings/programs.h)
 *     DIR/vmm/clock-pairs    how the times of the log relate to the host's clock
 *     DIR/vmm/trace-events   the declarations of QEMU's events
 *
 * The guest's kernel is recorded by a recorder of its own (record/kernel/kernel_recorder.h), which this one starts as soon as
 * the guest has a port for the agent, stops, and ends with QEMU.
 *
 * It is the primary recorder, and ends with QEMU. A QEMU that it has started gets SIGTERM when the recorder is stopped, after
 * the guest has sent the rest; at once when it is stopped again; then SIGKILL. A signal that the terminal has sent to both
 * is QEMU's, the first time. In a QEMU that ran already, what was changed is put back, and QEMU goes on. */

#include "base/child.h"
#include "control/libvirt.h"
#include "control/qmp.h"
#include "record/qemu/probe.h"
#include "record/qemu/process.h"
#include "record/recorder.h"

/* All borrowed, for as long as the recorder is there. */
struct qemu_recorder_settings {
    const char *const *command; /* that starts QEMU, as its user would give it */
    unsigned n_command;
    unsigned n_before;       /* words of it that run another program, in front of QEMU's own */
    const char *program;     /* QEMU */
    const char *name, *uuid; /* of the virtual machine; NULL: not known */
    bool wrapped;            /* the command is a script that passes its last arguments on to QEMU */
    /* Attach to this QEMU, which has that command; NULL: start it. */
    const struct qemu_process *running;
    const struct qmp_endpoint *monitor; /* of that */
    struct libvirt_domain *domain;      /* libvirt's domain; NULL: not libvirt's */
    const char *qmp; /* `monitor` if it is a socket that others may use; else NULL */
    /* An open connection to `monitor`, which the recorder uses first and closes; NULL: none. */
    struct qmp *connection;
    const struct qemu_probe *probe;
    const char *const *events; /* patterns of QEMU's */
    unsigned n_events;
    struct recorder *
        guest; /* of its kernel: a guest recorder that is led, added after; NULL: is not recorded */
    unsigned passes;   /* PRINTABLE_...: what of QEMU's log reaches the terminal */
    const char *trace; /* $STRATA_TRACE or NULL */
};

/* What came of it, when it has finished. */
struct qemu_summary {
    double seconds;
    uint64_t events; /* lines of the log, or events of libstrata's rings */
    uint64_t lost;
    uint64_t bytes;       /* of the log and of trace.simple */
    uint64_t simple_size; /* of trace.simple */
    uint64_t worst_ns;    /* by which the times of the log may be wrong at most */
    bool is_cut_off;      /* the trace of QEMU itself ends before QEMU did */
    bool has_come;        /* QEMU has answered */
    bool is_running;      /* or was: its main loop has answered */
    bool is_ended;        /* by the recorder, as the recording could not go on */
    bool is_refused;      /* QEMU refused to record what was asked for */
    bool is_left_changed; /* its settings could not be restored */
    bool is_agent_lost;   /* the guest's agent was missing at the end, though its machine ran */
    const struct child *child; /* what was started */
};

/* -ENOMEM: the connection of SETTINGS stays the caller's. */
int qemu_recorder_new(const struct qemu_recorder_settings *settings, struct recorder **ret);
void qemu_recorder_sum_up(const struct recorder *recorder, struct qemu_summary *ret);
