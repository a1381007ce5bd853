/* SPDX-License-Identifier: MIT */
/* view_trace DIR EVENTS THREADS: a trace in CTF 1.8, as LTTng writes it, of THREADS threads on 8 CPUs with spans of a dozen
 * names; each fourth thread nests them, up to three deep. EVENTS in all, the same each time. */

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CPUS 8
#define DEPTH_MAX 3
#define NAMES 12

static const char *const names[NAMES] = {"read",     "write", "parse", "lookup", "lock",  "flush",
                                         "compress", "send",  "recv",  "sort",   "alloc", "hash"};
static const char head[] =
    "/* CTF 1.8 */\n"
    "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
    "typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
    "trace { major = 1; minor = 8; byte_order = %s;\n"
    "  packet.header := struct { uint32_t magic; uint32_t stream_id; }; };\n"
    "env { domain = \"ust\"; tracer_name = \"lttng-ust\"; };\n"
    "clock { name = \"monotonic\"; freq = 1000000000; offset = 0; };\n"
    "typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := "
    "time_t;\n"
    "stream { id = 0;\n"
    "  packet.context := struct { uint32_t cpu_id; };\n"
    "  event.header := struct { uint32_t id; time_t timestamp; };\n"
    "  event.context := struct { int32_t _vtid; string _procname; }; };\n";

struct thread {
    unsigned depth;
    unsigned open[DEPTH_MAX];
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

_Noreturn static void fail(const char *path)
{
    fprintf(stderr, "view_trace: %s: %s\n", path, strerror(errno));
    exit(1);
}

static FILE *open_file(const char *dir, const char *name)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    file = fopen(path, "wb");
    if (!file)
        fail(path);
    return file;
}

static void write_metadata(const char *dir)
{
    const uint16_t one = 1;
    FILE *file = open_file(dir, "metadata");

    fprintf(file, head, *(const uint8_t *)&one ? "le" : "be");
    for (unsigned i = 0; i < NAMES; i++)
        fprintf(file,
                "event { id = %u; name = \"%s_begin\"; stream_id = 0; };\n"
                "event { id = %u; name = \"%s_end\"; stream_id = 0; };\n",
                2 * i, names[i], 2 * i + 1, names[i]);
    if (fclose(file) != 0)
        fail("metadata");
}

/* Pauses are mostly short; some are a thousand times as long. */
static uint64_t pause_ns(uint64_t *random)
{
    uint64_t v = next_random(random);

    return 200 + v % 7000 + ((v >> 40) % 997 == 0 ? v % 3000000 : 0);
}

static void write_cpu(const char *dir, unsigned cpu, uint64_t events, unsigned n_threads)
{
    struct thread *threads = calloc(n_threads, sizeof *threads);
    uint64_t random = 88172645463325252ULL + cpu;
    const uint32_t header[] = {0xC1FC1FC1, 0, cpu};
    uint64_t time = 1000 + cpu;
    char name[32];
    FILE *file;

    snprintf(name, sizeof name, "channel0_%u", cpu);
    file = open_file(dir, name);
    if (!threads || fwrite(header, sizeof header, 1, file) != 1)
        fail(name);
    for (uint64_t i = 0; i < events; i++) {
        unsigned number =
            cpu + CPUS * (unsigned)(next_random(&random) % ((n_threads - cpu + CPUS - 1) / CPUS));
        struct thread *thread = &threads[number];
        int begins = thread->depth == 0 || (number % 4 == 3 && thread->depth < DEPTH_MAX &&
                                            next_random(&random) % 3 == 0);
        unsigned id =
            begins ? (unsigned)(next_random(&random) % NAMES) : thread->open[thread->depth - 1];
        char event[64];
        uint32_t event_id = 2 * id + !begins;
        int32_t tid = (int32_t)(1000 + number);
        int len;

        time += pause_ns(&random);
        if (begins)
            thread->open[thread->depth++] = id;
        else
            thread->depth--;
        memcpy(event, &event_id, 4);
        memcpy(event + 4, &time, 8);
        memcpy(event + 12, &tid, 4);
        len = snprintf(event + 16, sizeof event - 16, "worker-%u", number);
        if (fwrite(event, 16 + (size_t)len + 1, 1, file) != 1)
            fail(name);
    }
    free(threads);
    if (fclose(file) != 0)
        fail(name);
}

int main(int argc, char **argv)
{
    uint64_t events = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
    unsigned threads = argc == 4 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;

    if (events < CPUS || threads < CPUS) {
        fprintf(stderr, "Usage: view_trace DIR EVENTS THREADS\n");
        return 2;
    }
    if (mkdir(argv[1], 0777) < 0)
        fail(argv[1]);
    write_metadata(argv[1]);
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        write_cpu(argv[1], cpu, events / CPUS + (cpu < events % CPUS), threads);
    printf("%llu\n", (unsigned long long)events);
    return 0;
}
