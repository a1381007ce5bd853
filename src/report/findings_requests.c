/* SPDX-License-Identifier: MIT */
#include "report/findings_requests.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/io.h"
#include "base/macro.h"

/* A cause stands out from this part of its requests' time on. */
#define CAUSE_PART_MIN 0.2
/* A cause of only the slowest requests: by how much its part of their time must be larger. */
#define CAUSE_EXCESS_MIN 0.2
/* A disk, or a running thread, stands out only if a request needs it for this long. */
#define WORK_NS_MIN 1e6
/* A thread that waits stands out only if a request needs it for this long. */
#define WAIT_NS_MIN 1e5
/* The slowest of 100 requests are a tail if they take this long, and so many times the median. */
#define TAIL_REQUESTS_MIN 100
#define TAIL_RATIO_MIN 10
#define TAIL_NS_MIN 1e6
/* A single request that is slow among any number. */
#define SLOWEST_RATIO_MIN 20
#define SLOWEST_NS_MIN 1e7
#define REQUESTS_MIN 10
/* A smaller share of the machine's time is not worth a sentence. */
#define COST_MIN 0.01
#define UNKNOWN_PART_MIN 0.05
/* Causes of a kind of requests that are examined; rows are ordered by their time. */
#define CAUSES_MAX 64
/* How many of the others that ran while a thread waited for a CPU are named, and from which part of the wait on. */
#define BEHIND_SHOWN 2
#define BEHIND_PART_MIN 0.1
#define BEHIND_PART_ALL 0.9

/* What a thread or a disk does in requests, whoever it waits behind. */
struct cause {
    const struct result_row *row; /* the row with most of its time */
    double part, slow, rest;
    double error_ns;
};

struct kind {
    const char *of;     /* "guest read" */
    const char *plural; /* the ending of the plural: "s" or "es" */
    unsigned first, n;  /* its rows */
    struct path_kind times;
    struct cause causes[CAUSES_MAX];
    unsigned n_causes;
    double unknown;                 /* the share of the whole time that has no known cause */
    const struct result_row *total; /* in `io`, or NULL */
    double share; /* of the time of their source; above 1 if several are open at once */
};

/* ---- the kinds ---- */

enum layer finder_work_layer(const struct finder *finder)
{
    static const enum layer order[] = {LAYER_GUEST, LAYER_HYPERVISOR, LAYER_VMM};

    for (unsigned i = 0; i < ARRAY_SIZE(order); i++)
        for (unsigned j = 0; j < finder->summary->n_sources; j++)
            if (finder->summary->sources[j]->origin->layer == order[i])
                return order[i];
    return LAYER_HOST;
}

static const char *key(const struct finder *finder, const struct result_row *row, const char *name)
{
    return finding_key(finder_result(finder, SUMMARY_PATH), row, name);
}

static double number(const struct finder *finder, const struct result_row *row, const char *column)
{
    return finding_number_or_0(finder_result(finder, SUMMARY_PATH), row, column);
}

static bool is_unknown(const char *what)
{
    return strcmp(what, "?") == 0;
}

/* True if the rows differ at most in whom a thread waits behind. */
static bool is_same_cause(const struct finder *finder, const struct result_row *a,
                          const struct result_row *b)
{
    static const char *const keys[] = {"layer", "who", "what"};

    for (unsigned i = 0; i < ARRAY_SIZE(keys); i++)
        if (strcmp(key(finder, a, keys[i]), key(finder, b, keys[i])) != 0)
            return false;
    return true;
}

static struct cause *get_cause(const struct finder *finder, struct kind *kind,
                               const struct result_row *row)
{
    for (unsigned i = 0; i < kind->n_causes; i++)
        if (is_same_cause(finder, row, kind->causes[i].row))
            return &kind->causes[i];
    if (kind->n_causes == CAUSES_MAX)
        return NULL;
    kind->causes[kind->n_causes] = (struct cause){.row = row};
    return &kind->causes[kind->n_causes++];
}

static void add_row(const struct finder *finder, struct kind *kind, const struct result_row *row)
{
    double part = number(finder, row, "part");
    double error = finding_number(finder_result(finder, SUMMARY_PATH), row, "error");
    struct cause *cause;

    if (is_unknown(key(finder, row, "what")))
        kind->unknown += part;
    if (row->is_own)
        return;
    cause = get_cause(finder, kind, row);
    if (!cause)
        return;
    cause->part += part;
    cause->slow += number(finder, row, "slow_part");
    cause->rest += number(finder, row, "rest_part");
    if (!isnan(error))
        cause->error_ns = MAX(cause->error_ns, error);
    else if (row->is_unknown)
        cause->error_ns = INFINITY;
}

/* True if OF, "guest read", begins with LAYER. */
static bool is_of_layer(const char *of, const char *layer)
{
    size_t len = strlen(layer);

    return strncmp(of, layer, len) == 0 && of[len] == ' ';
}

/* Finds the requests of KIND in `io`: their share of the time, and the device with the longest request. */
static void find_totals(const struct finder *finder, struct kind *kind)
{
    const struct result *result = finder_result(finder, SUMMARY_IO);

    for (unsigned i = 0; i < result->n_rows; i++) {
        const struct result_row *row = result->rows[i];
        const char *layer = finding_key(result, row, "layer");

        if (!row->is_whole || !is_of_layer(kind->of, layer) ||
            strcmp(kind->of + strlen(layer) + 1, finding_key(result, row, "kind")) != 0)
            continue;
        kind->share += finding_number_or_0(result, row, "share");
        if (!kind->total || finding_number_or_0(result, row, "max") >
                                finding_number_or_0(result, kind->total, "max"))
            kind->total = row;
    }
}

/* Requests of a VMM that are not joined with a guest's are a guest's, too. */
static bool is_work(const struct finder *finder, const char *of)
{
    enum layer layer = finder_work_layer(finder);

    return is_of_layer(of, layer_name(layer)) ||
           (layer == LAYER_GUEST && is_of_layer(of, layer_name(LAYER_VMM)));
}

/* Gets the kind of the rows from number *I on, and advances *I behind them. */
static bool next_kind(const struct finder *finder, unsigned *i, struct kind *ret)
{
    const struct result *result = finder_result(finder, SUMMARY_PATH);

    while (*i < result->n_rows) {
        *ret = (struct kind){.of = key(finder, result->rows[*i], "of"), .first = *i};
        ret->plural = strcmp(ret->of + strlen(ret->of) - 1, "h") == 0 ? "es" : "s";
        for (; *i < result->n_rows && strcmp(key(finder, result->rows[*i], "of"), ret->of) == 0;
             (*i)++, ret->n++)
            add_row(finder, ret, result->rows[*i]);
        if (!is_work(finder, ret->of) ||
            !path_find_kind(&finder->summary->path, ret->of, &ret->times))
            continue;
        find_totals(finder, ret);
        return true;
    }
    return false;
}

/* ---- what stands out ---- */

/* 0 if the rate of the clock is unknown. */
static double to_ns(const struct finder *finder, double ticks)
{
    const struct clock *clock = &finder_result(finder, SUMMARY_PATH)->clock;

    return clock->hz == 0 ? 0 : ticks * 1e9 / (double)clock->hz;
}

/* True if a thread or a disk works, not if it waits. */
static bool works(const struct finder *finder, const struct cause *cause)
{
    const char *what = key(finder, cause->row, "what");

    return strcmp(what, "waits for a CPU") != 0 && strcmp(what, "sleeps") != 0;
}

/* True if the clocks of the layers are exact enough to say that CAUSE takes NS of the requests of KIND. */
static bool is_certain(const struct finder *finder, const struct kind *kind,
                       const struct cause *cause, double ns)
{
    bool has_bound = true;

    for (unsigned i = 0; i < finder->summary->n_sources && has_bound; i++)
        has_bound = !finder->summary->sources[i]->is_error_refuted;
    return (has_bound || is_of_layer(kind->of, key(finder, cause->row, "layer"))) &&
           cause->error_ns <= ns;
}

static const struct cause *find_cause_of_all(const struct finder *finder, const struct kind *kind)
{
    bool has_ns = finding_has_ns(finder_result(finder, SUMMARY_PATH));
    const struct cause *found = NULL;

    for (unsigned i = 0; i < kind->n_causes; i++) {
        const struct cause *cause = &kind->causes[i];
        double ns = to_ns(finder, cause->part * (double)kind->times.total / (double)kind->times.n);
        const char *what = key(finder, cause->row, "what");

        if (is_unknown(what) || strcmp(what, "runs") == 0)
            continue;
        if (cause->part >= CAUSE_PART_MIN && is_certain(finder, kind, cause, ns) &&
            (!has_ns || ns >= (works(finder, cause) ? WORK_NS_MIN : WAIT_NS_MIN)) &&
            (!found || cause->part > found->part))
            found = cause;
    }
    return found;
}

/* One request takes far longer than most. */
static bool has_slowest(const struct finder *finder, const struct kind *kind)
{
    return finding_has_ns(finder_result(finder, SUMMARY_PATH)) && kind->times.n >= 2 &&
           (double)kind->times.max >= SLOWEST_NS_MIN &&
           (double)kind->times.max >= SLOWEST_RATIO_MIN * (double)kind->times.p50;
}

static const struct cause *find_cause_of_slow(const struct finder *finder, const struct kind *kind)
{
    const struct cause *found = NULL;

    for (unsigned i = 0; i < kind->n_causes; i++) {
        const struct cause *cause = &kind->causes[i];

        if (cause->slow >= CAUSE_PART_MIN && cause->slow - cause->rest >= CAUSE_EXCESS_MIN &&
            (!is_unknown(key(finder, cause->row, "what")) || has_slowest(finder, kind)) &&
            is_certain(finder, kind, cause,
                       to_ns(finder, cause->slow * (double)kind->times.slow)) &&
            (!found || cause->slow - cause->rest > found->slow - found->rest))
            found = cause;
    }
    return found;
}

/* The cause with most of the slowest requests' time, if the other requests have it, too. */
static const struct cause *find_most_of_slow(const struct finder *finder, const struct kind *kind)
{
    const struct cause *found = NULL;

    for (unsigned i = 0; i < kind->n_causes; i++)
        if (kind->causes[i].slow >= CAUSE_PART_MIN &&
            is_certain(finder, kind, &kind->causes[i], INFINITY) &&
            (!found || kind->causes[i].slow > found->slow))
            found = &kind->causes[i];
    return found;
}

/* True if some requests take far longer than most. */
static bool has_tail(const struct finder *finder, const struct kind *kind)
{
    double slow = (double)kind->times.slow;

    return has_slowest(finder, kind) ||
           (kind->times.n >= TAIL_REQUESTS_MIN &&
            slow >= TAIL_RATIO_MIN * (double)kind->times.p50 &&
            (!finding_has_ns(finder_result(finder, SUMMARY_PATH)) || slow >= TAIL_NS_MIN));
}

/* ---- sentences ---- */

/* Returns the row of CAUSE with the most of COLUMN, except OTHER. */
static const struct result_row *find_behind(const struct finder *finder, const struct kind *kind,
                                            const struct cause *cause, const char *column,
                                            const struct result_row *other)
{
    const struct result *result = finder_result(finder, SUMMARY_PATH);
    const struct result_row *found = NULL;

    for (unsigned i = kind->first; i < kind->first + kind->n; i++) {
        const struct result_row *row = result->rows[i];

        if (row != other && !row->is_own && is_same_cause(finder, row, cause->row) &&
            (!found || number(finder, row, column) > number(finder, found, column)))
            found = row;
    }
    return found;
}

/* Puts " behind make (60% of that), sh (12%)". WHOLE: the sum of COLUMN over all rows of CAUSE. */
static void put_behind(const struct finder *finder, const struct kind *kind,
                       const struct cause *cause, const char *column, double whole,
                       struct text *text)
{
    const struct result_row *row = NULL;

    for (unsigned i = 0; i < BEHIND_SHOWN; i++) {
        double part;
        const char *name;

        row = find_behind(finder, kind, cause, column, row);
        part = row ? number(finder, row, column) / whole : 0;
        if (part < BEHIND_PART_MIN)
            return;
        name = key(finder, row, "cause");
        if (i > 0 && strncmp(name, "behind ", strlen("behind ")) == 0)
            name += strlen("behind ");
        text_printf(text, "%s%s", i == 0 ? " " : ", ", name);
        if (part < BEHIND_PART_ALL)
            text_printf(text, " (%.0f%%%s)", part * 100, i == 0 ? " of that" : "");
    }
}

static void put_cause(const struct finder *finder, const struct kind *kind,
                      const struct cause *cause, const char *column, double whole,
                      struct text *text)
{
    const struct result_row *row = cause->row;
    const char *what = key(finder, row, "what"), *who = key(finder, row, "who"),
               *layer = key(finder, row, "layer"), *why = key(finder, row, "cause");

    if (strcmp(what, "waits for a CPU") == 0) {
        text_printf(text, "%s of the %s waits for a CPU", who, layer);
        put_behind(finder, kind, cause, column, whole, text);
    } else if (is_unknown(what)) {
        text_printf(text, "the cause is unknown (%s)", why + strspn(why, "? "));
    } else if (strcmp(what, "queued") == 0) {
        text_printf(text, "waiting in the queue of %s of the %s", who, layer);
    } else if (strcmp(what, "device") == 0) {
        text_printf(text, "%s of the %s works", who, layer);
    } else if (strcmp(what, "sleeps") == 0) {
        text_printf(text, "%s of the %s sleeps until %s %s", who, layer,
                    strncmp(why, "interrupt", 9) == 0 ? "an" : "a", why);
    } else if (strcmp(what, "runs") == 0) {
        text_printf(text, "%s of the %s runs", who, layer);
    } else if (strcmp(what, "outside its guest") == 0 || strcmp(what, "handled") == 0) {
        text_printf(text, "%s of the %s handles %s", who, layer, why);
    } else {
        text_printf(text, "in stage %s", what);
    }
}

static void put_time(const struct finder *finder, double ticks, struct text *text)
{
    finding_put_time(finder_result(finder, SUMMARY_PATH), ticks, text);
}

/* Puts "6 of 601 guest reads take 3.80ms or longer, the median is 154us: for 94% of their time, ..." */
static void put_slow(const struct finder *finder, const struct kind *kind,
                     const struct cause *cause, struct text *text)
{
    bool is_single = kind->times.n_slow == 1;

    if (is_single)
        text_printf(text, "the slowest of %" PRIu64 " %s%s takes ", kind->times.n, kind->of,
                    kind->plural);
    else
        text_printf(text, "%" PRIu64 " of %" PRIu64 " %s%s take ", kind->times.n_slow,
                    kind->times.n, kind->of, kind->plural);
    put_time(finder, is_single ? (double)kind->times.max : (double)kind->times.slow, text);
    text_put_str(text, is_single ? ", the median is " : " or longer, the median is ");
    put_time(finder, (double)kind->times.p50, text);
    text_printf(text, ": for %.0f%% of %s time, ", cause->slow * 100, is_single ? "its" : "their");
    put_cause(finder, kind, cause, "slow_part", cause->slow, text);
    if (cause->slow - cause->rest >= CAUSE_EXCESS_MIN)
        text_printf(text, "; of the others, %.0f%%", cause->rest * 100);
    if (is_single && is_unknown(key(finder, cause->row, "what")) && kind->total &&
        kind->total->longest_part)
        text_printf(text, ", %.0f%% in stage %s", kind->total->longest_share * 100,
                    kind->total->longest_part);
}

static void put_all(const struct finder *finder, const struct kind *kind, const struct cause *cause,
                    struct text *text)
{
    if (text_len(text) > 0) {
        text_printf(text, "; for %.0f%% of the time of all, ", cause->part * 100);
    } else {
        text_printf(text, "%" PRIu64 " %s%s take ", kind->times.n, kind->of, kind->plural);
        put_time(finder, (double)kind->times.total / (double)kind->times.n, text);
        text_printf(text, " on average: for %.0f%% of that time, ", cause->part * 100);
    }
    put_cause(finder, kind, cause, "part", cause->part, text);
}

/* Finds when the longest request of KIND begins. False if it is unknown. */
static bool find_longest(const struct finder *finder, const struct kind *kind, int64_t *ret_time)
{
    int at = result_find_column(finder_result(finder, SUMMARY_IO), "max_at");

    if (!kind->total || at < 0 || !result_has(kind->total, (unsigned)at))
        return false;
    *ret_time = kind->total->values[at].number;
    return true;
}

/* Puts the command that shows why the longest request of KIND took so long; without IS_SLOW, all causes. */
static void put_command(const struct finder *finder, const struct kind *kind, bool is_slow,
                        struct text *text)
{
    const struct clock *clock = &finder_result(finder, SUMMARY_IO)->clock;
    int64_t time;

    text_put_literal(text, "path");
    if (is_slow && clock->hz != 0 && find_longest(finder, kind, &time)) {
        text_put_literal(text, " --slowest 1 --from ");
        clock_put_time(clock, time, text);
        text_put_literal(text, " --until ");
        clock_put_time(clock, time, text);
    }
    text_put_char(text, '\0');
}

static void put_longest(const struct finder *finder, const struct kind *kind, struct text *text)
{
    int64_t time;

    if (!find_longest(finder, kind, &time))
        return;
    if (kind->times.n_slow > 1) {
        text_put_literal(text, "; the slowest takes ");
        put_time(finder, (double)kind->times.max, text);
        text_put_literal(text, " and");
    } else {
        text_put_literal(text, "; it");
    }
    text_put_literal(text, " begins at ");
    clock_put_time(&finder_result(finder, SUMMARY_IO)->clock, time, text);
}

/* Puts which stages have no events of their own. */
static void put_missing(const struct finder *finder, struct text *text)
{
    const struct result *io = finder_result(finder, SUMMARY_IO);

    for (unsigned i = 0; i < io->n_notes; i++)
        if (strncmp(io->notes[i], IO_NOTE_MISSING, strlen(IO_NOTE_MISSING)) == 0) {
            text_put_literal(text, "; stages that are not in the trace are part of the next one");
            return;
        }
}

/* True if the slowest requests wait for CAUSE mostly behind another thread than all requests do. */
static bool has_other_culprit(const struct finder *finder, const struct kind *kind,
                              const struct cause *cause)
{
    return find_behind(finder, kind, cause, "slow_part", NULL) !=
           find_behind(finder, kind, cause, "part", NULL);
}

static void find_requests_of(struct finder *finder, const struct kind *kind)
{
    const struct result *result = finder_result(finder, SUMMARY_PATH);
    const struct cause *slow = has_tail(finder, kind) ? find_cause_of_slow(finder, kind) : NULL;
    const struct cause *all =
        kind->times.n >= REQUESTS_MIN ? find_cause_of_all(finder, kind) : NULL;
    _cleanup_(text_done) struct text command = TEXT_IN_MEMORY;
    double share = MIN(kind->share, 1.0);
    const struct cause *named;
    double weight = 0;

    if (!slow && has_slowest(finder, kind))
        slow = find_most_of_slow(finder, kind);
    if (slow) {
        put_slow(finder, kind, slow, &finder->text);
        put_longest(finder, kind, &finder->text);
        weight = MAX(FINDING_SHARE_MIN, share * slow->part);
    }
    if (all && (all != slow || has_other_culprit(finder, kind, all))) {
        put_all(finder, kind, all, &finder->text);
        weight = MAX(weight, share * all->part);
    }
    named = slow ? slow : all;
    if (!named || weight < COST_MIN) {
        finder->text.next = finder->text.start;
        return;
    }
    if (kind->unknown >= UNKNOWN_PART_MIN && !is_unknown(key(finder, named->row, "what")))
        text_printf(&finder->text, "; %.0f%% of the time has no known cause", kind->unknown * 100);
    put_missing(finder, &finder->text);
    put_command(finder, kind, slow != NULL, &command);
    if (command.error)
        finder->findings->error = -ENOMEM;
    else
        finder_add(finder, result, named->row, slow ? "slow_part" : "part", weight, command.start);
}

void find_requests(struct finder *finder)
{
    struct kind kind;
    unsigned i = 0;

    while (next_kind(finder, &i, &kind))
        find_requests_of(finder, &kind);
}

bool findings_put_distribution(const struct finder *finder, struct text *text)
{
    struct kind kind;
    unsigned i = 0;

    if (!next_kind(finder, &i, &kind))
        return false;
    text_printf(text, "%s%s: ", kind.of, kind.plural);
    for (unsigned j = 0; j < kind.n_causes && j < 3; j++) {
        const struct cause *cause = &kind.causes[j];

        text_printf(text, "%s%.0f%% ", j > 0 ? ", " : "", cause->part * 100);
        put_cause(finder, &kind, cause, "part", INFINITY, text);
    }
    return true;
}
