/* SPDX-License-Identifier: MIT */
#pragma once

/* The metadata of native traces of this process, with the classes that are registered. */

#include <stddef.h>

#include "runtime/sinks/ctf_metadata.h"

/* Fills in what is the same in all traces of this process: the kind of clock, the program and the PID. */
void ctf_metadata_of_process(struct ctf_metadata *metadata);

/* Makes the text with classes 1 to N_CLASSES. *RET has *RET_LEN bytes, and the caller frees it. -ENOMEM. */
int ctf_metadata_text(const struct ctf_metadata *metadata, uint32_t n_classes, char **ret,
                      size_t *ret_len);
