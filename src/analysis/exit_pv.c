/* SPDX-License-Identifier: MIT */
#include "analysis/exit_pv.h"

#include <errno.h>

#include "base/macro.h"

static unsigned n_own_keys(const struct exit_pv *pv)
{
    return pv->detail ? 2 : 1;
}

int exit_pv_init(struct exit_pv *pv, const struct analysis_settings *settings, bool detail)
{
    int r;

    *pv = (struct exit_pv){.detail = detail};
    r = rows_init(&pv->rows, n_own_keys(pv) + settings->grouping.n, 0, settings->every,
                  settings->has_batches);
    rows_set_grouping(&pv->rows, &settings->grouping);
    return r;
}

void exit_pv_done(struct exit_pv *pv)
{
    rows_done(&pv->rows);
}

static bool has_detail(const struct exit_class *class, const struct item *item)
{
    return class->handler && exit_has_detail(class, item);
}

static _cold_ struct row *add_row(struct exit_pv *pv, const struct grouping *grouping,
                                  const struct exit_class *class, const struct item *item,
                                  const uint64_t *numbers)
{
    struct text *text = &pv->rows.text;
    unsigned own = n_own_keys(pv);
    size_t starts[ROW_KEYS] = {0};
    const char *keys[ROW_KEYS] = {0};
    struct row *row;

    text->next = text->start;
    for (unsigned i = 0; i < own + grouping->n; i++) {
        starts[i] = text_len(text);
        if (i >= own)
            grouping_put(grouping, i - own, item, text);
        else if (i == 0)
            text_put_str(text, item->class->name);
        else if (has_detail(class, item))
            exit_detail_put(class, item, text);
        else
            text_put_char(text, '-');
        text_put_char(text, '\0');
    }
    if (text->error)
        return NULL;
    for (unsigned i = 0; i < own + grouping->n; i++)
        keys[i] = text->start + starts[i];
    row = rows_add(&pv->rows, numbers, keys);
    if (!row || row->origin)
        return row;
    row->origin = item->origin;
    for (unsigned i = 0; i < grouping->n; i++)
        if (grouping_value(grouping, i, item, &row->values[own + i]))
            row->has_value |= 1u << (own + i);
    return row;
}

/* NULL if out of memory. */
static struct row *find_row(struct exit_pv *pv, struct grouping *grouping, struct exit_class *class,
                            const struct item *item)
{
    uint64_t numbers[ROW_KEYS] = {0};
    struct row *row;
    unsigned rank;

    numbers[0] = class->pv_kind;
    if (pv->detail && has_detail(class, item))
        numbers[1] = exit_detail_number(class, item, &rank);
    grouping_numbers(grouping, item, numbers + n_own_keys(pv));
    row = rows_find(&pv->rows, numbers);
    if (unlikely(!row))
        row = add_row(pv, grouping, class, item, numbers);
    if (!pv->detail && grouping->n == 0)
        class->pv_row = row;
    return row;
}

int exit_pv_put(struct exit_pv *pv, struct analysis *analysis, struct exit_class *class,
                const struct item *item)
{
    struct row *row = class->pv_row;

    pv->n++;
    /* No entry is known to be as long. */
    if (analysis->settings.longer > 0 || !analysis_selects(analysis, item)) {
        analysis_leave_out(analysis, item);
        return 0;
    }
    if (unlikely(pv->rows.periods_begin == TIME_UNKNOWN))
        pv->rows.periods_begin = item->time;
    if (!row) {
        row = find_row(pv, &analysis->settings.grouping, class, item);
        if (!row)
            return -ENOMEM;
    }
    row_note_source(&pv->rows, row, item->origin, item->origin, item->cpu, item->vcpu, true, false);
    /* All but their number is unknown of them. */
    if (likely(pv->rows.every == 0 && !pv->rows.has_batches)) {
        row->n++;
        return 0;
    }
    return row_count(&pv->rows, row, item->time, 0, 0);
}

int exit_pv_add_rows(const struct exit_pv *pv, const struct duration_columns *columns,
                     struct result *result)
{
    int r = result_add_duration_rows(result, columns, &pv->rows);

    for (unsigned i = 0; r == 0 && i < pv->rows.n; i++) {
        struct result_row *row = result->rows[i];

        row->has_value &= UINT64_C(1) << columns->n | UINT64_C(1) << columns->rate |
                          UINT64_C(1) << columns->covered;
        row->durations = NULL;
    }
    return r;
}
