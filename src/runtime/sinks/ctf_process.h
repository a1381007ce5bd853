/* SPDX-License-Identifier: MIT */
#pragma once

/* The metadata of native traces of this process, with the classes that are registered. */

#include <stddef.h>

#include "runtime/sinks/ctf_metadata.h"

/* Fills what is the same of all of them: the kind of clock and whose they are. */
void ctf_metadata_of_process(struct ctf_metadata *metadata);

/* The text for classes 1 to N_CLASSES, allocated; its length in *ret_len. -ENOMEM. */
int ctf_metadata_text(const struct ctf_metadata *metadata, uint32_t n_classes, char **ret,
                      size_t *ret_len);
