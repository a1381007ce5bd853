/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads trace.dat, the file that trace-cmd writes: a complete trace of ftrace in one file. Versions 6 and 7.
 *
 * Both begin so:
 *   bytes           what
 *   0..9            17 08 44 "tracing"
 *   .. NUL          "6" or "7"
 *   1               0: little-endian, 1: big-endian; all numbers after it are in that order
 *   1               bytes of a long of the traced programs
 *   u32             page size
 *
 * Version 6 continues with these, one after the other:
 *   "header_page\0" u64 size, text            "header_event\0" u64 size, text
 *   ftrace formats  u32 n; n times: u64 size, text
 *   event formats   u32 n systems; each: name NUL, u32 n; n times: u64 size, text
 *   kallsyms        u32 size, text            printk_formats  u32 size, text
 *   saved_cmdlines  u64 size, text            u32 number of CPUs
 *   "options  \0"   (may be missing) options: u16 id, u32 size, data; id 0, without size, ends them
 *   "flyrecord\0"   per CPU: u64 offset, u64 size of its pages; or "latency  \0": text, not read here
 *   u64 size, text of trace_clock, where the option 4 is present
 * A further buffer (option 3: u64 offset, name NUL) has at that offset "flyrecord\0" and a table of
 * its own.
 *
 * Version 7 goes on with
 *   name NUL version NUL    the compression: "none", "zlib", "zstd"
 *   u64                     where the first section of options is
 * and has sections: u16 id, u16 flags (1: compressed), u32 description, u64 size. A compressed
 * section holds u32 size, u32 size unpacked, data.
 *   section 0       options, as above; the last one, id 0, has the u64 offset of the next such section
 *                   or 0
 *   option 2        a text: per_cpu/cpuN/stats, after "CPU: N"; or the name of the buffer that the next ones are of
 *   option 3        a buffer: u64 offset of its section, name NUL, clock NUL, u32 page size, u32 n; n
 *                   times: u32 CPU, u64 offset, u64 size
 *   options 16..21  u64 offset of the section of the same number, which holds what version 6 has of:
 *                   16 header_page and header_event, 17 ftrace formats, 18 event formats, 19
 *                   kallsyms, 20 printk_formats, 21 saved_cmdlines
 * The pages of a CPU in a compressed buffer are u32 n; n times: u32 size, u32 size unpacked, data.
 *
 * Options about time, in both: 1 "0x…" microseconds to the time of day, 7 nanoseconds to add (texts);
 * 12 the guest's clock against the host's: u64 peer, u32 flags (1: interpolate), u32 n CPUs; per CPU
 * u32 n, n times, n offsets, n scalings, each s64; after all CPUs, in later versions, per CPU n
 * fractions; 14 u32 mult, u32 shift, u64: ticks * mult >> shift are nanoseconds.
 *
 * Source: trace-cmd.dat.v6(5), trace-cmd.dat.v7(5), and files of trace-cmd 3.1.6. */

#include "base/cpu_set.h"
#include "base/input.h"
#include "event/catalogue.h"
#include "event/source.h"

/* True if a file that begins with these bytes is a trace.dat. */
bool trace_dat_is(const uint8_t *head, size_t size);

/* Opens a source for each CPU and buffer with pages. Each buffer has its own origin, of LAYER and with the path NAME (a
 * further buffer: "NAME:BUFFER"). CPUs in LOST (may be NULL) without pages also have a source, because it is unknown
 * what they did. MAY_BE_CUT: if the file does not count the events of its CPUs, their ends are judged
 * (ftrace_instance_judge_ends()). RET_LACKING: the CPUs with fewer events than the file states, whose origins are cut;
 * finding them reads all pages. RET_LACKING NULL: not checked. Times are nanoseconds if the file states how to convert
 * them. Takes over IN, which must be seekable, even on failure. The caller frees the array. */
int trace_dat_open(struct input *in, const char *name, enum layer layer, const struct cpu_set *lost,
                   bool may_be_cut, struct cpu_set *ret_lacking, struct catalogue *catalogue,
                   const struct reader_options *options, struct source ***ret_sources,
                   unsigned *ret_n, struct error *error);
