/* SPDX-License-Identifier: MIT */
#include "analysis/diff_condition.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"

int diff_condition_parse(const char *text, struct diff_condition *ret)
{
    char metric[16], sign, percent;
    int end = 0;
    const char *dot = strchr(text, '.');
    const char *space = strpbrk(text, " <>");
    const char *last = space;

    while (last && last > text && *last != '.')
        last--;
    if (!dot || !space || last <= dot || space - last - 1 <= 0 ||
        (size_t)(space - last) > sizeof metric ||
        sscanf(space, " %c %lf %c %n", &sign, &ret->limit, &percent, &end) != 3 || percent != '%' ||
        space[end] || !isfinite(ret->limit) || (sign != '<' && sign != '>'))
        return -EINVAL;
    snprintf(metric, sizeof metric, "%.*s", (int)(space - last - 1), last + 1);
    if (diff_metric_find(metric) < 0)
        return -EINVAL;
    ret->metric = (enum diff_metric)diff_metric_find(metric);
    ret->limit /= 100;
    ret->is_below = sign == '<';
    ret->analysis = strndup(text, (size_t)(dot - text));
    ret->key = strndup(dot + 1, (size_t)(last - dot - 1));
    return ret->analysis && ret->key ? 0 : -ENOMEM;
}

static bool has_key(const struct diff_row *row, unsigned n_keys, const char *pattern)
{
    for (unsigned i = 0; i < n_keys; i++)
        if (glob_match(pattern, row->keys[i]))
            return true;
    return false;
}

/* PATTERN matches a key, or several keys with dots between them: "read.total". */
static bool has_keys(const struct diff_row *row, unsigned n_keys, const char *pattern)
{
    char part[256];

    if (has_key(row, n_keys, pattern))
        return true;
    for (const char *p = pattern;; p++) {
        size_t len = strcspn(p, ".");

        if (len >= sizeof part)
            return false;
        memcpy(part, p, len);
        part[len] = '\0';
        if (!has_key(row, n_keys, part))
            return false;
        p += len;
        if (!*p)
            return true;
    }
}

/* The verdict on a change, as ? and ~ in the table. */
static const char *verdict_text(enum diff_verdict verdict)
{
    return verdict == DIFF_UNKNOWN ? " (undecided: too few spans)"
           : verdict == DIFF_SAME  ? " (not more than chance)"
                                   : "";
}

bool diff_condition_check(struct diff_condition *condition, const char *analysis,
                          const struct diff *diff, struct text *out)
{
    bool is_met = false;

    if (strcmp(condition->analysis, analysis) != 0)
        return false;
    for (unsigned i = 0; i < diff->n; i++) {
        const struct diff_row *row = &diff->rows[i];
        double change = diff_change(row, condition->metric);

        if (!has_keys(row, diff->results[0]->n_keys, condition->key) || isnan(change))
            continue;
        condition->has_row = true;
        if (row->lacks_cpu && (condition->metric == DIFF_RATE || condition->metric == DIFF_SUM)) {
            text_put_literal(
                out, "cannot be decided: most of the time of a CPU is missing in one trace\n");
            condition->is_undecided = true;
            continue;
        }
        if (condition->is_below ? change >= condition->limit : change <= condition->limit)
            continue;
        is_met = true;
        text_printf(out, "%+.1f%%%s\n", change * 100,
                    verdict_text(row->tests[condition->metric].verdict));
    }
    return is_met;
}

void diff_condition_done(struct diff_condition *condition)
{
    free(condition->analysis);
    free(condition->key);
}
