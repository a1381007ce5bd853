/* SPDX-License-Identifier: MIT */
#include "report/findings_refine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "tracedir/manifest.h"

/* ---- sources ---- */

static bool has_twin(const struct result *result, const struct result_row *row)
{
    for (unsigned i = 0; i < result->n_rows; i++) {
        const struct result_row *other = result->rows[i];
        unsigned k = 0;

        while (k < result->n_keys && strcmp(row->keys[k], other->keys[k]) == 0)
            k++;
        if (other != row && k == result->n_keys)
            return true;
    }
    return false;
}

static int name_source(struct findings *findings, struct finding *finding,
                       const struct trace *trace)
{
    const struct origin *origin = finding->row ? finding->row->origin : NULL;
    const struct trace_input *input;
    _cleanup_free_ char *text = NULL;

    if (!origin || finding->is_of_all || !has_twin(finding->result, finding->row))
        return 0;
    input = &trace->inputs[trace_input_of(trace, origin)];
    if (asprintf(&text, "%s: %s", input->recorded ? input->recorded->name : origin->path,
                 finding->text) < 0) {
        text = NULL;
        return -ENOMEM;
    }
    finding->text = arena_strdup(&findings->arena, text);
    return finding->text ? 0 : -ENOMEM;
}

/* ---- snapshots ---- */

/* The findings that the first word of a condition means, best first: by their command and the column of their
 * number. */
static const struct {
    const char *word, *command, *column; /* NULL: any */
} meanings[] = {
    {"latency", "path ", NULL},
    {"latency", "irq ", "max"},
    {"exits", "exits ", NULL},
    {"stolen", "sched ", "stolen_share"},
    {"stolen", "sched ", "wait_share"},
    {"runnable", "sched ", "wait_share"},
    {"lost", "stat ", NULL},
};

static bool is_meant(unsigned meaning, const struct finding *finding)
{
    const char *command = meanings[meaning].command, *column = meanings[meaning].column;

    return strncmp(finding->command, command, strlen(command)) == 0 &&
           (!column || (finding->result &&
                        strcmp(finding->result->columns[finding->column].name, column) == 0));
}

/* Returns the index of the finding that CONDITION is about, or findings->n. */
static unsigned find_meant(const struct findings *findings, const char *condition)
{
    size_t len = strcspn(condition, " ");

    for (unsigned i = 0; i < ARRAY_SIZE(meanings); i++) {
        if (strlen(meanings[i].word) != len || strncmp(meanings[i].word, condition, len) != 0)
            continue;
        for (unsigned j = 0; j < findings->n; j++)
            if (is_meant(i, &findings->items[j]))
                return j;
    }
    return findings->n;
}

static void put_first(struct findings *findings, unsigned i)
{
    struct finding finding = findings->items[i];

    memmove(findings->items + 1, findings->items, i * sizeof finding);
    findings->items[0] = finding;
}

int findings_refine(struct findings *findings, const struct trace *trace)
{
    for (unsigned i = 0; i < findings->n; i++)
        if (name_source(findings, &findings->items[i], trace) < 0)
            return -ENOMEM;
    for (unsigned i = trace->n_manifests; i-- > 0;) {
        const struct manifest_snapshot *snapshot = trace->manifests[i].snapshot;
        unsigned meant =
            snapshot && snapshot->trigger ? find_meant(findings, snapshot->trigger) : findings->n;

        if (meant < findings->n)
            put_first(findings, meant);
    }
    return 0;
}
