/* SPDX-License-Identifier: MIT */
#pragma once

/* The names of the events of QEMU's monitor in versions 5.2 to 10.2 (qapi/ of its sources; `query-qmp-schema` of a QEMU
 * lists its own events). Other versions may have more. In alphabetical order, ended by NULL. */
extern const char *const qmp_events[];
