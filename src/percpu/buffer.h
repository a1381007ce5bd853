/* SPDX-License-Identifier: MIT */
#pragma once

/* How a CPU writes into its buffer: the protocol of strata/percpu.h (the ordinary case, inlined into the
 * macros) and percpu/emit.c (all others). The byte tables are in strata/percpu_view.h and percpu_area.h.
 *
 * Only the CPU itself writes records, so nothing needs a locked instruction. But an interrupt may come
 * between any two instructions of an emission and emit itself, and be interrupted in turn; each returns
 * before what it interrupted goes on.
 *
 * Positions are 64 bits: the low half counts bytes from the begin of the data, always less than X; the
 * high half how often the end was passed ("laps"). So they only grow, and no compare-and-exchange can
 * take a later state for an earlier one. prod is that position modulo 2X: the low half, plus X in odd
 * laps. `reserve` says up to where space was given away, `committed` up to where records are complete and
 * prod was published. Emitting is
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
 *  1. Records lie in the order of their stamps: a stamp is taken before the space, and the space is only
 *     given if no one took any since.
 *  2. All between cons and prod is complete: records and fillers, whole, none across the ring's end.
 *  3. committed <= reserve, and when they are equal no record is open: who finds them equal is outermost,
 *     and stays so until it has published, as all that interrupt it find them unequal. Those leave their
 *     records to the outermost, which looks again after it has published.
 *  4. prod and committed never go back: they are written by the outermost alone, prod first. What comes
 *     between the two stores finds committed < reserve, and is nested.
 *  5. reserve - cons <= X: what was not read is never written over. `limit` may be stale, but is always
 *     true: it lies in the lap that it was worked out for, not beyond that lap's end or what cons left free
 *     then, and cons only grows; in a later lap every position is beyond it.
 *  6. A cons that cannot be (it is the consumer's, which is not trusted) leaves no room: what is
 *     emitted is counted as lost. Nothing that a consumer can write makes the CPU write outside of the
 *     data of its own buffer.
 *  7. emitted = published records (but LOST_RECORDS and fillers) + reported by LOST_RECORDS + pending in
 *     `lost`, whenever no emission is under way. Telling changes the upper bits of `lost`, so that a
 *     drop() that it interrupts, which may have looked at `first` before, begins again.
 *  8. `first` is the stamp of the first of those pending. (Of those that are left when a consumer has
 *     taken over some, it may be earlier.)
 *  9. LOST_RECORDS comes in front of the first record that the outermost found room for after the loss.
 *     Nested ones do not tell: what they put into the buffer in between lies before it.
 * 10. cons_seen is stored after the limit that belongs to it. When an interrupt settles in between, cons
 *     had changed, or the older limit is the smaller one; so a limit from before the consumer's last
 *     step is found out by the next record, and the mark is crossed by no ordinary record.
 * 11. `crossed` is even while the published unread bytes were last seen below the mark. It changes by
 *     compare-and-exchange from the value that was read before those were looked at: of an interrupt and
 *     what it interrupted, one notifies.
 *
 * A consumer runs on another processor. It loads prod by acquire and reads below; it stores cons by
 * release, after its last read. The CPU sees that store late: a consumer that waits to be notified must
 * look once more after its last store of cons, and not wait for ever.
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

/* How many of those in LOST are not KNOWN to a consumer. */
static inline uint64_t lost_untold(uint64_t lost, uint64_t known)
{
    uint64_t n = lost & LOST_MASK;

    if (lost >> LOST_BITS != known >> LOST_BITS || (known & LOST_MASK) > n)
        return n;
    return n - (known & LOST_MASK);
}
