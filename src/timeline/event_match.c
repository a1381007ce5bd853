/* SPDX-License-Identifier: MIT */
#include "timeline/event_match.h"

#include <math.h>
#include <string.h>

#include "base/macro.h"
#include "base/map.h"
#include "timeline/clock_map.h"

#define NONE UINT32_MAX
/* The shortest run of events that is searched for by the intervals between them. */
#define ROW_MIN 4
#define ROW_MAX 32
/* Where the search begins, when what it began with is missing on the other side. */
#define ROWS 8
/* More are not looked through. */
#define INTERVALS_MAX ((size_t)1 << 19)
/* A time between two that is another by this part of what is usual is not the same one. */
#define INTERVAL_PART 0.1

/* A text, and what has it on both sides. */
struct text_of {
    uint32_t n_a, n_b;
    uint32_t first_a, first_b, last_a, last_b;
};

static int add_match(struct event_matches *matches, size_t capacity, uint32_t a, uint32_t b)
{
    if (matches->n >= capacity)
        return -ENOMEM;
    matches->items[matches->n++] = (struct event_match){a, b};
    return 0;
}

static int compare_matches(const void *pa, const void *pb)
{
    const struct event_match *a = pa, *b = pb;

    return (a->a > b->a) - (a->a < b->a);
}

struct texts {
    struct map map;
    struct text_of *all; /* at most one for each of both sides' */
    size_t n;
    uint32_t *next_a, *next_b; /* the next with the same text, or NONE */
};

static void texts_done(struct texts *texts)
{
    map_done(&texts->map);
    free(texts->all);
    free(texts->next_a);
    free(texts->next_b);
}

static int add_texts(struct texts *texts, const struct occurrences *side, bool is_a)
{
    uint32_t *next = is_a ? texts->next_a : texts->next_b;

    for (uint32_t i = 0; i < side->n; i++) {
        const struct occurrence *occurrence = &side->items[i];
        /* The map does not accept NULL as an empty key. */
        const char *text = occurrence->text ? occurrence->text : "";
        struct text_of *of = map_get_str(&texts->map, text, occurrence->len);

        next[i] = NONE;
        if (!of) {
            of = &texts->all[texts->n++];
            if (map_put_str(&texts->map, text, occurrence->len, of) < 0)
                return -ENOMEM;
        }
        if ((is_a ? of->n_a++ : of->n_b++) == 0)
            *(is_a ? &of->first_a : &of->first_b) = i;
        else
            next[is_a ? of->last_a : of->last_b] = i;
        *(is_a ? &of->last_a : &of->last_b) = i;
    }
    return 0;
}

static int read_texts(struct texts *texts, const struct occurrences *a, const struct occurrences *b)
{
    int r;

    texts->all = calloc(a->n + b->n, sizeof *texts->all);
    texts->next_a = calloc(a->n, sizeof *texts->next_a);
    texts->next_b = calloc(b->n, sizeof *texts->next_b);
    if (!texts->all || !texts->next_a || !texts->next_b)
        return -ENOMEM;
    r = add_texts(texts, a, true);
    return r < 0 ? r : add_texts(texts, b, false);
}

/* True if the texts identify events: they differ, and most texts of the smaller side occur on the other side. */
static bool texts_tell(const struct texts *texts, const struct occurrences *a,
                       const struct occurrences *b)
{
    size_t distinct_a = 0, distinct_b = 0, common = 0;

    for (size_t i = 0; i < texts->n; i++) {
        distinct_a += texts->all[i].n_a > 0;
        distinct_b += texts->all[i].n_b > 0;
        common += texts->all[i].n_a > 0 && texts->all[i].n_b > 0;
    }
    return (distinct_a > 1 || a->n == 1) && (distinct_b > 1 || b->n == 1) &&
           common * 2 > MIN(distinct_a, distinct_b);
}

/* Pairs events by texts that occur equally often on both sides. */
static int match_texts(const struct texts *texts, const struct occurrences *a,
                       const struct occurrences *b, struct event_matches *matches)
{
    size_t capacity = MIN(a->n, b->n);

    matches->by = MATCHED_BY_TEXT;
    for (size_t i = 0; i < texts->n; i++) {
        const struct text_of *of = &texts->all[i];
        uint32_t in_a = of->first_a, in_b = of->first_b;

        for (uint32_t n = of->n_a == of->n_b ? of->n_a : 0; n > 0; n--) {
            if (add_match(matches, capacity, in_a, in_b) < 0)
                return -ENOMEM;
            in_a = texts->next_a[in_a];
            in_b = texts->next_b[in_b];
        }
    }
    qsort(matches->items, matches->n, sizeof *matches->items, compare_matches);
    return 0;
}

static bool equal_texts(const struct occurrence *a, const struct occurrence *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->text, b->text, a->len) == 0);
}

/* Those between two that belong together, where they are as many on both sides, with the same texts. */
static int match_between(const struct occurrences *a, const struct occurrences *b,
                         struct event_matches *matches)
{
    size_t capacity = MIN(a->n, b->n);
    size_t n = matches->n;

    for (size_t i = 0; i + 1 < n; i++) {
        const struct event_match from = matches->items[i], to = matches->items[i + 1];
        uint32_t between = to.a - from.a - 1;
        bool equal = to.b > from.b && to.b - from.b - 1 == between;

        for (uint32_t k = 1; k <= between && equal; k++)
            equal = equal_texts(&a->items[from.a + k], &b->items[from.b + k]);
        for (uint32_t k = 1; k <= between && equal; k++)
            if (add_match(matches, capacity, from.a + k, from.b + k) < 0)
                return -ENOMEM;
    }
    qsort(matches->items, matches->n, sizeof *matches->items, compare_matches);
    return 0;
}

static bool any_common(const struct texts *texts)
{
    for (size_t i = 0; i < texts->n; i++)
        if (texts->all[i].n_a > 0 && texts->all[i].n_b > 0)
            return true;
    return false;
}

static int compare_doubles(const void *pa, const void *pb)
{
    const double *a = pa, *b = pb;

    return (*a > *b) - (*a < *b);
}

/* Times in ns from the first one on. */
static double *times_of(const struct occurrences *side)
{
    double *times = calloc(side->n, sizeof *times);

    for (size_t i = 0; times && i < side->n; i++)
        times[i] = (double)(side->items[i].time - side->items[0].time) * 1e9 / (double)side->hz;
    return times;
}

/* The usual time between two of N in a row. */
static double usual_interval(const double *times, size_t n)
{
    double intervals[ROW_MAX];
    size_t k = 0;

    for (size_t i = 1; i < n && k < ARRAY_SIZE(intervals); i++)
        intervals[k++] = times[i] - times[i - 1];
    if (k == 0)
        return 0;
    qsort(intervals, k, sizeof *intervals, compare_doubles);
    return intervals[k / 2];
}

/* The index of the time nearest to TIME. */
static size_t nearest(const double *times, size_t n, double time)
{
    size_t low = 0, high = n - 1;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (times[middle] <= time)
            low = middle;
        else
            high = middle;
    }
    return time - times[low] <= times[high] - time ? low : high;
}

struct search {
    const struct occurrences *few, *many; /* the sides with fewer and with more events */
    double *few_times, *many_times;
    double around; /* the largest difference of two times that count as the same */
    bool texts;    /* only those of one text belong together */
};

static bool same_text(const struct search *search, size_t few, size_t many)
{
    return !search->texts || equal_texts(&search->few->items[few], &search->many->items[many]);
}

/* Counts how many of the N events from FROM on have a partner if the other side is OFF later; stops
 * once more than half have none. */
static unsigned count_hits(const struct search *search, size_t from, size_t n, double off)
{
    unsigned hits = 0, misses = 0;

    for (size_t i = from; i < from + n && misses * 2 <= n; i++) {
        double time = search->few_times[i] + off;
        size_t at = nearest(search->many_times, search->many->n, time);

        if (fabs(search->many_times[at] - time) <= search->around && same_text(search, i, at))
            hits++;
        else
            misses++;
    }
    return hits;
}

/* Looks for the row of N from FROM on. 1: it is *RET_OFF later there; 0: it is nowhere; -EINVAL: it is in
 * several places. */
static int find_row(struct search *search, size_t from, size_t n, double *ret_off)
{
    size_t last = search->many->n - 1;
    double usual = usual_interval(search->few_times + from, n);
    unsigned best = 0, second = 0;
    double off = 0;

    /* If many events lie close together, some are near to any time. */
    usual = MIN(usual, search->many_times[last] / (double)last);
    search->around = MAX(INTERVAL_PART * usual, 1);
    for (size_t j = 0; j < search->many->n; j++) {
        double now = search->many_times[j] - search->few_times[from];
        unsigned hits;

        if (!same_text(search, from, j))
            continue;
        hits = count_hits(search, from, n, now);
        if (best > 0 && fabs(now - off) <= 2 * search->around) {
            /* The same place. */
            if (hits > best) {
                best = hits;
                off = now;
            }
        } else if (hits > best) {
            second = best;
            best = hits;
            off = now;
        } else {
            second = MAX(second, hits);
        }
    }
    if (best * 4 < n * 3)
        return 0;
    if (second * 5 > best * 4)
        return -EINVAL;
    *ret_off = off;
    return 1;
}

/* Walks from FROM, where the other side is OFF later, to the last or (STEP -1) the first event, and
 * pairs each with the event that is nearest to where the last pairs predict it. Sets PARTNERS to
 * indices of the other side. */
static void follow(const struct search *search, size_t from, int step, double off,
                   uint32_t *partners)
{
    size_t used = NONE;
    double since = search->few_times[from];

    for (size_t i = from; i < search->few->n; i += (size_t)step) {
        double time = search->few_times[i] + off;
        size_t at = nearest(search->many_times, search->many->n, time);
        double error = search->many_times[at] - time;
        double far = fabs(search->few_times[i] - since) * CLOCK_MAP_DRIFT_PPM / 1e6;

        if (at == used || fabs(error) > search->around + far || !same_text(search, i, at))
            continue;
        partners[i] = (uint32_t)at;
        used = at;
        /* Delays vary, and drift adds up: go after it, but slowly. */
        off += error / 8;
        since = search->few_times[i];
    }
}

static int match_intervals(const struct occurrences *a, const struct occurrences *b, bool texts,
                           struct event_matches *matches, struct error *error)
{
    bool swapped = a->n > b->n;
    struct search search = {.few = swapped ? b : a, .many = swapped ? a : b, .texts = texts};
    _cleanup_free_ double *few_times = NULL;
    _cleanup_free_ double *many_times = NULL;
    _cleanup_free_ uint32_t *partners = NULL;
    size_t n = MIN(search.few->n, (size_t)ROW_MAX);
    size_t from = 0;
    bool several = false;
    double off = 0;
    int found = 0;

    if (a->hz == 0 || b->hz == 0)
        return error_set(error, -EINVAL, NULL,
                         "%zu and %zu events match, so some are missing on one side, and without "
                         "the rate of a clock their times do not show which belong together; put "
                         "what identifies an event in parentheses in both TEXTs, or give --cpu-hz",
                         a->n, b->n);
    if (search.many->n > INTERVALS_MAX)
        return error_set(error, -E2BIG, NULL,
                         "%zu and %zu events match: too many to pair them by their times; name "
                         "fewer, or put what identifies an event in parentheses in both TEXTs",
                         a->n, b->n);
    if (n < ROW_MIN)
        return error_set(error, -EINVAL, NULL,
                         "%zu and %zu events match: too few to pair them by their times; name them "
                         "more specifically",
                         a->n, b->n);
    search.few_times = few_times = times_of(search.few);
    search.many_times = many_times = times_of(search.many);
    partners = malloc(search.few->n * sizeof *partners);
    if (!few_times || !many_times || !partners)
        return -ENOMEM;
    for (unsigned i = 0; i < ROWS && found <= 0; i++) {
        from = (search.few->n - n) * i / (ROWS - 1);
        found = find_row(&search, from, n, &off);
        several = several || found < 0;
    }
    if (found <= 0)
        return error_set(error, -EINVAL, NULL,
                         several ? "%zu and %zu events match, but at times so regular, or with "
                                   "delays so variable, that they can be paired in several ways; "
                                   "put what identifies an event in parentheses in both TEXTs"
                                 : "%zu and %zu events match, but the intervals between them "
                                   "differ on both sides: they do not belong together",
                         a->n, b->n);
    for (size_t i = 0; i < search.few->n; i++)
        partners[i] = NONE;
    follow(&search, from, 1, off, partners);
    follow(&search, from, -1, off, partners);
    matches->n = 0;
    matches->by = MATCHED_BY_INTERVALS;
    for (uint32_t i = 0; i < search.few->n; i++) {
        if (partners[i] == NONE)
            continue;
        matches->items[matches->n++] =
            swapped ? (struct event_match){partners[i], i} : (struct event_match){i, partners[i]};
    }
    qsort(matches->items, matches->n, sizeof *matches->items, compare_matches);
    return 0;
}

/* Whether the k-th of both sides can be the same: the times between them mostly are. */
static bool intervals_agree(const struct occurrences *a, const struct occurrences *b)
{
    size_t others = 0;

    if (a->hz == 0 || b->hz == 0)
        return true;
    for (size_t i = 1; i < a->n; i++) {
        double in_a = (double)(a->items[i].time - a->items[i - 1].time) * 1e9 / (double)a->hz;
        double in_b = (double)(b->items[i].time - b->items[i - 1].time) * 1e9 / (double)b->hz;

        /* Random delays vary by more than intervals between close events do. */
        others += fabs(in_a - in_b) > MAX(MAX(in_a, in_b) / 4, 1e6);
    }
    return others * 4 <= a->n;
}

static void in_order(const struct occurrences *a, struct event_matches *matches)
{
    matches->by = MATCHED_IN_ORDER;
    matches->n = 0;
    for (uint32_t i = 0; i < a->n; i++)
        matches->items[matches->n++] = (struct event_match){i, i};
}

static int choose(const struct occurrences *a, const struct occurrences *b,
                  enum event_match_texts how, const struct texts *texts,
                  struct event_matches *matches, struct error *error)
{
    int r;

    if (how == MATCH_BY_TEXTS || (how == MATCH_TEXTS_EQUAL && texts_tell(texts, a, b))) {
        if (!any_common(texts))
            return error_set(
                error, -EINVAL, NULL,
                "no text of an event is on both sides; the first texts are '%.*s' and '%.*s'",
                (int)MIN(a->items[0].len, 80u), a->items[0].text, (int)MIN(b->items[0].len, 80u),
                b->items[0].text);
        r = match_texts(texts, a, b, matches);
        if (r >= 0)
            r = match_between(a, b, matches);
        /* Texts that come again, and not as often on both sides. */
        if (r >= 0 && matches->n == 0)
            r = match_intervals(a, b, true, matches, error);
        return r;
    }
    if (a->n != b->n)
        return match_intervals(a, b, false, matches, error);
    if (a->n >= ROW_MIN && !intervals_agree(a, b))
        return match_intervals(a, b, false, matches, error);
    in_order(a, matches);
    return 0;
}

int event_match_find(const struct occurrences *a, const struct occurrences *b,
                     enum event_match_texts how, struct event_matches *ret_matches,
                     struct error *error)
{
    struct event_matches matches = {0};
    struct texts texts = {0};
    int r = 0;

    if (a->n == 0 || b->n == 0)
        return error_set(error, -EINVAL, NULL, "no event matches on one side");
    if (a->n > MATCH_MAX || b->n > MATCH_MAX)
        return error_set(error, -E2BIG, NULL, "more than %zu events match: name fewer", MATCH_MAX);
    matches.items = calloc(MIN(a->n, b->n), sizeof *matches.items);
    if (!matches.items)
        r = -ENOMEM;
    if (r >= 0 && how != MATCH_NO_TEXTS)
        r = read_texts(&texts, a, b);
    if (r >= 0)
        r = choose(a, b, how, &texts, &matches, error);
    texts_done(&texts);
    if (r < 0) {
        event_matches_done(&matches);
        return error_set(error, r, NULL, "out of memory");
    }
    *ret_matches = matches;
    return 0;
}

void event_matches_done(struct event_matches *matches)
{
    free(matches->items);
    *matches = (struct event_matches){0};
}
