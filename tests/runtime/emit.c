/* SPDX-License-Identifier: MIT */

/* A traced program for the tests of what is written out: emits events of all kinds of arguments from
 * several threads, and says on standard output what it emitted, as lines of JSON:
 *
 *     {"tid": 123, "event": "emit_ints", "fields": {"a": 1, "b": -2}, "text": "a 1 b -2"}
 *
 * What the generator would make of a trace-events file is written by hand here, so that these tests
 * tell of the runtime alone.
 *
 *     emit [-q] [-t OPTIONS]... [-p MICROSECONDS] [-f] [-k] [-s] [-a] [-w FILE] COUNT THREADS
 *
 *     -q  says nothing     -t  strata_trace_opt_parse()    -p  pauses after each 100 events
 *     -f  forks, and the child emits as well     -k  kills itself at the end
 *     -s  switches all events on by itself, without the library's functions
 *     -a  says after each flush, every 100 events, what was flushed
 *     -w  when a thread has emitted half, it says so, and waits until there is FILE
 *
 * EMIT_BACKEND in the environment: other than "ring", it registers its events as if they went elsewhere.
 *
 * No thread ends before all have emitted everything: each has a ring, and so a stream, of its own. */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/ring_emit.h"
#include "strata/trace.h"

enum { WORDS, INTS, TEXT, SMALL, NONE, MIXED, NEVER, EVENTS };

static uint8_t states[EVENTS];

static const struct strata_field words_fields[] = {
    {"id", "uint64_t", STRATA_FIELD_UNSIGNED, 8},
    {"value", "uint64_t", STRATA_FIELD_UNSIGNED, 8},
};
static const struct strata_field ints_fields[] = {
    {"a", "int", STRATA_FIELD_SIGNED, 4},
    {"b", "int", STRATA_FIELD_SIGNED, 4},
    {"event", "int", STRATA_FIELD_SIGNED, 4}, /* a word of CTF's metadata */
};
static const struct strata_field text_fields[] = {
    {"name", "const char *", STRATA_FIELD_STRING, 0},
    {"n", "int64_t", STRATA_FIELD_SIGNED, 8},
};
static const struct strata_field small_fields[] = {
    {"a", "uint8_t", STRATA_FIELD_UNSIGNED, 1},
    {"b", "int16_t", STRATA_FIELD_SIGNED, 2},
    {"c", "bool", STRATA_FIELD_BOOL, 1},
    {"p", "void *", STRATA_FIELD_POINTER, 8},
};
static const struct strata_field mixed_fields[] = {
    {"a", "const char *", STRATA_FIELD_STRING, 0},
    {"n", "uint32_t", STRATA_FIELD_UNSIGNED, 4},
    {"b", "char *", STRATA_FIELD_STRING, 0},
};

#define EVENT(number, name_, format_, fields_, n) \
    [number] = {.name = (name_),                  \
                .format = (format_),              \
                .fields = (fields_),              \
                .state = &states[number],         \
                .file = "emit",                   \
                .line = (number) + 1,             \
                .n_fields = (n),                  \
                .compiled_in = (number) != NEVER}

static struct strata_event events[EVENTS] = {
    EVENT(WORDS, "emit_words", "id %" PRIu64 " value 0x%" PRIx64, words_fields, 2),
    EVENT(INTS, "emit_ints", "a %d b %d event %+5d", ints_fields, 3),
    EVENT(TEXT, "emit_text", "name \"%s\" */ n %" PRId64, text_fields, 2),
    EVENT(SMALL, "emit_small", "a %u b %d c %d p %p", small_fields, 4),
    EVENT(NONE, "emit_none", "100%% nothing", NULL, 0),
    EVENT(MIXED, "emit_mixed", "a '%10s' n %08x b '%.5s'", mixed_fields, 3),
    EVENT(NEVER, "emit_never", "", NULL, 0),
};

static struct strata_group group = {STRATA_TRACE_ABI, EVENTS, "emit", events, NULL};

static void __attribute__((constructor)) register_events(void)
{
    const char *backend = getenv("EMIT_BACKEND");

    if (!backend || strcmp(backend, "ring") == 0)
        strata_backend_register(STRATA_BACKEND_RING);
    strata_group_register(&group);
}

static int quiet, acknowledge;
static unsigned pause_us;
static unsigned long count;
static const char *wait_for;
static pthread_mutex_t out_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_emitted;

/* ---- What is emitted is said ---- */

struct said {
    char *text;
    size_t len;
    FILE *f;
};

static void __attribute__((format(printf, 5, 6)))
say(struct said *said, int event, const char *fields, int unused, const char *format, ...)
{
    char text[2048];
    va_list args;

    (void)unused;
    if (quiet)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(said->f, "{\"tid\": %ld, \"event\": \"%s\", \"fields\": {%s}, \"text\": \"",
            syscall(SYS_gettid), events[event].name, fields);
    for (const char *p = text; *p; p++)
        fprintf(said->f, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
    fputs("\"}\n", said->f);
}

static char *fields_text(const char *format, ...)
{
    static __thread char text[2048];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return text;
}

/* ---- Emitting ---- */

#define BEGIN(number, size)                               \
    struct strata_slot slot;                              \
    uint8_t *at;                                          \
    if (!states[number])                                  \
        return;                                           \
    at = ring_open(&slot, events[number].id, 8 + (size)); \
    if (!at)                                              \
    return
#define PUT(argument) at = strata_ring_put(at, &(argument), sizeof(argument))
#define PUT_STRING(argument)               \
    at = ring_string(&slot, at, argument); \
    if (!at)                               \
    return
#define END() ((void)at, strata_ring_end(&slot))

static void trace_words(uint64_t id, uint64_t value)
{
    BEGIN(WORDS, 16);
    PUT(id);
    PUT(value);
    END();
}

static void trace_ints(int a, int b, int c)
{
    BEGIN(INTS, 12);
    PUT(a);
    PUT(b);
    PUT(c);
    END();
}

__attribute__((noinline)) static void trace_text(const char *name, int64_t n)
{
    BEGIN(TEXT, 1 + 8);
    PUT_STRING(name);
    PUT(n);
    END();
}

static void trace_small(uint8_t a, int16_t b, bool c, const void *p)
{
    BEGIN(SMALL, 12);
    PUT(a);
    PUT(b);
    PUT(c);
    PUT(p);
    END();
}

static void trace_none(void)
{
    BEGIN(NONE, 0);
    END();
}

__attribute__((noinline)) static void trace_mixed(const char *a, uint32_t n, const char *b)
{
    BEGIN(MIXED, 1 + 4 + 1);
    PUT_STRING(a);
    PUT(n);
    PUT_STRING(b);
    END();
}

static void emit_one(struct said *said, uint64_t i)
{
    static const char long_text[] =
        "0123456789012345678901234567890123456789012345678901234567890123456789";
    int n = (int)(i * 2654435761U);
    void *p = (void *)(uintptr_t)(i * 0x123456789);

    switch (i % 6) {
    case WORDS:
        trace_words(i, ~i);
        say(said, WORDS, fields_text("\"id\": %" PRIu64 ", \"value\": %" PRIu64, i, ~i), 0,
            "id %" PRIu64 " value 0x%" PRIx64, i, ~i);
        break;
    case INTS:
        trace_ints(n, -n, (int)i);
        say(said, INTS, fields_text("\"a\": %d, \"b\": %d, \"event\": %d", n, -n, (int)i), 0,
            "a %d b %d event %+5d", n, -n, (int)i);
        break;
    case TEXT:
        trace_text(long_text + i % 70, -(int64_t)i);
        say(said, TEXT,
            fields_text("\"name\": \"%s\", \"n\": %" PRId64, long_text + i % 70, -(int64_t)i), 0,
            "name \"%s\" */ n %" PRId64, long_text + i % 70, -(int64_t)i);
        break;
    case SMALL:
        trace_small((uint8_t)i, (int16_t)n, i & 1, p);
        say(said, SMALL,
            fields_text("\"a\": %u, \"b\": %d, \"c\": %d, \"p\": %" PRIuPTR, (uint8_t)i, (int16_t)n,
                        (int)(i & 1), (uintptr_t)p),
            0, "a %u b %d c %d p %p", (uint8_t)i, (int16_t)n, (int)(i & 1), p);
        break;
    case NONE:
        trace_none();
        say(said, NONE, "", 0, "100%% nothing");
        break;
    default:
        trace_mixed("", (uint32_t)n, "ein b\xc3\xa4r");
        say(said, MIXED,
            fields_text("\"a\": \"\", \"n\": %u, \"b\": \"ein b\xc3\xa4r\"", (uint32_t)n), 0,
            "a '%10s' n %08x b '%.5s'", "", (uint32_t)n, "ein b\xc3\xa4r");
        break;
    }
}

static void put_out(struct said *said)
{
    fclose(said->f);
    pthread_mutex_lock(&out_lock);
    fwrite(said->text, 1, said->len, stdout);
    fflush(stdout);
    pthread_mutex_unlock(&out_lock);
    free(said->text);
    said->f = open_memstream(&said->text, &said->len);
}

static void emit_all(void)
{
    struct said said = {0};

    said.f = open_memstream(&said.text, &said.len);
    if (!said.f)
        abort();
    for (unsigned long i = 0; i < count; i++) {
        emit_one(&said, i);
        if (wait_for && i == (count - 1) / 2) {
            put_out(&said);
            while (access(wait_for, F_OK) < 0)
                usleep(1000);
        }
        if (i % 100 != 99)
            continue;
        if (acknowledge) {
            if (strata_trace_flush() < 0)
                abort();
            put_out(&said);
        }
        if (pause_us)
            usleep(pause_us);
    }
    put_out(&said);
    fclose(said.f);
    free(said.text);
}

static void *thread_main(void *unused)
{
    (void)unused;
    emit_all();
    pthread_barrier_wait(&all_emitted);
    return NULL;
}

static void on_message(const char *message, void *userdata)
{
    (void)userdata;
    fprintf(stderr, "emit: %s\n", message);
}

int main(int argc, char **argv)
{
    pthread_t threads[64];
    int n_threads, r, option, do_fork = 0, do_kill = 0;
    struct strata_trace_stats stats;

    strata_trace_set_message(on_message, NULL);
    while ((option = getopt(argc, argv, "qt:p:fksaw:")) != -1) {
        switch (option) {
        case 'q': quiet = 1; break;
        case 't':
            r = strata_trace_opt_parse(optarg);
            if (r != 0)
                return r < 0 ? 1 : 0;
            break;
        case 'p': pause_us = (unsigned)atoi(optarg); break;
        case 'f': do_fork = 1; break;
        case 'k': do_kill = 1; break;
        case 's': memset(states, 1, sizeof(states)); break;
        case 'a': acknowledge = 1; break;
        case 'w': wait_for = optarg; break;
        default: return 2;
        }
    }
    if (argc - optind != 2)
        return 2;
    count = strtoul(argv[optind], NULL, 10);
    n_threads = atoi(argv[optind + 1]);
    if (n_threads < 1 || n_threads > 64)
        return 2;

    if (do_fork) {
        emit_all(); /* so that there are rings, files and a thread */
        fflush(stdout);
        pid_t child = fork();

        if (child == 0) {
            emit_all();
            exit(0);
        }
        if (child < 0 || waitpid(child, &r, 0) != child || r != 0)
            return 1;
    }
    pthread_barrier_init(&all_emitted, NULL, (unsigned)n_threads);
    for (int i = 0; i < n_threads; i++)
        if (pthread_create(&threads[i], NULL, thread_main, NULL) != 0)
            return 1;
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    if (do_kill)
        kill(getpid(), SIGKILL);
    strata_trace_flush();
    strata_trace_get_stats(&stats, sizeof(stats));
    fprintf(stderr, "dropped %" PRIu64 " unwritten %" PRIu64 "\n", stats.dropped, stats.unwritten);
    return 0;
}
