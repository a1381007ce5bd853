/* SPDX-License-Identifier: MIT */
#ifndef STRATA_PERCPU_VIEW_H
#define STRATA_PERCPU_VIEW_H

/* Per-CPU trace buffers in the layout that Xen publishes, from the consumer's side: of a running Xen, or
 * of any program that traces with strata/percpu.h.
 *
 * Freestanding: needs no libc. Functions return 0 or more, or a negative error; the errors have the
 * numbers of Linux's errno. Outputs are untouched when a function fails. What is in the buffers is not
 * believed before it is checked; what is inside of records, the consumer checks.
 *
 * Threads: one consumer at a time per buffer, beside the CPU that writes it. Signals: all functions are
 * safe in signal handlers, under the same rule.
 *
 * ## The buffer of a CPU (Xen calls it struct t_buf), N pages of 4096 bytes
 *
 *     offset  bytes
 *          0      4  cons   up to where it was read; the consumer writes it
 *          4      4  prod   up to where there are records; the CPU writes it
 *          8      X  data   X = N * 4096 - 8: not a power of two
 *
 * cons and prod run modulo 2X: position P lies at data + P % X. So cons == prod is an empty buffer, and
 * prod == cons + X (modulo 2X) a full one. Both are multiples of 4. Records lie one after the other; they
 * may cross from page to page, but not the end of the data, where a record WRAP_BUFFER fills what is too
 * short for the next one.
 *
 * ## A record (struct t_rec)
 *
 *     offset  bytes
 *          0      4  header: bits 0-27 event, 28-30 E, how many extra words, 31 C, whether cycles follow
 *          4    8*C  cycles of the CPU's time stamp counter, low word first
 *      4+8*C    4*E  extra words: the payload
 *
 * Of an event, bits 16-27 are its class (one bit), 12-15 its subclasses, 0-11 its number.
 *
 *     0x1f001  LOST_RECORDS  with cycles; {count, domain:16 | vcpu:16, cycles of the first lost one: 64}:
 *                            the CPU had no room for so many records before this one
 *     0x1f002  WRAP_BUFFER   a filler; its extra words mean nothing. With cycles where more than 7 extra
 *                            words have to be filled
 *
 * ## Where the buffers are (struct t_info)
 *
 *     offset  bytes
 *          0      2  pages per buffer
 *          2    2*C  for each CPU: where its list of pages begins, in units of 4 bytes from the start of
 *                    this structure; 0: the CPU is offline and has no buffer
 *          …         the lists: 4 bytes per page, its machine frame number
 *
 * How many CPUs there are, it does not say. All is in the byte order of the machine.
 *
 * Source: the layouts in Xen's public header xen/include/public/trace.h, and what Xen 4.17 and 4.22 were
 * seen to write. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STRATA_PERCPU_PAGE 4096U

/* Errors, as -STRATA_PERCPU_E…; Linux's numbers. */
#define STRATA_PERCPU_EBUSY 16
#define STRATA_PERCPU_ENODEV 19
#define STRATA_PERCPU_EINVAL 22
#define STRATA_PERCPU_EBADMSG 74
#define STRATA_PERCPU_ENOTSUP 95
#define STRATA_PERCPU_ESTALE 116

/* ---- A CPU's buffer ---- */

/* A consumer's view of one buffer. It owns nothing. */
struct strata_percpu_view {
    uint32_t *buffer; /* cons, prod */
    const uint8_t *data;
    uint32_t size; /* X, bytes */
    /* as strata_percpu_view_windows() last found them */
    uint32_t cons, prod;
};

/* Bytes that lie in one piece. */
struct strata_percpu_window {
    const uint8_t *data;
    size_t size;
};

/* MEMORY are BYTES bytes, mapped for reading and writing, that hold one buffer and stay while the view is
 * used. -EINVAL: not aligned to 4, or of a size that no buffer can have. */
int strata_percpu_view_init(struct strata_percpu_view *ret, void *memory, size_t bytes);

/* What there is to read, in order: returns 0, 1 or 2, of how many windows it set RET (the others become
 * empty). They stay readable until released. Records are whole within each window.
 * -EBADMSG: cons and prod cannot be what is said above; the view stays as it was. */
int strata_percpu_view_windows(struct strata_percpu_view *view, struct strata_percpu_window ret[2]);

/* Gives the first BYTES bytes of the last windows back to the CPU to be written over; all of them, or
 * whole records. May be called several times for the same windows. -EINVAL: more bytes than the windows
 * had left, or no multiple of 4. -ESTALE: cons is not where this view left it: there is another
 * consumer, or the CPU has begun afresh. */
int strata_percpu_view_release(struct strata_percpu_view *view, size_t bytes);

/* Drops all that is there now. Returns how many bytes that were; -EBADMSG as above. */
int64_t strata_percpu_view_skip(struct strata_percpu_view *view);

/* The same, whatever cons is: for a buffer whose last consumer left it in disorder. -EBADMSG: prod is
 * damaged, which only the CPU could mend. */
int strata_percpu_view_reset(struct strata_percpu_view *view);

/* ---- t_info ---- */

struct strata_percpu_info {
    const uint8_t *memory;
    size_t bytes;
    uint32_t pages; /* per buffer, at least 1 */
};

/* MEMORY are BYTES bytes that hold a t_info and stay while RET is used. -EINVAL: not aligned to 4, or
 * too few; -EBADMSG: it says that buffers have no pages. */
int strata_percpu_info_init(struct strata_percpu_info *ret, const void *memory, size_t bytes);

/* The list of INFO->pages page numbers of a CPU's buffer. -ENODEV: the CPU is offline. -EINVAL: there can
 * be no CPU of that number, as its entry would lie outside of the memory. -EBADMSG: the list would. */
int strata_percpu_info_cpu(const struct strata_percpu_info *info, unsigned cpu,
                           const uint32_t **ret_pages);

#ifdef __cplusplus
}
#endif

#endif
