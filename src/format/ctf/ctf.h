/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads traces in the Common Trace Format: CTF 1.8 of libstrata and of other tracers such as LTTng, and CTF 2. ctf.c
 * has the byte tables; tsdl.h and ctf2.h describe the languages of the metadata. */

#include "base/input.h"
#include "event/catalogue.h"
#include "event/source.h"

/* True if the directory at PATH is such a trace: it has a file `metadata`, or streams without one. */
bool ctf_probe_dir(const char *path);

/* What the streams of one trace share. In the catalogue's arena. */
struct ctf_trace;

/* Parses the metadata of the trace at PATH: LEN bytes of TEXT. METADATA_PATH is for messages. Adds its classes and its
 * origin to CATALOGUE. -EBADMSG, -ENOMEM with ERROR. */
int ctf_trace_new(const char *path, const char *metadata_path, const char *text, size_t len,
                  struct catalogue *catalogue, struct ctf_trace **ret, struct error *error);

/* True if ORIGIN, a CTF trace, was written by perf data convert. */
bool ctf_is_of_perf(const struct origin *origin);

/* Returns the time of events of ORIGIN, a CTF trace, whose clock shows TICKS. */
int64_t ctf_time_of(const struct origin *origin, int64_t ticks);

/* Opens a source of the events of one stream. Takes over IN, even on failure. -ENOMEM. */
int ctf_stream_open(struct ctf_trace *trace, struct input *in, const struct reader_options *options,
                    struct source **ret_source, struct error *error);

/* Continues SOURCE, a stream of ctf_stream_open(), in the file PATH, which is of a later time and may repeat some of
 * its packets. -ENOMEM. */
int ctf_stream_continue(struct source *source, const char *path);

/* The identity of a stream, from its first packet. */
struct ctf_identity {
    uint64_t stream;
    int32_t cpu;
    uint64_t begin; /* begin time of the packet, or its number */
};
/* Reads ahead in SOURCE, a stream of ctf_stream_open() of which nothing was read. Returns false if the packet does not
 * state the whole identity. */
bool ctf_stream_identify(struct source *source, struct ctf_identity *ret);

/* Checks the begin of SOURCE, of which nothing was read. Its first packet may not be the first packet of its tracer,
 * for example in a snapshot of a ring, or if the oldest files were overwritten. Then its CPU has a begin of its own
 * (origin->lost_begin) and an end of its own (origin->ends_apart). -ENOMEM. */
int ctf_stream_note_begin(struct source *source);
/* Checks the ends of the N SOURCES of TRACE, if LTTng traced a kernel. When a session is stopped, the last packets of
 * all CPUs end together. If one ends much earlier, packets may be missing, and each CPU is known up to its last event.
 * Reads the headers of all packets. Returns 0, or a negative errno with ERROR. */
int ctf_trace_judge_ends(struct ctf_trace *trace, struct source **sources, unsigned n,
                         struct error *error);

/* Converts metadata in packets, LEN bytes of TEXT, to the text alone, in place. Leaves plain text unchanged. -EBADMSG
 * with ERROR. */
int ctf_metadata_unpack(const char *path, char *text, size_t *len, struct error *error);

/* Opens the N directories at PATHS, which are parts of one trace in the order of time. Returns a source for each
 * stream; the caller owns the sources and the array (malloc). Streams with the same name become one. The last directory
 * has the metadata of all. */
int ctf_open_dirs(const char *const *paths, unsigned n, struct catalogue *catalogue,
                  const struct reader_options *options, struct source ***ret_sources,
                  unsigned *ret_n, struct error *error);
