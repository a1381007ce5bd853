/* SPDX-License-Identifier: MIT */
#pragma once

/* The names of the events of QEMU's monitor, as versions from 5.2 to 10.2 have them (qapi/ of its sources; `query-qmp-schema` of
 * a QEMU lists its own). Others may have more. In the order of the alphabet, ended by NULL. */
extern const char *const qmp_events[];
