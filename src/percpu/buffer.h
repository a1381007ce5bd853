/* SPDX-License-Identifier: MIT */
#pragma once

/* How a CPU writes into its buffer: the protocol of strata/percpu.h (the ordinary case, inlined into the
 * macros) and percpu/emit.c (all others). The byte tables are in strata/percpu_view.h and percpu_area.h.
 *
 * Only the CPU itself writes records, so nothing needs a locked instruction. But an interrupt may occur between any two
 * instructions of an emission, emit a record itself, and be interrupted in turn. Each interrupt returns before the
 * interrupted code continues.
 *
 * Positions have 64 bits. The low half counts bytes from the begin of the data, always less than X. The high half
 * counts how often the end was passed ("laps"). So positions only grow, and no compare-and-exchange can mistake a later
 * state for an earlier one. prod is the position modulo 2X: the low half, plus X in odd laps. Space before `reserve` is
 * in use; records before `committed` are complete and published in prod. Emitting is
 *
 *     again:  from = reserve
 *             time = cycles
 *             end = from + size
 *             if end >= limit, or cons != cons_seen, or committed != from: the slow way
 *             if not compare_and_exchange(reserve, from, end)       [one instruction, not locked]
 *                 the slow way                   // an interrupt emitted: its time is before ours now
 *             write the record
 *             prod = end                         [release]
 *             committed = end
 *             if reserve != end: publish()       // interrupts emitted while our record was open
 *
 *     slow:   from = reserve
 *             outermost = committed == from      // else a record before ours is still open
 *             cons                               [acquire]
 *             if outermost and there are lost ones to tell: LOST_RECORDS goes in front of the record
 *             what does not fit before the ring's end goes after a filler
 *             if all of it does not fit between from and cons + X: drop(), if reserve == from still
 *             if not compare_and_exchange(reserve, from, end): slow again
 *             write fillers, LOST_RECORDS, record
 *             if outermost: publish()
 *
 *     publish: end = reserve; while committed < end:
 *                  look whether cons came below the mark; prod = end; committed = end; end = reserve
 *              then settle()
 *
 *     settle: notifies when the mark was crossed, works out `limit` from reserve and cons
 *
 *     drop:   w = lost; time = cycles
 *             if w has none to tell: first = time by compare-and-exchange from what it was before w was read
 *             lost = w + 1 by compare-and-exchange; else drop again
 *             limit = 0                          // the next one goes the slow way, to tell of it
 *
 * ## What holds at every instant (between any two instructions of the CPU)
 *
 *  1. Records are in the order of their stamps: a stamp is taken before the space, and the space is reserved only if no
 *     other record was reserved since.
 *  2. Everything between cons and prod is complete: whole records and fillers, none of which crosses the ring's end.
 *  3. committed <= reserve. If they are equal, no record is open. An emission that finds them equal is the outermost,
 *     and stays the outermost until it has published, because all emissions that interrupt it find them unequal. The
 *     interrupting emissions leave their records to the outermost, which checks again after it has published.
 *  4. prod and committed never decrease. Only the outermost emission writes them, prod first. An emission between the
 *     two stores finds committed < reserve, so it is nested.
 *  5. reserve - cons <= X, so unread data is never overwritten. `limit` may be stale, but it is always valid: it lies
 *     in the lap for which it was computed, not beyond the end of that lap or the space that cons left free then, and
 *     cons only grows. In a later lap, every position is beyond it.
 *  6. An impossible cons (the consumer writes it, and is not trusted) leaves no room, so emitted records are counted as
 *     lost. Whatever a consumer writes, the CPU never writes outside of the data of its own buffer.
 *  7. While no emission is under way: emitted = published records (without LOST_RECORDS and fillers) + records reported
 *     by LOST_RECORDS + records pending in `lost`. A report changes the upper bits of `lost`, so an interrupted drop(),
 *     which may have read `first` before, begins again.
 *  8. `first` is the stamp of the first pending record. After a consumer has taken over some pending records, it may be
 *     earlier than the first remaining one.
 *  9. LOST_RECORDS comes before the first record for which the outermost emission found room after the loss. Nested
 *     emissions do not report losses; their records in between lie before it.
 * 10. cons_seen is stored after its limit. If an interrupt settles in between, either cons had changed or the older
 *     limit is the smaller one. So the next record detects a limit from before the consumer's last step, and no
 *     ordinary record crosses the mark.
 * 11. `crossed` is even if the published unread bytes were below the mark at the last check. It changes by
 *     compare-and-exchange from the value that was read before the check, so either an interrupt or the code that it
 *     interrupted notifies, but not both.
 *
 * A consumer runs on another processor. It loads prod by acquire and reads below; it stores cons by release, after its
 * last read. The CPU may see that store late. So a consumer that waits for a notification must check once more after
 * its last store of cons, and must limit its wait.
 *
 * tests/model/percpu.pml has all this for spin to search: change both. */

#include "strata/percpu.h"

#define LOST_BITS 52
#define LOST_MASK ((1ULL << LOST_BITS) - 1)

/* LOST_RECORDS: header, cycles, {count, domain and vcpu, first: 64}. */
#define LOST_WORDS 4U
#define LOST_SIZE (4U + 8U + 4U * LOST_WORDS)

#define PERCPU_MIN(a, b) ((a) < (b) ? (a) : (b))

static inline uint32_t round_page(uint32_t bytes)
{
    return (bytes + STRATA_PERCPU_PAGE - 1) & ~(STRATA_PERCPU_PAGE - 1);
}

/* The number of lost records in LOST that a consumer does not know (KNOWN). */
static inline uint64_t lost_untold(uint64_t lost, uint64_t known)
{
    uint64_t n = lost & LOST_MASK;

    if (lost >> LOST_BITS != known >> LOST_BITS || (known & LOST_MASK) > n)
        return n;
    return n - (known & LOST_MASK);
}
