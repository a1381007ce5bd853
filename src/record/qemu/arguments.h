/* SPDX-License-Identifier: MIT */
#pragma once

/* QEMU's command line: what its user asked for, and the same command line with the additions that recording needs. */

#include "base/arena.h"
#include "base/error.h"
#include "tracedir/machine.h"

#define VMM_ACCELERATOR_SIZE 64u
#define VMM_MACHINE_SIZE 64u
/* The device of the port for the guest's agent. */
#define VMM_PORT_ID "strata-record-port"

/* The parts of a user's command, and of the files of its -readconfig, that matter for recording. Strings lie in the
 * command. */
struct qemu_arguments {
    const char *program;     /* QEMU */
    const char *const *argv; /* from the word that starts QEMU */
    unsigned n;
    const char *log;     /* of -D; NULL: standard error */
    bool logs;           /* -d or -trace is given, so QEMU writes a log */
    const char *message; /* of -msg */
    /* Accelerators in order of preference: "kvm:tcg"; "": not given. */
    char accelerator[VMM_ACCELERATOR_SIZE];
    char machine[VMM_MACHINE_SIZE]; /* the type; "": not given */
    char name[MACHINE_NAME_SIZE];   /* of the virtual machine; "": not given */
    const char *uuid;               /* its UUID; NULL: not given */
    bool daemonize;
    bool names_threads; /* -name … debug-threads= is given */
};

/* Parses ARGV without changing it. The same command gives the same result, unless its files have changed. -ENOMEM: *RET
 * is empty, and may be used. */
int qemu_arguments_read(const char *program, const char *const *argv, unsigned n,
                        struct qemu_arguments *ret);

/* Additions to the command line. NULL or 0: not added. */
struct vmm_additions {
    const char *const *events; /* patterns to be switched on */
    unsigned n_events;
    const char *log; /* file for the log, with times */
    /* File of -trace: for simpletrace, or for the log of a QEMU without the backend simple. */
    const char *trace_file;
    const char *config;  /* a file for -readconfig, with monitors and the members below */
    const char *monitor; /* path of a socket on which QEMU speaks QMP with the recorder */
    const char *control; /* path of a QMP socket on which QEMU listens */
    const char *port;    /* path of the socket of the guest's port */
};

/* Makes the command line with the additions after the user's own words: *RET_N words, ended by NULL, in ARENA. Writes
 * additions->config. -EINVAL with ERROR: the command line and the additions contradict each other. */
int qemu_arguments_build(const struct qemu_arguments *arguments,
                         const struct vmm_additions *additions, struct arena *arena,
                         char ***ret_argv, unsigned *ret_n, struct error *error);

/* The virtio-serial device that the machine type supports, or NULL. */
const char *vmm_serial_device(const struct qemu_arguments *arguments);
