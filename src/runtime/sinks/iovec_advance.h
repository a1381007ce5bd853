/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <sys/uio.h>

/* After DONE bytes of N pieces were written: advances *PIECES to the rest and returns how many are
 * left. */
static inline unsigned iovec_advance(struct iovec **pieces, unsigned n, size_t done)
{
    struct iovec *at = *pieces;

    for (; n && done >= at->iov_len; n--)
        done -= (at++)->iov_len;
    if (n) {
        at->iov_base = (char *)at->iov_base + done;
        at->iov_len -= done;
    }
    *pieces = at;
    return n;
}
