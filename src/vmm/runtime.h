/* SPDX-License-Identifier: MIT */
#pragma once

/* The folder for what lives only as long as a recording does: FIFOs, sockets, files for the monitor to read
 * when it starts. It is this user's alone, and removed at the end. A file in it is locked by the recorder, so
 * that one whose recorder was killed is told from one in use, and removed by whoever records next. */

#include "base/fault.h"

struct vmm_runtime {
    char path[64]; /* "" : there is none */
    int lock;
};

/* Makes it in PARENT, $XDG_RUNTIME_DIR; in /tmp where that is NULL, not there, or too long for sockets to have
 * names in it. Removes those that were left behind there. -errno with FAULT. */
int vmm_runtime_open(const char *parent, struct vmm_runtime *ret, struct fault *fault);
/* Removes it with all files in it. */
void vmm_runtime_done(struct vmm_runtime *runtime);

/* PATH/NAME into BUF, which has room for a socket's name. Returns BUF. */
#define VMM_RUNTIME_NAME_MAX 100
const char *vmm_runtime_name(const struct vmm_runtime *runtime, const char *name,
                             char buf[VMM_RUNTIME_NAME_MAX]);
