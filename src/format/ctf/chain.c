/* SPDX-License-Identifier: MIT */
/* Streams that go on in another file: chunks into which LTTng rotates, files of a limited size, and snapshots, whose packets
 * overlap. What is known
 * from packet to packet goes on, too, so that what was lost between two files is counted, and nothing twice. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "event/cpu_ends.h"
#include "format/ctf/reader.h"

/* When a session is stopped, the packets of one CPU after the other are ended, within this time. */
#define FLUSH_NS 1000000

int ctf_stream_continue(struct source *source, const char *path)
{
    struct ctf *c = container_of(source, struct ctf, source);
    struct ctf_files *files = &c->files;
    char **bigger = realloc(files->paths, (files->n + 1) * sizeof *files->paths);
    struct stat st;

    if (!bigger)
        return -ENOMEM;
    files->paths = bigger;
    bigger[files->n] = strdup(path);
    if (!bigger[files->n])
        return -ENOMEM;
    files->n++;
    files->capacity = c->in.capacity;
    if (stat(path, &st) == 0 && st.st_size > 0)
        files->after += (uint64_t)st.st_size;
    return 0;
}

/* The header and the context of the packet at the begin of the buffer. */
static int walk_first(struct ctf *c)
{
    struct ctf_cursor cursor;
    int r;

    c->heard.has = 0;
    cursor = ctf_cursor_of(c);
    r = ctf_walk_header(c, &cursor, c->trace->metadata.packet_header);
    if (r < 0)
        return r;
    c->class = ctf_layout_find(&c->trace->layout, ctf_has(&c->heard, CTF_ROLE_STREAM_ID)
                                                      ? c->heard.values[CTF_ROLE_STREAM_ID]
                                                      : 0);
    return c->class ? ctf_walk_header(c, &cursor, c->class->decl->packet_context) : -EBADMSG;
}

/* Reads ahead up to where the header of the first packet ends. False: it says no CPU. */
static bool hear_first(struct ctf *c)
{
    struct error error = {0};
    size_t before;
    int r;

    c->content = UINT64_MAX;
    do {
        before = input_buffered(&c->in);
        r = walk_first(c);
    } while (r == -EAGAIN && input_refill(&c->in, &error) > 0 && input_buffered(&c->in) > before);
    return r >= 0 && ctf_has(&c->heard, CTF_ROLE_CPU);
}

static void forget_first(struct ctf *c)
{
    c->heard = (struct ctf_header_values){0};
    c->class = NULL;
    c->content = 0;
}

bool ctf_stream_identify(struct source *source, struct ctf_identity *ret)
{
    struct ctf *c = container_of(source, struct ctf, source);
    const struct ctf_header_values *heard = &c->heard;
    bool ok =
        hear_first(c) && (ctf_has(heard, CTF_ROLE_BEGIN) || ctf_has(heard, CTF_ROLE_SEQUENCE));

    if (ok)
        *ret = (struct ctf_identity){
            .stream = c->class->decl->id,
            .cpu = (int32_t)heard->values[CTF_ROLE_CPU],
            .begin =
                heard->values[ctf_has(heard, CTF_ROLE_BEGIN) ? CTF_ROLE_BEGIN : CTF_ROLE_SEQUENCE],
        };
    forget_first(c);
    return ok;
}

/* C is a stream of CPU. -ENOMEM. */
static int add_to_cpu(struct ctf *c, int32_t cpu)
{
    struct ctf_trace *trace = c->trace;
    struct ctf_cpu *of = trace->cpus;

    while (of && of->cpu != cpu)
        of = of->next;
    if (!of) {
        of = arena_alloc(&trace->catalogue->arena, sizeof *of);
        if (!of)
            return -ENOMEM;
        *of = (struct ctf_cpu){.next = trace->cpus, .cpu = cpu, .end = TIME_UNKNOWN};
        trace->cpus = of;
        trace->n_cpus++;
    }
    of->n_streams++;
    c->of_cpu = of;
    return 0;
}

int ctf_stream_note_begin(struct source *source)
{
    struct ctf *c = container_of(source, struct ctf, source);
    const struct ctf_header_values *heard = &c->heard;
    bool has_cpu = hear_first(c);
    int r = has_cpu ? add_to_cpu(c, (int32_t)heard->values[CTF_ROLE_CPU]) : 0;

    if (has_cpu && ctf_has(heard, CTF_ROLE_BEGIN) &&
        ctf_has_time(c->trace, heard->values[CTF_ROLE_BEGIN])) {
        int64_t begin = ctf_to_ns(c->trace, heard->values[CTF_ROLE_BEGIN]);

        if (c->trace->begin == TIME_UNKNOWN || begin < c->trace->begin)
            c->trace->begin = begin;
    }
    if (has_cpu && ctf_has(heard, CTF_ROLE_BEGIN) && ctf_has(heard, CTF_ROLE_SEQUENCE) &&
        heard->values[CTF_ROLE_SEQUENCE] > 0 &&
        ctf_has_time(c->trace, heard->values[CTF_ROLE_BEGIN])) {
        struct origin *origin = ctf_origin_of(c);

        origin->lost_begin =
            MAX(origin->lost_begin, ctf_to_ns(c->trace, heard->values[CTF_ROLE_BEGIN]));
        origin->ends_apart = true;
    }
    forget_first(c);
    return r;
}

/* When the last of the packets ends that are in c->in, which is at its begin. TIME_UNKNOWN: their headers do not say it, or the last one
 * is cut. */
static int64_t find_end_of_packets(struct ctf *c)
{
    const struct ctf_header_values *heard = &c->heard;
    struct error error = {0};
    int64_t end = TIME_UNKNOWN;
    uint64_t at = 0;

    while (at < c->in.size && input_seek(&c->in, at, &error) >= 0 && hear_first(c) &&
           ctf_has(heard, CTF_ROLE_PACKET_SIZE) && heard->values[CTF_ROLE_PACKET_SIZE] >= 8 &&
           ctf_has(heard, CTF_ROLE_END) && ctf_has_time(c->trace, heard->values[CTF_ROLE_END])) {
        end = ctf_to_ns(c->trace, heard->values[CTF_ROLE_END]);
        at += heard->values[CTF_ROLE_PACKET_SIZE] / 8;
        forget_first(c);
    }
    forget_first(c);
    return at == c->in.size ? end : TIME_UNKNOWN;
}

/* The same for the end of the last file of C, of which nothing was read. Returns 0, -ENOMEM or an errno from opening or
 * reading. */
static int find_end(struct ctf *c, int64_t *ret)
{
    const struct ctf_files *files = &c->files;
    struct input first = c->in;
    int r = 0;

    *ret = TIME_UNKNOWN;
    if (files->n > 0)
        r = input_open_regular(&c->in, files->paths[files->n - 1], first.capacity,
                               &c->source.error);
    if (r < 0) {
        c->in = first;
        return r;
    }
    if (c->in.seekable) {
        input_set_read_max(&c->in, CTF_HEADER_READ);
        *ret = find_end_of_packets(c);
        input_set_read_max(&c->in, 0);
        r = input_seek(&c->in, 0, &c->source.error);
    }
    if (files->n > 0) {
        input_done(&c->in);
        c->in = first;
    }
    return r;
}

int ctf_trace_judge_ends(struct ctf_trace *trace, struct source **sources, unsigned n,
                         struct error *error)
{
    struct cpu_ends ends = CPU_ENDS_NONE;

    if (!ctf_is_of_lttng_kernel(trace) || trace->n_cpus < 2 || trace->begin == TIME_UNKNOWN)
        return 0;
    for (unsigned i = 0; i < n; i++) {
        struct ctf *c = container_of(sources[i], struct ctf, source);
        int64_t end;
        int r;

        if (!c->of_cpu)
            continue;
        r = find_end(c, &end);
        if (r < 0) {
            *error = c->source.error;
            return r;
        }
        if (end == TIME_UNKNOWN)
            return 0;
        c->of_cpu->end = MAX(c->of_cpu->end, end);
    }
    cpu_ends_note_begin(&ends, CPU_UNKNOWN, trace->begin, TIME_UNKNOWN);
    for (const struct ctf_cpu *cpu = trace->cpus; cpu; cpu = cpu->next)
        cpu_ends_note_end(&ends, cpu->cpu, TIME_UNKNOWN, cpu->end, TIME_UNKNOWN);
    trace->first->origin.ends_apart |=
        cpu_ends_are_apart(&ends) && ends.last_end - ends.first_end >= FLUSH_NS;
    return 0;
}

int ctf_next_file(struct ctf *c)
{
    struct ctf_files *files = &c->files;
    struct input next;
    int r;

    if (files->next == files->n)
        return 0;
    r = input_open_regular(&next, files->paths[files->next], files->capacity, &c->source.error);
    if (r < 0)
        return r;
    files->next++;
    if (c->in.size != UINT64_MAX)
        files->before += c->in.size;
    if (next.size != UINT64_MAX)
        files->after -= MIN(files->after, next.size);
    input_done(&c->in);
    c->in = next;
    if (c->seek_time != INT64_MIN)
        input_set_read_max(&c->in, CTF_HEADER_READ);
    return 1;
}

void ctf_files_done(struct ctf_files *files)
{
    for (unsigned i = 0; i < files->n; i++)
        free(files->paths[i]);
    free(files->paths);
}

bool ctf_has_restarted(const struct ctf *c)
{
    const struct ctf_header_values *heard = &c->heard;
    uint64_t number = heard->values[CTF_ROLE_SEQUENCE];

    return c->any && ctf_has(heard, CTF_ROLE_SEQUENCE) && heard->number_bits > 16 &&
           number < c->number && (number == 0 || input_offset(&c->in) == 0) &&
           ctf_has(heard, CTF_ROLE_BEGIN) &&
           ctf_to_ns(c->trace, heard->values[CTF_ROLE_BEGIN]) > c->since;
}

bool ctf_is_repeated(const struct ctf *c)
{
    const struct ctf_header_values *heard = &c->heard;

    if (c->files.next == 0 || !c->any)
        return false;
    if (ctf_has(heard, CTF_ROLE_SEQUENCE))
        return heard->number_bits > 16 && heard->values[CTF_ROLE_SEQUENCE] <= c->number &&
               !ctf_has_restarted(c);
    return c->has_end && ctf_to_ns(c->trace, c->end) <= c->since;
}
