/* SPDX-License-Identifier: MIT */
#include "report/losses_text.h"

#include <inttypes.h>

#include "base/lost_cpus.h"

static void put_places(struct text *text, uint64_t n)
{
    text_put_literal(text, " in ");
    text_put_u64(text, n);
    text_put_str(text, n == 1 ? " place" : " places");
}

static void put_by_cpu(const struct losses *losses, struct text *text)
{
    struct lost_cpus lost = {0};

    for (int cpu = 0; cpu < losses->n_cpus; cpu++)
        lost_cpus_add(&lost, (unsigned)cpu, losses->by_cpu[cpu]);
    if (lost.n == 0)
        return;
    text_put_literal(text, " (");
    lost_cpus_put(&lost, text);
    text_put_char(text, ')');
}

/* Puts the losses that only recorders know, after the losses in records. */
static void put_recorded(const struct losses *losses, struct text *text)
{
    if (losses->unplaced)
        text_printf(text, "; %" PRIu64 " in all by the recorder's count", losses->events);
    if (losses->elsewhere)
        text_printf(text, "; the recorder counted %" PRIu64 " in the whole trace",
                    losses->elsewhere);
    if (losses->n_recorders)
        text_put_literal(text, "; more may be missing that are not counted");
}

/* Puts the same if no record states a loss. */
static void put_unplaced(const struct losses *losses, struct text *text)
{
    if (losses->unplaced || losses->elsewhere)
        text_printf(text, "%" PRIu64 " event%s lost by the recorder's count%s; when is unknown",
                    losses->unplaced + losses->elsewhere,
                    losses->unplaced + losses->elsewhere == 1 ? " was" : "s were",
                    losses->elsewhere ? " of the whole trace" : "");
    else if (losses->n_recorders)
        text_put_literal(text, "events may be missing; how many is unknown");
    if (losses->n_recorders && (losses->unplaced || losses->elsewhere))
        text_put_literal(text, "; more are not counted");
}

void losses_put(const struct losses *losses, struct text *text)
{
    uint64_t counted = losses->n - losses->uncounted;

    if (losses->n == 0) {
        put_unplaced(losses, text);
        return;
    }
    if (counted == 0) {
        text_put_literal(text, "events were lost");
        put_places(text, losses->uncounted);
        text_put_literal(text, ", how many is unknown");
    } else {
        text_put_u64(text, losses->events - losses->unplaced);
        text_put_str(text, losses->events - losses->unplaced == 1 ? " event was lost"
                                                                  : " events were lost");
        put_by_cpu(losses, text);
        put_places(text, counted);
        if (losses->uncounted) {
            text_put_literal(text, ", and an unknown number");
            put_places(text, losses->uncounted);
        }
    }
    if (losses->damaged && losses->skipped == 0) {
        text_put_literal(text, "; the input is damaged");
    } else if (losses->damaged) {
        text_put_literal(text, "; ");
        text_put_u64(text, losses->skipped);
        text_put_literal(text, " damaged bytes were skipped");
    }
    put_recorded(losses, text);
}

void losses_write_json(const struct losses *losses, struct json_writer *w)
{
    json_write_key(w, "lost");
    losses_write_counts(losses, w);
}

void losses_write_counts(const struct losses *losses, struct json_writer *w)
{
    json_write_object(w);
    json_write_key(w, "events");
    json_write_u64(w, losses->events);
    json_write_key(w, "uncounted");
    json_write_u64(w, losses->uncounted);
    json_write_key(w, "places");
    json_write_u64(w, losses->n);
    json_write_key(w, "skipped_bytes");
    json_write_u64(w, losses->skipped);
    if (losses->unplaced) {
        json_write_key(w, "unplaced");
        json_write_u64(w, losses->unplaced);
    }
    if (losses->elsewhere) {
        json_write_key(w, "elsewhere");
        json_write_u64(w, losses->elsewhere);
    }
    if (losses->n_recorders) {
        json_write_key(w, "incomplete");
        json_write_bool(w, true);
    }
    json_write_end(w);
}
