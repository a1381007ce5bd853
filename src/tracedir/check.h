/* SPDX-License-Identifier: MIT */
#pragma once

/* Checks what every manifest must fulfil, after reading and before writing it. */

#include "tracedir/manifest.h"

/* -EINVAL with ERROR. */
int manifest_check(const struct manifest *manifest, const char *name, struct error *error);
