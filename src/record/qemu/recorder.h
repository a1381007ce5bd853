/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder of a virtual machine: of a QEMU that it starts, or of a running QEMU. It writes one of the first three:
 *
 *     DIR/vmm/trace.log      QEMU's log; or trace.simple; or
 *     DIR/program/           the native trace of a QEMU that links libstrata (record/rings/programs.h)
 *     DIR/vmm/clock-pairs    how the times of the log relate to the host's clock
 *     DIR/vmm/trace-events   the declarations of QEMU's events
 *
 * Another recorder records the guest's kernel (record/kernel/kernel_recorder.h). This recorder starts it as soon as the
 * guest has a port for the agent, stops it, and ends it with QEMU.
 *
 * It is the primary recorder, and ends with QEMU. When the recorder is stopped, a QEMU that it has started gets SIGTERM
 * after the guest has sent its remaining data; at once when it is stopped again; then SIGKILL. The first signal that
 * the terminal sends to both is left to QEMU. In an attached QEMU, changed settings are restored, and QEMU continues to
 * run. */

#include "base/child.h"
#include "control/libvirt.h"
#include "control/qmp.h"
#include "record/qemu/probe.h"
#include "record/qemu/process.h"
#include "record/recorder.h"

/* All pointers are borrowed for the life of the recorder. */
struct qemu_recorder_settings {
    const char *const *command; /* command that starts QEMU, as its user gave it */
    unsigned n_command;
    unsigned n_before;       /* words of the command before QEMU's own, which run another program */
    const char *program;     /* QEMU */
    const char *name, *uuid; /* of the virtual machine; NULL: unknown */
    bool wrapped;            /* the command is a script that passes its last arguments to QEMU */
    /* Attach to this QEMU, which was started by `command`; NULL: start it. */
    const struct qemu_process *running;
    const struct qmp_endpoint *monitor; /* monitor of `running` */
    struct libvirt_domain *domain;      /* domain of `running`; NULL: not started by libvirt */
    const char *qmp; /* `monitor` if it is a socket that others may use; else NULL */
    /* An open connection to `monitor`, which the recorder uses first and closes; NULL: none. */
    struct qmp *connection;
    const struct qemu_probe *probe;
    const char *const *events; /* patterns of QEMU's events */
    unsigned n_events;
    /* The recorder of the guest's kernel, with `is_led`, added after this one; NULL: the guest is not recorded. */
    struct recorder *guest;
    unsigned passes;   /* PRINTABLE_...: which characters of QEMU's log reach the terminal */
    const char *trace; /* $STRATA_TRACE or NULL */
};

/* The result, after the recorder has finished. */
struct qemu_summary {
    double seconds;
    uint64_t events; /* lines of the log, or events of libstrata's rings */
    uint64_t lost;
    uint64_t bytes;       /* of the log and of trace.simple */
    uint64_t simple_size; /* of trace.simple */
    uint64_t worst_ns;    /* largest error of the times of the log */
    bool is_cut_off;      /* the trace of QEMU itself ends before QEMU did */
    bool has_come;        /* QEMU has answered */
    bool is_running;      /* its main loop has answered */
    bool is_ended;        /* the recorder ended QEMU because the recording could not continue */
    bool is_refused;      /* QEMU refused a request of the recorder */
    bool is_left_changed; /* QEMU's settings could not be restored */
    /* the guest's agent was missing at the end although its machine ran */
    bool is_agent_lost;
    const struct child *child; /* the started process */
};

/* -ENOMEM: the caller still owns the connection of SETTINGS. */
int qemu_recorder_new(const struct qemu_recorder_settings *settings, struct recorder **ret);
void qemu_recorder_sum_up(const struct recorder *recorder, struct qemu_summary *ret);
