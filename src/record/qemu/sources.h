/* SPDX-License-Identifier: MIT */
#pragma once

/* The manifest of a virtual machine's recording. */

#include "record/qemu/recording.h"

#define VMM_FOLDER "vmm"
#define VMM_LOG "vmm/trace.log"
#define VMM_SIMPLE "vmm/trace.simple"
#define VMM_PAIRS "vmm/clock-pairs"
#define VMM_DECLARATIONS "vmm/trace-events"

/* FINAL: all is known. -errno with ERROR. */
int qemu_sources_write(const struct qemu_recording *recording, bool final, struct error *error);

/* A sentence for whoever reads the trace. */
void qemu_recording_problem(struct qemu_recording *recording, const char *format, ...)
    _printf_(2, 3);
