/* SPDX-License-Identifier: MIT */
/* Makes a large trace of a small real one: the same records again and again, each time later by as
 * much as the trace lasts. What a peer rejects in a file that goes back in time, or that names
 * things twice, is not repeated.
 *
 *     repeat simpletrace TIMES IN OUT
 *     repeat log TIMES IN OUT
 *     repeat xentrace TIMES IN OUT
 *     repeat ftrace TIMES PAGE_SIZE IN OUT [IN OUT]...    one pair a CPU
 *     repeat ctf TIMES LAYOUT TABLE IN OUT                simpletrace to one CTF stream
 *
 * TABLE has a line "NAME ID KINDS" per event, KINDS a letter per argument: u a number, s a string.
 * Prints the number of events written. A bench tool: it expects good traces and says so when it
 * has none. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void __attribute__((format(printf, 1, 2), noreturn)) die(const char *format, ...)
{
    va_list args;

    fputs("repeat: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

/* A whole trace in memory. */
struct bytes {
    uint8_t *p;
    size_t n;
};

static struct bytes read_all(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct bytes b = {0};
    long size;

    if (!f || fseek(f, 0, SEEK_END) < 0 || (size = ftell(f)) < 0 || fseek(f, 0, SEEK_SET) < 0)
        die("%s: %s", path, strerror(errno));
    b.n = (size_t)size;
    b.p = malloc(b.n + 1);
    if (!b.p || fread(b.p, 1, b.n, f) != b.n)
        die("%s: cannot read it", path);
    b.p[b.n] = '\0';
    fclose(f);
    return b;
}

static FILE *create(const char *path)
{
    FILE *f = fopen(path, "wb");

    if (!f)
        die("%s: %s", path, strerror(errno));
    setvbuf(f, NULL, _IOFBF, 1 << 20);
    return f;
}

static void put(FILE *f, const void *p, size_t n)
{
    if (fwrite(p, 1, n, f) != n)
        die("cannot write: %s", strerror(errno));
}

static void finish(FILE *f)
{
    if (fclose(f) != 0)
        die("cannot write: %s", strerror(errno));
}

static uint32_t get_u32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, 4);
    return v;
}

static uint64_t get_u64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, 8);
    return v;
}

static void set_u32(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, 4);
}

static void set_u64(uint8_t *p, uint64_t v)
{
    memcpy(p, &v, 8);
}

/* The first and the last time seen, and so by how much each round is later. */
struct span {
    uint64_t first;
    uint64_t last;
    bool any;
};

static void span_add(struct span *span, uint64_t t)
{
    if (!span->any || t < span->first)
        span->first = t;
    if (!span->any || t > span->last)
        span->last = t;
    span->any = true;
}

static uint64_t span_step(const struct span *span, uint64_t gap)
{
    if (!span->any)
        die("there is no time in the capture");
    return span->last - span->first + gap;
}

/* -- simpletrace, version 4: header; u64 type; mapping u64 id, u32 length, name; event u64 id,
 * u64 ns, u32 length, u32 pid, arguments -- */

#define ST_HEADER 24
#define ST_MAPPING 0

static size_t st_size(const struct bytes *in, size_t at)
{
    const uint8_t *p = in->p + at;
    size_t left = in->n - at;
    size_t size;

    if (left < 8)
        die("a simpletrace record is cut off at %zu", at);
    if (get_u64(p) == ST_MAPPING)
        size = left < 20 ? 20 : 20 + (size_t)get_u32(p + 16);
    else
        size = left < 32 ? 32 : 8 + (size_t)get_u32(p + 24);
    if (size > left)
        die("a simpletrace record is cut off at %zu", at);
    return size;
}

static struct span st_check(const struct bytes *in)
{
    struct span span = {0};

    if (in->n < ST_HEADER || get_u64(in->p) != UINT64_MAX || get_u64(in->p + 16) != 4)
        die("not a simpletrace file of version 4");
    for (size_t at = ST_HEADER; at < in->n; at += st_size(in, at))
        if (get_u64(in->p + at) != ST_MAPPING)
            span_add(&span, get_u64(in->p + at + 16));
    return span;
}

static uint64_t repeat_simpletrace(unsigned long times, const char *from, const char *to)
{
    struct bytes in = read_all(from);
    struct span span = st_check(&in);
    FILE *out = create(to);
    uint64_t n = 0;

    put(out, in.p, ST_HEADER);
    for (unsigned long round = 0; round < times; round++)
        for (size_t at = ST_HEADER; at < in.n;) {
            size_t size = st_size(&in, at);
            uint8_t *p = in.p + at;

            at += size;
            if (get_u64(p) == ST_MAPPING) {
                if (round == 0)
                    put(out, p, size);
                continue;
            }
            put(out, p, size);
            /* For the next round. */
            set_u64(p + 16, get_u64(p + 16) + span_step(&span, 1000));
            n++;
        }
    finish(out);
    free(in.p);
    return n;
}

/* -- QEMU's log: PID@SEC.USEC:… -- */

static bool log_time(const char *line, const char *end, uint64_t *ret_us, const char **ret_digits,
                     const char **ret_behind)
{
    unsigned long long seconds;
    unsigned pid, micro;
    int digits, behind;
    char head[64] = ""; /* sscanf() looks for the end of what it is given */

    memcpy(head, line, (size_t)(end - line) < sizeof head ? (size_t)(end - line) : sizeof head - 1);
    if (line == end || *line < '0' || *line > '9' ||
        sscanf(head, "%u@%n%llu.%6u%n", &pid, &digits, &seconds, &micro, &behind) != 3)
        return false;
    *ret_us = seconds * 1000000 + micro;
    *ret_digits = line + digits;
    *ret_behind = line + behind;
    return *ret_behind < end && **ret_behind == ':';
}

static uint64_t repeat_log(unsigned long times, const char *from, const char *to)
{
    struct bytes in = read_all(from);
    const char *start = (const char *)in.p;
    const char *end = start + in.n;
    struct span span = {0};
    FILE *out = create(to);
    uint64_t n = 0;

    for (unsigned long round = 0; round <= times; round++) { /* the first one only looks */
        for (const char *p = start; p < end;) {
            const char *newline = memchr(p, '\n', (size_t)(end - p));
            const char *next = newline ? newline + 1 : end;
            const char *digits, *behind;
            uint64_t us;

            if (!log_time(p, next, &us, &digits, &behind)) {
                if (round > 0)
                    put(out, p, (size_t)(next - p));
            } else if (round == 0) {
                span_add(&span, us);
            } else {
                us += (round - 1) * span_step(&span, 1);
                put(out, p, (size_t)(digits - p));
                fprintf(out, "%llu.%06llu", (unsigned long long)us / 1000000,
                        (unsigned long long)us % 1000000);
                put(out, behind, (size_t)(next - behind));
                n++;
            }
            p = next;
        }
    }
    finish(out);
    free(in.p);
    return n;
}

/* -- xentrace: u32 header (bits 28-30 extra words, 31 with u64 TSC), words -- */

#define XEN_HAS_TSC UINT32_C(0x80000000)
#define XEN_CPU_CHANGE 0x1f003
#define XEN_LOST_RECORDS 0x1f001
#define XEN_WRAP_BUFFER 0x1f002

static size_t xen_size(const struct bytes *in, size_t at)
{
    uint32_t header;
    size_t size;

    if (in->n - at < 4)
        die("an xentrace record is cut off at %zu", at);
    header = get_u32(in->p + at);
    size = 4 + (header & XEN_HAS_TSC ? 8u : 0u) + 4 * (size_t)(header >> 28 & 7);
    if (size > in->n - at)
        die("an xentrace record is cut off at %zu", at);
    return size;
}

static uint64_t repeat_xentrace(unsigned long times, const char *from, const char *to)
{
    struct bytes in = read_all(from);
    struct span span = {0};
    FILE *out = create(to);
    uint64_t n = 0, step;

    for (size_t at = 0; at < in.n; at += xen_size(&in, at))
        if (get_u32(in.p + at) & XEN_HAS_TSC)
            span_add(&span, get_u64(in.p + at + 4));
    step = span_step(&span, 100000);

    for (unsigned long round = 0; round < times; round++) {
        put(out, in.p, in.n);
        for (size_t at = 0; at < in.n; at += xen_size(&in, at)) {
            uint8_t *p = in.p + at;
            uint32_t event = get_u32(p) & 0xfffffff;

            if (event != XEN_CPU_CHANGE && event != XEN_WRAP_BUFFER)
                n++;
            if (!(get_u32(p) & XEN_HAS_TSC))
                continue;
            set_u64(p + 4, get_u64(p + 4) + step);
            if (event == XEN_LOST_RECORDS && xen_size(&in, at) >= 28)
                set_u64(p + 20, get_u64(p + 20) + step);
        }
    }
    finish(out);
    free(in.p);
    return n;
}

/* -- ring-buffer pages: u64 time, u64 commit, events -- */

#define PAGE_HEADER 16
#define COMMIT_SIZE 0x7ffffffu
#define TYPE_PADDING 29
#define TYPE_EXTEND 30
#define TYPE_ABSOLUTE 31

/* Calls for each event of the page; adds STEP to absolute times in it. The number of real events. */
static unsigned page_shift(uint8_t *page, size_t page_size, uint64_t step, struct span *span)
{
    size_t used = (size_t)(get_u64(page + 8) & COMMIT_SIZE);
    uint8_t *p = page + PAGE_HEADER;
    uint8_t *end;
    uint64_t time = get_u64(page);
    unsigned n = 0;

    if (used > page_size - PAGE_HEADER)
        die("a page claims %zu bytes", used);
    end = p + used;
    span_add(span, time);
    set_u64(page, time + step);
    while (end - p >= 4) {
        uint32_t header = get_u32(p);
        uint32_t type = header & 31;
        uint64_t delta = header >> 5;
        size_t size = 4 + 4 * (size_t)type;

        if (type == 0 || type >= TYPE_PADDING) {
            uint64_t word;

            if (end - p < 8)
                break;
            word = get_u32(p + 4);
            if (type == TYPE_PADDING) {
                if (delta == 0)
                    break;
                size = 4 + word;
            } else if (type == TYPE_EXTEND) {
                delta |= word << 27;
                size = 8;
            } else if (type == TYPE_ABSOLUTE) {
                uint64_t top = UINT64_C(0x1f) << 59;
                uint64_t absolute = (delta | word << 27) | (time & top);
                uint64_t later = (absolute + step) & ~top;

                time = absolute;
                delta = 0;
                set_u32(p, (uint32_t)(later & 0x7ffffff) << 5 | TYPE_ABSOLUTE);
                set_u32(p + 4, (uint32_t)(later >> 27));
                size = 8;
            } else {
                size = 4 + word;
                n++;
            }
        } else {
            n++;
        }
        time += delta;
        span_add(span, time);
        if (size > (size_t)(end - p))
            break;
        p += size;
    }
    return n;
}

static uint64_t repeat_ftrace(unsigned long times, size_t page_size, char **paths, int n_paths)
{
    struct span span = {0};
    uint64_t n = 0, step;

    if (page_size < 64 || page_size > 1 << 20)
        die("a page of %zu bytes", page_size);
    for (int i = 0; i < n_paths; i += 2) {
        struct bytes in = read_all(paths[i]);

        for (size_t at = 0; at + page_size <= in.n; at += page_size)
            page_shift(in.p + at, page_size, 0, &span);
        free(in.p);
    }
    step = span_step(&span, 1000);

    for (int i = 0; i < n_paths; i += 2) {
        struct bytes in = read_all(paths[i]);
        FILE *out = create(paths[i + 1]);

        for (unsigned long round = 0; round < times; round++) {
            put(out, in.p, in.n / page_size * page_size);
            for (size_t at = 0; at + page_size <= in.n; at += page_size)
                n += page_shift(in.p + at, page_size, step, &span);
        }
        finish(out);
        free(in.p);
    }
    return n;
}

/* -- simpletrace to CTF: packets of u32 magic, u64 content bits, u64 packet bits, u64 first and
 * last time; events of u32 id, u64 time, then u64 per number and NUL-ended strings. Layout "big-endian": the same
 * in the other byte order; "lttng": with LTTng's headers of events, 5 bits id and 27 bits time, or 5 bits 31, u32 id,
 * u64 time -- */

enum layout { PLAIN, BIG_ENDIAN_LAYOUT, LTTNG };

static enum layout read_layout(const char *name)
{
    if (strcmp(name, "plain") == 0)
        return PLAIN;
    if (strcmp(name, "big-endian") == 0)
        return BIG_ENDIAN_LAYOUT;
    if (strcmp(name, "lttng") == 0)
        return LTTNG;
    die("layout \"%s\"", name);
}

#define CTF_MAGIC 0xc1fc1fc1
#define CTF_HEADER 36
#define CTF_PACKET ((size_t)1 << 20)

struct kinds {
    uint32_t id; /* in the CTF trace */
    char name[120];
    char kinds[32];
};

static struct kinds *read_table(const char *path, size_t *ret_n)
{
    FILE *f = fopen(path, "r");
    struct kinds *table = NULL;
    size_t n = 0;
    char line[256];

    if (!f)
        die("%s: %s", path, strerror(errno));
    while (fgets(line, sizeof line, f)) {
        struct kinds k = {0};

        if (sscanf(line, "%119s %u %31s", k.name, &k.id, k.kinds) < 2)
            die("%s: not \"NAME ID KINDS\": %s", path, line);
        table = realloc(table, (n + 1) * sizeof *table);
        if (!table)
            die("out of memory");
        table[n++] = k;
    }
    fclose(f);
    *ret_n = n;
    return table;
}

struct packet {
    uint8_t *p;
    size_t n;
    struct span span;
    FILE *out;
    enum layout layout;
    uint64_t time; /* of the event before */
};

static void packet_u32(struct packet *packet, size_t at, uint32_t v)
{
    set_u32(packet->p + at, packet->layout == BIG_ENDIAN_LAYOUT ? __builtin_bswap32(v) : v);
}

static void packet_u64(struct packet *packet, size_t at, uint64_t v)
{
    set_u64(packet->p + at, packet->layout == BIG_ENDIAN_LAYOUT ? __builtin_bswap64(v) : v);
}

static void packet_event(struct packet *packet, uint32_t id, uint64_t time)
{
    if (packet->layout == LTTNG && id < 31 && packet->span.any && time - packet->time < 1u << 27) {
        packet_u32(packet, packet->n, (uint32_t)time << 5 | id);
        packet->n += 4;
    } else {
        if (packet->layout == LTTNG)
            packet->p[packet->n++] = 31;
        packet_u32(packet, packet->n, id);
        packet_u64(packet, packet->n + 4, time);
        packet->n += 12;
    }
    packet->time = time;
}

static void packet_flush(struct packet *packet)
{
    if (!packet->span.any)
        return;
    packet_u32(packet, 0, CTF_MAGIC);
    packet_u64(packet, 4, packet->n * 8);
    packet_u64(packet, 12, packet->n * 8);
    packet_u64(packet, 20, packet->span.first);
    packet_u64(packet, 28, packet->span.last);
    put(packet->out, packet->p, packet->n);
    packet->n = CTF_HEADER;
    packet->span = (struct span){0};
}

/* Ids in the simpletrace file are small numbers. */
#define ST_IDS 65536

/* What the mapping record at P names. */
static void learn(const struct kinds *table, size_t n, const uint8_t *p,
                  const struct kinds *by_id[])
{
    size_t len = get_u32(p + 16);

    if (get_u64(p + 8) >= ST_IDS)
        die("an event's id is %llu", (unsigned long long)get_u64(p + 8));
    for (size_t i = 0; i < n; i++)
        if (strlen(table[i].name) == len && memcmp(table[i].name, p + 20, len) == 0)
            by_id[get_u64(p + 8)] = &table[i];
}

/* The arguments of one event behind `packet->p + packet->n`. */
static void ctf_arguments(struct packet *packet, const char *kinds, const uint8_t *p,
                          const uint8_t *end)
{
    for (; *kinds; kinds++) {
        size_t size = 8;
        const uint8_t *from = p;

        if (*kinds == 's') {
            if (end - p < 4)
                die("an argument is cut off");
            size = get_u32(p);
            from = p + 4;
        }
        if (size > (size_t)(end - from))
            die("an argument is cut off");
        if (*kinds == 's')
            memcpy(packet->p + packet->n, from, size);
        else
            packet_u64(packet, packet->n, get_u64(from));
        packet->n += size;
        if (*kinds == 's')
            packet->p[packet->n++] = '\0';
        p = from + size;
    }
}

static uint64_t repeat_ctf(unsigned long times, enum layout layout, const char *table_path,
                           const char *from, const char *to)
{
    struct bytes in = read_all(from);
    struct span span = st_check(&in);
    struct packet packet = {
        .p = malloc(CTF_PACKET * 2), .n = CTF_HEADER, .out = create(to), .layout = layout};
    size_t n_kinds;
    struct kinds *table = read_table(table_path, &n_kinds);
    static const struct kinds *by_id[ST_IDS];
    uint64_t n = 0, last = 0;

    if (!packet.p)
        die("out of memory");
    for (unsigned long round = 0; round < times; round++)
        for (size_t at = ST_HEADER; at < in.n;) {
            size_t size = st_size(&in, at);
            const uint8_t *p = in.p + at;
            const struct kinds *kinds;
            uint64_t time;

            at += size;
            if (get_u64(p) == ST_MAPPING) {
                if (round == 0)
                    learn(table, n_kinds, p, by_id);
                continue;
            }
            kinds = get_u64(p + 8) < ST_IDS ? by_id[get_u64(p + 8)] : NULL;
            if (!kinds)
                die("an event is not in %s", table_path);
            if (packet.n + size > CTF_PACKET)
                packet_flush(&packet);
            /* CTF has no stepping back within a stream. */
            time = get_u64(p + 16) + round * span_step(&span, 1000);
            last = time > last ? time : last;
            packet_event(&packet, kinds->id, last);
            span_add(&packet.span, last);
            ctf_arguments(&packet, kinds->kinds, p + 32, p + size);
            n++;
        }
    packet_flush(&packet);
    finish(packet.out);
    free(packet.p);
    free(table);
    free(in.p);
    return n;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 2 ? argv[1] : "";
    unsigned long times = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    uint64_t n;

    if (strcmp(kind, "simpletrace") == 0 && argc == 5)
        n = repeat_simpletrace(times, argv[3], argv[4]);
    else if (strcmp(kind, "log") == 0 && argc == 5)
        n = repeat_log(times, argv[3], argv[4]);
    else if (strcmp(kind, "xentrace") == 0 && argc == 5)
        n = repeat_xentrace(times, argv[3], argv[4]);
    else if (strcmp(kind, "ftrace") == 0 && argc >= 6 && argc % 2 == 0)
        n = repeat_ftrace(times, strtoul(argv[3], NULL, 10), argv + 4, argc - 4);
    else if (strcmp(kind, "ctf") == 0 && argc == 7)
        n = repeat_ctf(times, read_layout(argv[3]), argv[4], argv[5], argv[6]);
    else
        die("wrong arguments; the head of repeat.c tells them");
    printf("%llu\n", (unsigned long long)n);
    return 0;
}
