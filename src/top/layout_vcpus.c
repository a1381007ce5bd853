/* SPDX-License-Identifier: MIT */
/* strata top: rows of vCPUs, and of their exits. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ticks.h"
#include "top/layout.h"

static void put_percent(struct top_rows *rows, double part, double whole, bool is_known,
                        unsigned width)
{
    char s[32] = "-";

    if (is_known && whole > 0)
        snprintf(s, sizeof s, "%.1f", MIN(MAX(part / whole * 100, 0.0), 100.0));
    top_put_right(rows, s, width);
}

/* ---- vCPUs ---- */

struct vcpu_row {
    const struct top_vcpu *vcpu;
    int64_t parts[TOP_PARTS];
    struct top_steal steal;
};

static void sum_vcpu(const struct top_view *view, const struct top_vcpu *vcpu, struct vcpu_row *row)
{
    unsigned n = top_windows(view->model, view->span);

    *row = (struct vcpu_row){.vcpu = vcpu};
    for (unsigned i = 0; i < n; i++) {
        unsigned slot = top_slot(view->model, i);

        for (unsigned part = 0; part < TOP_PARTS; part++)
            row->parts[part] += vcpu->parts[slot][part];
        row->steal.stolen += vcpu->steal[slot].stolen;
        row->steal.idle += vcpu->steal[slot].idle;
        row->steal.has_guest |= vcpu->steal[slot].has_guest;
    }
}

static int64_t runs_of(const struct vcpu_row *row)
{
    return row->parts[TOP_GUEST] + row->parts[TOP_HYPERVISOR] + row->parts[TOP_VMM] +
           row->parts[TOP_RUNS];
}

static int compare_vcpu_names(const struct vcpu_row *x, const struct vcpu_row *y)
{
    int r = strcmp(x->vcpu->name, y->vcpu->name);

    if (r == 0)
        r = (x->vcpu->vcpu > y->vcpu->vcpu) - (x->vcpu->vcpu < y->vcpu->vcpu);
    return r != 0 ? r : (x->vcpu->id > y->vcpu->id) - (x->vcpu->id < y->vcpu->id);
}

static int compare_vcpus_by_runs(const void *a, const void *b)
{
    const struct vcpu_row *x = a, *y = b;
    int64_t i = runs_of(x), j = runs_of(y);

    return i != j ? (i < j) - (i > j) : compare_vcpu_names(x, y);
}

static int compare_vcpus_by_wait(const void *a, const void *b)
{
    const struct vcpu_row *x = a, *y = b;
    int64_t i = x->parts[TOP_WAIT], j = y->parts[TOP_WAIT];

    return i != j ? (i < j) - (i > j) : compare_vcpu_names(x, y);
}

static int compare_vcpus_by_name(const void *a, const void *b)
{
    return compare_vcpu_names(a, b);
}

/* Guests' own CPUs are shown only if nothing else shows their vCPUs. */
static bool is_shown(const struct top_model *model, const struct top_vcpu *vcpu)
{
    if (!vcpu->has_states && !(vcpu->has_modes && vcpu->kind == TOP_BY_THREAD))
        return false;
    if (vcpu->kind != TOP_BY_GUEST)
        return true;
    for (unsigned i = 0; i < model->n_vcpus; i++)
        if (model->vcpus[i]->kind != TOP_BY_GUEST && model->vcpus[i]->has_states)
            return false;
    return true;
}

unsigned top_count_vcpus(const struct top_model *model)
{
    unsigned n = 0;

    for (unsigned i = 0; i < model->n_vcpus; i++)
        n += is_shown(model, model->vcpus[i]);
    return n;
}

/* A '+' means that the state of the guest's CPU is unknown in a part of the wait. */
static void put_stolen(struct top_rows *rows, const struct vcpu_row *row, double whole)
{
    int64_t unknown = row->parts[TOP_WAIT] - row->steal.stolen - row->steal.idle;
    char s[32] = "-";

    if (row->steal.has_guest && whole > 0)
        snprintf(s, sizeof s, "%.1f%s", MIN((double)row->steal.stolen / whole * 100, 100.0),
                 (double)unknown / whole >= 0.0005 ? "+" : "");
    top_put_right(rows, s, 7);
}

static void put_vcpu(const struct top_view *view, const struct vcpu_row *row, struct top_rows *rows)
{
    const struct top_model *model = view->model;
    const struct top_vcpu *vcpu = row->vcpu;
    double whole = (double)top_model_length(model, view->span), known = 0;
    bool has_modes = vcpu->has_modes && vcpu->kind != TOP_BY_GUEST;
    char number[16] = "-";

    for (unsigned part = 0; part < TOP_PARTS; part++)
        known += (double)row->parts[part];
    if (vcpu->vcpu != VCPU_UNKNOWN && vcpu->kind != TOP_BY_XEN)
        snprintf(number, sizeof number, "%d", (int)vcpu->vcpu);
    top_put_cell(rows, *vcpu->name ? vcpu->name : model->sources[vcpu->source].name, 21);
    text_printf(&rows->row, " %4s", number);
    put_percent(rows, (double)runs_of(row), whole, true, 6);
    put_percent(rows, (double)row->parts[TOP_GUEST], whole, has_modes, 6);
    put_percent(rows, (double)row->parts[TOP_HYPERVISOR], whole, has_modes, 7);
    put_percent(rows, (double)row->parts[TOP_VMM], whole, has_modes && vcpu->has_vmm, 6);
    put_percent(rows, (double)row->parts[TOP_WAIT], whole, vcpu->kind != TOP_BY_GUEST, 6);
    put_stolen(rows, row, whole);
    put_percent(rows, (double)row->parts[TOP_BLOCKED], whole, true, 8);
    put_percent(rows, whole - known, whole, true, 8);
    top_rows_end_row(rows, TOP_PLAIN);
}

void top_put_vcpus(const struct top_view *view, struct top_rows *rows, unsigned max)
{
    static int (*const orders[TOP_SORTS])(const void *, const void *) = {
        [TOP_SORT_NUMBER] = compare_vcpus_by_runs,
        [TOP_SORT_TIME] = compare_vcpus_by_wait,
        [TOP_SORT_NAME] = compare_vcpus_by_name,
    };
    const struct top_model *model = view->model;
    struct vcpu_row *sorted = malloc(MAX(model->n_vcpus, 1u) * sizeof *sorted);
    unsigned n = 0;

    top_put_heading(rows, "%-21s %4s%6s%6s%7s%6s%6s%7s%8s%8s", "VCPUS OF, IN %", "VCPU", "RUNS",
                    "GUEST", "HYPERV", "VMM", "WAIT", "STOLEN", "BLOCKED", "UNKNOWN");
    if (!sorted) {
        rows->row.error = -ENOMEM;
        return;
    }
    for (unsigned i = 0; i < model->n_vcpus; i++)
        if (is_shown(model, model->vcpus[i]))
            sum_vcpu(view, model->vcpus[i], &sorted[n++]);
    qsort(sorted, n, sizeof *sorted, orders[view->sort]);
    for (unsigned i = 0; i < n && i < max; i++)
        put_vcpu(view, &sorted[i], rows);
    free(sorted);
}

/* ---- Exits ---- */

struct exit_row {
    const struct top_exit *exit;
    uint64_t n, timed;
    int64_t sum, max;
};

static int compare_exits_by_number(const void *a, const void *b)
{
    const struct exit_row *x = a, *y = b;

    return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : strcmp(x->exit->reason, y->exit->reason);
}

static int compare_exits_by_time(const void *a, const void *b)
{
    const struct exit_row *x = a, *y = b;

    return x->sum != y->sum ? (x->sum < y->sum) - (x->sum > y->sum) : compare_exits_by_number(a, b);
}

static int compare_exits_by_name(const void *a, const void *b)
{
    const struct exit_row *x = a, *y = b;

    return strcmp(x->exit->reason, y->exit->reason);
}

/* Adds up the exits in the shown windows and returns their number. SUMS may be NULL. */
static unsigned sum_exits(const struct top_view *view, struct exit_row *sums)
{
    const struct top_model *model = view->model;
    unsigned windows = top_windows(model, view->span), n = 0;

    for (unsigned i = 0; i < model->n_exits; i++) {
        struct exit_row row = {.exit = &model->exits[i]};

        for (unsigned j = 0; j < windows; j++) {
            unsigned slot = top_slot(model, j);

            row.n += model->has_exit_ends ? row.exit->timed[slot] : row.exit->n[slot];
            row.timed += row.exit->timed[slot];
            row.sum = ticks_sum(row.sum, row.exit->sum[slot]);
            row.max = MAX(row.max, row.exit->max[slot]);
        }
        if (row.n == 0 && row.timed == 0)
            continue;
        if (sums)
            sums[n] = row;
        n++;
    }
    return n;
}

unsigned top_count_exits(const struct top_view *view)
{
    return sum_exits(view, NULL);
}

void top_put_exits(const struct top_view *view, struct top_rows *rows, unsigned max)
{
    static int (*const orders[TOP_SORTS])(const void *, const void *) = {
        [TOP_SORT_NUMBER] = compare_exits_by_number,
        [TOP_SORT_TIME] = compare_exits_by_time,
        [TOP_SORT_NAME] = compare_exits_by_name,
    };
    const struct top_model *model = view->model;
    struct exit_row *sums = malloc(MAX(model->n_exits, 1u) * sizeof *sums);
    int64_t length = top_model_length(model, view->span);
    double seconds = (double)clock_to_ns(&model->clock, length) / 1e9;
    bool lost = top_any_loss(model, view->span);
    unsigned n;

    top_put_heading(rows, "%-30s %10s %10s %10s %12s", "EXITS BY REASON", "EXITS/S", "MEAN", "MAX",
                    "% OF A VCPU");
    if (!sums) {
        rows->row.error = -ENOMEM;
        return;
    }
    n = sum_exits(view, sums);
    qsort(sums, n, sizeof *sums, orders[view->sort]);
    for (unsigned i = 0; i < n && i < max; i++) {
        const struct exit_row *row = &sums[i];

        top_put_cell(rows, row->exit->reason, 30);
        text_put_char(&rows->row, ' ');
        top_put_rate(rows, seconds > 0 ? (double)row->n / seconds : 0, lost, 10);
        text_put_char(&rows->row, ' ');
        if (row->timed > 0)
            top_put_duration(rows, &model->clock, row->sum / (int64_t)row->timed, 10);
        else
            top_put_right(rows, "-", 10);
        text_put_char(&rows->row, ' ');
        if (row->timed > 0)
            top_put_duration(rows, &model->clock, row->max, 10);
        else
            top_put_right(rows, "-", 10);
        text_put_char(&rows->row, ' ');
        if (row->timed > 0 && length > 0)
            text_printf(&rows->row, "%12.1f", (double)row->sum / (double)length * 100);
        else
            top_put_right(rows, "-", 12);
        top_rows_end_row(rows, TOP_PLAIN);
    }
    free(sums);
}
