/* SPDX-License-Identifier: MIT */
#include "analysis/io_why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "event/own_threads.h"

/* ---- what threads did ---- */

/* Who ran longest while the thread waited for a CPU. */
static void find_longest(const struct path_walk *walk, struct io_account *account)
{
    for (unsigned i = 0; i < walk->n_behind; i++) {
        int32_t by = walk->behind[i].by;
        int64_t ticks = 0;

        if (by <= 0 && by != RUN_INTERRUPT)
            continue;
        for (unsigned j = 0; j < walk->n_behind; j++)
            ticks += walk->behind[j].by == by ? walk->behind[j].ticks : 0;
        if (ticks > account->behind_ticks) {
            account->behind = by;
            account->behind_ticks = ticks;
            account->behind_is_seen = true;
        }
    }
}

static void add_up(const struct path_walk *walk, struct io_account *account)
{
    for (unsigned i = 0; i < walk->n; i++) {
        const struct path_segment *segment = &walk->segments[i];
        int64_t ticks = segment->end - segment->begin;

        switch ((enum path_what)segment->what) {
        case PATH_RUNS: account->ran += ticks; break;
        case PATH_SLEEPS: account->slept += ticks; break;
        case PATH_WAITS:
            account->waited += ticks;
            if (ticks > account->longest_wait) {
                account->longest_wait = ticks;
                account->cpu = segment->cpu;
            }
            break;
        default: account->unknown += ticks; break;
        }
    }
    find_longest(walk, account);
}

static int add_account(struct io_why *why, struct path_walk *walk, unsigned point, int32_t pid,
                       int32_t woken_by, int64_t begin, int64_t end)
{
    struct io_account account = {
        .pid = pid, .woken_by = woken_by, .point = (uint8_t)point, .cpu = CPU_UNKNOWN};
    int r = path_walk_own(walk, walk->history->host, pid, begin, end);

    if (r < 0)
        return r;
    add_up(walk, &account);
    if (account.unknown == end - begin)
        return 0;
    if (why->n == why->room) {
        unsigned room = MAX(why->room * 2, 8u);
        struct io_account *more = realloc(why->accounts, room * sizeof *more);

        if (!more)
            return -ENOMEM;
        why->accounts = more;
        why->room = room;
    }
    why->accounts[why->n++] = account;
    return 0;
}

struct woken {
    int64_t time;
    int32_t pid;
};

static int compare_woken(const void *a, const void *b)
{
    const struct woken *x = a, *y = b;

    return x->time != y->time ? (x->time > y->time) - (x->time < y->time)
                              : (x->pid > y->pid) - (x->pid < y->pid);
}

/* When thread PID first woke the thread of LOG, from BEGIN to END; TIME_UNKNOWN: it did not. */
static int64_t first_wake(const struct history_log *log, int32_t pid, int64_t begin, int64_t end)
{
    for (unsigned i = history_first(log, begin); i < log->n && log->states[i].begin < end; i++)
        if (log->states[i].state == STATE_WOKEN && log->states[i].by == pid &&
            log->states[i].begin >= begin)
            return log->states[i].begin;
    return TIME_UNKNOWN;
}

static int add_woken(struct io_why *why, struct path_walk *walk, unsigned point, int32_t pid,
                     int64_t begin, int64_t end)
{
    const struct history *history = walk->history;
    struct woken *woken = NULL;
    unsigned n = 0;
    size_t iter = 0;
    uint64_t key;
    void *value;
    int r = 0;

    while (r == 0 && map_next(&history->logs, &iter, &key, &value)) {
        const struct history_log *log = value;
        const char *name;
        int64_t time;

        if (log->origin != history->host)
            continue;
        name = origin_task_name(log->origin, log->id);
        time = name && strcmp(name, PATH_WORKER) != 0 ? TIME_UNKNOWN
                                                      : first_wake(log, pid, begin, end);
        if (time == TIME_UNKNOWN)
            continue;
        if ((n & (n - 1)) == 0) {
            struct woken *more = realloc(woken, MAX(n * 2, 1u) * sizeof *more);

            if (!more) {
                r = -ENOMEM;
                break;
            }
            woken = more;
        }
        woken[n++] = (struct woken){time, log->id};
    }
    if (n > 1)
        qsort(woken, n, sizeof *woken, compare_woken);
    for (unsigned i = 0; r == 0 && i < n; i++)
        r = add_account(why, walk, point, woken[i].pid, pid, begin, end);
    free(woken);
    return r;
}

int io_why_add(struct io_why *why, struct path_walk *walk, unsigned point, int32_t pid,
               bool with_woken, int64_t begin, int64_t end)
{
    int r = 0;

    if (pid <= 0 || !walk->history->host || walk->history->has_hosts ||
        io_why_find(why, point, pid))
        return 0;
    if (with_woken)
        r = add_woken(why, walk, point, pid, begin, end);
    return r < 0 ? r : add_account(why, walk, point, pid, PID_UNKNOWN, begin, end);
}

void io_why_done(struct io_why *why)
{
    free(why->accounts);
    *why = (struct io_why){0};
}

const struct io_account *io_why_find(const struct io_why *why, unsigned point, int32_t pid)
{
    for (unsigned i = 0; i < why->n; i++) {
        const struct io_account *account = &why->accounts[i];

        if (account->point == point && account->pid == pid && account->woken_by == PID_UNKNOWN)
            return account;
    }
    return NULL;
}

/* ---- as text ---- */

static void put_ticks(const struct clock *clock, int64_t ticks, struct text *text)
{
    double ns = clock->hz > 0 ? (double)ticks * 1e9 / (double)clock->hz : (double)ticks;

    if (clock->hz == 0)
        text_printf(text, "%.0f ticks", ns);
    else if (ns < 999500)
        text_printf(text, "%.1f us", ns / 1e3);
    else
        text_printf(text, "%.2f ms", ns / 1e6);
}

/* ", slept 2.3 us" */
static void put_part(const char *what, int64_t ticks, const struct clock *clock, struct text *text)
{
    if (ticks <= 0)
        return;
    text_printf(text, ", %s ", what);
    put_ticks(clock, ticks, text);
}

static void put_thread(const struct origin *host, int32_t pid, struct text *text)
{
    const char *name = origin_task_name(host, pid);

    origin_put_thread(host, name ? name : "", pid, text);
}

static void put_behind(const struct io_account *account, const struct origin *host,
                       struct text *text)
{
    const char *name = account->behind > 0 ? origin_task_name(host, account->behind) : NULL;
    bool is_own = account->behind > 0 && own_thread_is(host, account->behind, name ? name : "");

    text_put_literal(text, " behind ");
    if (account->behind > 0)
        put_thread(host, account->behind, text);
    else
        text_put_literal(text, "interrupts");
    text_printf(text, " (%s%.0f%% of it)", is_own ? "a thread of the recorder, " : "",
                (double)account->behind_ticks * 100 / (double)account->waited);
}

static void put_account(const struct io_account *account, const struct origin *host,
                        const struct clock *clock, struct text *text)
{
    bool slept_most =
        account->slept > (account->ran + account->waited + account->slept + account->unknown) / 2;

    text_put_str(text, text_len(text) ? "; " : "");
    put_thread(host, account->pid, text);
    text_put_literal(text, " ran ");
    put_ticks(clock, account->ran, text);
    if (slept_most)
        put_part("slept", account->slept, clock, text);
    put_part("was runnable", account->waited, clock, text);
    if (account->waited > 0 && account->cpu >= 0)
        text_printf(text, " on CPU %d", account->cpu);
    if (account->behind_is_seen)
        put_behind(account, host, text);
    if (!slept_most)
        put_part("slept", account->slept, clock, text);
    put_part("unknown", account->unknown, clock, text);
}

void io_why_put_thread(const struct io_why *why, const struct origin *host, unsigned point,
                       int32_t pid, const struct clock *clock, struct text *text)
{
    const struct io_account *account = io_why_find(why, point, pid);

    if (account)
        put_account(account, host, clock, text);
}

void io_why_put_text(const struct io_why *why, const struct origin *host, unsigned point,
                     int32_t pid, const struct clock *clock, struct text *text)
{
    for (unsigned i = 0; i < why->n && pid != PID_UNKNOWN; i++) {
        const struct io_account *account = &why->accounts[i];
        const char *name = origin_task_name(host, account->pid);

        if (account->point == point && account->woken_by == pid && name &&
            strcmp(name, PATH_WORKER) == 0)
            put_account(account, host, clock, text);
    }
    io_why_put_thread(why, host, point, pid, clock, text);
}
