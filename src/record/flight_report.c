/* SPDX-License-Identifier: MIT */
#include "record/flight_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock_ns.h"
#include "base/hash.h"
#include "base/macro.h"
#include "record/recorder_internal.h"

#define LOSSES_INTERVAL_NS (60 * NSEC_PER_SEC)
#define MESSAGE_INTERVAL_NS (10 * NSEC_PER_SEC)

/* Of a source, by its name: what was reported. */
struct reported {
    uint64_t name; /* hash */
    uint64_t lost;
    uint64_t next_at; /* not before, of losses */
};

struct flight_report {
    struct recorder *recorder;
    struct reported *sources;
    unsigned n_sources;
    uint64_t *problems; /* hashes */
    unsigned n_problems;
    /* Of each recorder. Seen: what it is about may have ended, so that all are stopped. */
    enum end_state {
        END_UNSEEN,
        END_SEEN,
        END_REPORTED,
    } *
        ends;
    unsigned n_ends;
    unsigned messages_left;
    uint64_t message_at; /* when there is one more */
};

int flight_report_new(struct recorder *recorder, struct flight_report **ret)
{
    struct flight_report *report = calloc(1, sizeof *report);

    if (!report)
        return -ENOMEM;
    report->recorder = recorder;
    report->messages_left = FLIGHT_REPORT_BURST;
    *ret = report;
    return 0;
}

void flight_report_free(struct flight_report *report)
{
    if (!report)
        return;
    free(report->sources);
    free(report->problems);
    free(report->ends);
    free(report);
}

/* ---- Problems ---- */

/* Of a problem of NAME. A number that it begins with may grow. */
static uint64_t hash_problem(const char *name, const char *text)
{
    const char *rest = text + strspn(text, "0123456789");

    return hash_mix(hash_bytes(name, strlen(name)), hash_bytes(rest, strlen(rest)));
}

static bool is_known(const struct flight_report *report, uint64_t hash)
{
    for (unsigned i = 0; i < report->n_problems; i++)
        if (report->problems[i] == hash)
            return true;
    return false;
}

static bool note_problem(struct flight_report *report, uint64_t hash)
{
    uint64_t *bigger =
        realloc(report->problems, (report->n_problems + 1) * sizeof *report->problems);

    if (!bigger)
        return false;
    report->problems = bigger;
    report->problems[report->n_problems++] = hash;
    return true;
}

static void report_problem(struct flight_report *report, const struct recorder *recorder,
                           const char *name, const char *text)
{
    uint64_t hash = hash_problem(name, text);
    char full[500];

    if (report->messages_left == 0 || is_known(report, hash) || !note_problem(report, hash))
        return;
    snprintf(full, sizeof full, "%s: %s", recorder->name, text);
    if (recorder_was_reported(recorder, text) || recorder_was_reported(recorder, full))
        return;
    report->messages_left--;
    recorder_report(report->recorder, "%s: %s", name, text);
}

/* ---- Losses ---- */

static struct reported *find_source(struct flight_report *report, const char *name)
{
    uint64_t hash = hash_bytes(name, strlen(name));
    struct reported *bigger;

    for (unsigned i = 0; i < report->n_sources; i++)
        if (report->sources[i].name == hash)
            return &report->sources[i];
    bigger = realloc(report->sources, (report->n_sources + 1) * sizeof *report->sources);
    if (!bigger)
        return NULL;
    report->sources = bigger;
    report->sources[report->n_sources] = (struct reported){.name = hash};
    return &report->sources[report->n_sources++];
}

static void report_losses(struct flight_report *report, const struct manifest_source *source,
                          uint64_t now)
{
    struct reported *reported =
        source->lost == 0 || report->messages_left == 0 ? NULL : find_source(report, source->name);

    if (!reported || source->lost <= reported->lost || now < reported->next_at)
        return;
    reported->lost = source->lost;
    reported->next_at = now + LOSSES_INTERVAL_NS;
    report->messages_left--;
    recorder_report(report->recorder, "%s: %" PRIu64 " event%s lost so far", source->name,
                    source->lost, source->lost == 1 ? " was" : "s were");
}

/* ---- All ---- */

static void report_end(struct flight_report *report, const struct recorder *recorder,
                       enum end_state *state)
{
    if (!recorder_has_ended_early(recorder) || *state == END_REPORTED)
        return;
    if (*state == END_UNSEEN) {
        *state = END_SEEN;
        return;
    }
    *state = END_REPORTED;
    if (recorder->error.code == 0 && !recorder->is_end_reported)
        recorder_report(report->recorder, "%s has ended; the rest is still recorded",
                        recorder->name);
}

/* Whether it has recorded anything. */
static bool look_at(struct flight_report *report, const struct recorder *recorder, uint64_t now)
{
    struct arena arena = {0};
    struct recorder_sources sources = {0};
    const char *about = recorder->name;

    if (recorder->state == RECORDER_NEW && recorder->n_problems == 0)
        return false;
    if (recorder->state != RECORDER_NEW && recorder->ops->sources &&
        recorder->ops->sources(recorder, &arena, &sources) < 0)
        sources.n = 0;
    for (unsigned i = 0; i < sources.n; i++) {
        const struct manifest_source *source = &sources.items[i];

        for (unsigned j = 0; j < source->n_problems; j++)
            report_problem(report, recorder, source->name, source->problems[j]);
        report_losses(report, source, now);
    }
    if (sources.n > 0)
        about = sources.items[sources.about].name;
    for (unsigned i = 0; i < recorder->n_problems; i++)
        report_problem(report, recorder, about, recorder->problems[i]);
    arena_done(&arena);
    return sources.n > 0;
}

void flight_report_step(struct flight_report *report, uint64_t now)
{
    unsigned n;
    struct recorder *const *recorders = recording_recorders(report->recorder->recording, &n);

    if (n > report->n_ends) {
        enum end_state *bigger = realloc(report->ends, n * sizeof *bigger);

        if (!bigger)
            return;
        for (unsigned i = report->n_ends; i < n; i++)
            bigger[i] = END_UNSEEN;
        report->ends = bigger;
        report->n_ends = n;
    }
    if (report->messages_left < FLIGHT_REPORT_BURST && now >= report->message_at) {
        report->messages_left++;
        report->message_at = now + MESSAGE_INTERVAL_NS;
    }
    for (unsigned i = 0; i < n; i++) {
        if (recorders[i]->is_service || recorders[i]->reports_at_once)
            continue;
        if (look_at(report, recorders[i], now))
            report_end(report, recorders[i], &report->ends[i]);
    }
}
