/* SPDX-License-Identifier: MIT */
#pragma once

/* QEMU's command line: what its user asked for, and the same with what recording needs besides. */

#include "base/arena.h"
#include "base/error.h"
#include "tracedir/machine.h"

#define VMM_ACCELERATOR_SIZE 64u
#define VMM_MACHINE_SIZE 64u
/* The device of the port for the guest's agent. */
#define VMM_PORT_ID "strata-record-port"

/* What of a user's command, and of the files of its -readconfig, matters here. Strings lie in the command. */
struct qemu_arguments {
    const char *program;     /* QEMU */
    const char *const *argv; /* from the word on that starts it */
    unsigned n;
    const char *log;     /* of -D; NULL: standard error */
    bool logs;           /* -d or -trace: something goes there */
    const char *message; /* of -msg */
    /* What may run the guest, in the order of preference: "kvm:tcg"; "": it is not said. */
    char accelerator[VMM_ACCELERATOR_SIZE];
    char machine[VMM_MACHINE_SIZE]; /* the type; "": it is not said */
    char name[MACHINE_NAME_SIZE];   /* of the virtual machine; "": it is not said */
    const char *uuid;               /* its UUID; NULL: it is not said */
    bool daemonize;
    bool names_threads; /* -name … debug-threads= says whether */
};

/* Changes nothing. The same command gives the same again, unless its files have changed. -ENOMEM: *RET is empty, and may be
 * used. */
int qemu_arguments_read(const char *program, const char *const *argv, unsigned n,
                        struct qemu_arguments *ret);

/* What is added. NULL, or 0: not that. */
struct vmm_additions {
    const char *const *events; /* patterns to be switched on */
    unsigned n_events;
    const char *log; /* the log goes there, with times */
    const char
        *trace_file;    /* of -trace: simpletrace goes there, or, of a QEMU without that, the log */
    const char *config; /* a file for -readconfig, with monitors, and what is below */
    const char *monitor; /* the name of a socket that QEMU is to speak QMP on, with us */
    const char *control; /* the name of another one, which it is to listen on */
    const char *port;    /* the name of the socket of the guest's port */
};

/* The command line with the additions behind the user's own: NULL-ended, in ARENA, with *ret_n words, and
 * additions->config written. -EINVAL with ERROR: they do not go together. */
int qemu_arguments_build(const struct qemu_arguments *arguments,
                         const struct vmm_additions *additions, struct arena *arena,
                         char ***ret_argv, unsigned *ret_n, struct error *error);

/* The virtio-serial device that the machine has a place for; NULL: none. */
const char *vmm_serial_device(const struct qemu_arguments *arguments);
