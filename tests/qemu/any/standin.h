/* SPDX-License-Identifier: MIT */
#pragma once

/* What the stand-in does instead of QEMU's monitor. */

#include "trace/control.h"

/* Switches on every event that can be, or none. */
void standin_enable(bool on);
/* All registered events, one a line: "NAME 0|1 STATE", and their number. */
unsigned standin_list(void);
