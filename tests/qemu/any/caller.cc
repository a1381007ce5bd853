/* SPDX-License-Identifier: MIT */
/* QEMU's trees have some C++, which includes C's headers like this. */
extern "C" {
#include "qemu/osdep.h"

#include "trace-standin.h"

void call_from_cplusplus(void);
}

void call_from_cplusplus(void)
{
    trace_keywords(4, 5, 6);
    trace_absent(7);
}
