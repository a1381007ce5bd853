/* SPDX-License-Identifier: MIT */
#pragma once

/* What holds of every manifest, read or written. */

#include "tracedir/manifest.h"

/* -EINVAL with ERROR. */
int manifest_check(const struct manifest *manifest, const char *name, struct error *error);
