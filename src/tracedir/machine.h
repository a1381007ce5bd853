/* SPDX-License-Identifier: MIT */
#pragma once

/* What machine a source of a trace directory is of, by name: for labels of metrics. */

#include "tracedir/manifest.h"

#define MACHINE_NAME_SIZE 128
/* The source of the guest of the QEMU that `strata record` starts or attaches to. */
#define MACHINE_GUEST_OF_QEMU "guest"

/* A QEMU, whose version is known, or another monitor, whose accelerator is; not a program that has events of the layer. */
bool machine_is_vm(const struct manifest_source *source);
/* QEMU's -name, without what stands beside it, into BUF. False: it has none. */
bool machine_vm_name(const struct manifest_vmm *vmm, char *buf, size_t size);
/* The name of the machine of SOURCE, one of MANIFEST, into BUF. Of a guest's kernel and of QEMU, the name of the virtual
 * machine: QEMU's -name; MACHINE_GUEST_OF_QEMU if there is none; or the name that was given to the guest. Of another
 * monitor, the name of the source. Of all others the host's name, which may be empty. */
void machine_name(const struct manifest *manifest, const struct manifest_source *source, char *buf,
                  size_t size);
