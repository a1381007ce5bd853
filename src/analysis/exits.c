/* SPDX-License-Identifier: MIT */
#include "analysis/exits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/ticks.h"
#include "event/value.h"

/* Keys of rows: the reason, with `detail` what was requested, and the keys of `--by`. */
#define KEY_REASON 0
#define KEY_DETAIL 1

struct open_exit {
    struct row *row;
    struct open_exit *next_free;
    unsigned rank;                 /* of the detail; 0 if it has none yet */
    int64_t handled_end;           /* TIME_UNKNOWN: at the entry */
    int64_t vmm_since;             /* TIME_UNKNOWN: not with the VMM */
    uint64_t vmm_run, vmm_unknown; /* of `times` at that time */
    int64_t since;                 /* begin of `state` */
    enum exit_state state;
    uint64_t times[EXIT_STATES];
};

static struct exits *get_exits(struct analysis *analysis)
{
    return container_of(analysis, struct exits, analysis);
}

static unsigned n_own_keys(const struct exits *exits)
{
    return exits->settings.detail ? KEY_DETAIL + 1 : KEY_REASON + 1;
}

/* ---- rows ---- */

/* Adds a row for NUMBERS, like LIKE's except the detail. LIKE NULL: for the exit that ITEM begins. */
static _cold_ struct row *add_row(struct exits *exits, const struct exit_class *class,
                                  const struct item *item, const struct exit_reason *reason,
                                  const struct row *like, const uint64_t *numbers)
{
    const struct grouping *grouping = &exits->analysis.settings.grouping;
    struct text *text = &exits->rows.text;
    unsigned own = n_own_keys(exits);
    size_t starts[ROW_KEYS] = {0};
    const char *keys[ROW_KEYS] = {0};
    struct row *row;

    text->next = text->start;
    for (unsigned i = 0; i < own + grouping->n; i++) {
        starts[i] = text_len(text);
        if (like && i != KEY_DETAIL)
            text_put_str(text, like->keys[i]);
        else if (like)
            exit_detail_put(class, item, text);
        else if (i >= own)
            grouping_put(grouping, i - own, item, text);
        else if (i == KEY_REASON)
            exit_reason_put(class, item, reason, text);
        else
            text_put_char(text, '-');
        text_put_char(text, '\0');
    }
    if (text->error)
        return NULL;
    for (unsigned i = 0; i < own + grouping->n; i++)
        keys[i] = text->start + starts[i];
    row = rows_add(&exits->rows, numbers, keys);
    if (!row || row->origin)
        return row;
    row->origin = like ? like->origin : item->origin;
    if (like) {
        memcpy(row->values, like->values, sizeof row->values);
        row->has_value = like->has_value;
        return row;
    }
    if (class->tracer == EXITS_OF_XEN && class->reason >= 0 &&
        !item->class->fields[class->reason].names)
        exits->is_unnamed = true;
    row->values[KEY_REASON] = (int64_t)reason->number;
    row->has_value = 1u << KEY_REASON;
    for (unsigned i = 0; i < grouping->n; i++)
        if (grouping_value(grouping, i, item, &row->values[own + i]))
            row->has_value |= 1u << (own + i);
    return row;
}

/* Returns ITEM, or COPY of it with its vCPU. KVM's events have the vCPU in a field. If the threads of monitors are
 * known, only their events count, because vCPUs of other virtual machines have the same numbers. */
static const struct item *with_vcpu(const struct exit_class *class, const struct item *item,
                                    struct item *copy)
{
    if (item->vcpu != VCPU_UNKNOWN || class->vcpu < 0 ||
        (item->origin->vm_name && !item_vm_name(item)))
        return item;
    *copy = *item;
    copy->vcpu = (int32_t)item_value(item, (unsigned)class->vcpu).u;
    return copy;
}

static struct row *find_row(struct exits *exits, const struct exit_class *class,
                            const struct item *item, const struct exit_reason *reason)
{
    struct grouping *grouping = &exits->analysis.settings.grouping;
    uint64_t numbers[ROW_KEYS] = {0};
    struct item copy;
    struct row *row;

    /* A reason of its own for each kind of processor; RISC-V's have their highest bit, too. */
    numbers[KEY_REASON] = reason->number ^ (uint64_t)reason->isa << 40 ^
                          (uint64_t)reason->is_nested << 48 ^ (uint64_t) class->tracer << 52;
    if (grouping->n > 0) {
        item = with_vcpu(class, item, &copy);
        grouping_numbers(grouping, item, numbers + n_own_keys(exits));
    }
    row = rows_find(&exits->rows, numbers);
    return likely(row != NULL) ? row : add_row(exits, class, item, reason, NULL, numbers);
}

static struct exit_times *get_times(struct exits *exits, const struct row *row)
{
    if (unlikely(row->number >= exits->n_times)) {
        unsigned n = MAX(exits->n_times * 2, row->number + 1);
        struct exit_times *times = realloc(exits->times, n * sizeof *times);

        if (!times)
            return NULL;
        memset(times + exits->n_times, 0, (n - exits->n_times) * sizeof *times);
        exits->times = times;
        exits->n_times = n;
    }
    return &exits->times[row->number];
}

/* ---- spans ---- */

/* True if ITEM, of QEMU, is an exit that the kernel of the same host has traced, too. */
static bool is_seen_by_kvm(const struct exits *exits, const struct item *item)
{
    const struct origin *kvm = exits->kvm;

    return kvm && (!kvm->host_name || !item->origin->host_name ||
                   strcmp(kvm->host_name, item->origin->host_name) == 0);
}

static bool selects(void *arg, const struct item *item)
{
    struct exits *exits = arg;
    struct item copy;

    return analysis_selects(&exits->analysis,
                            with_vcpu(exits->classes.of[item->class->index], item, &copy));
}

static uint64_t begin(void *arg, const struct span_kind *kind, const struct item *item)
{
    struct exits *exits = arg;
    const struct exit_class *class = exits->classes.of[item->class->index];
    struct open_exit *open = exits->free;
    struct exit_reason reason;
    struct row *row;

    exits->n_exits[kind->rule_number]++;
    if (kind->rule_number == EXITS_OF_KVM)
        exits->kvm = item->origin;
    else if (kind->rule_number == EXITS_OF_QEMU && is_seen_by_kvm(exits, item))
        return 0;
    if (unlikely(exits->spans.selects != NULL) && !selects(exits, item)) {
        analysis_leave_out(&exits->analysis, item);
        return 0;
    }
    exit_reason_of(class, item, &reason);
    if (exits->settings.no_idle && exit_reason_is_idle(reason.isa, reason.number))
        return 0;
    row = find_row(exits, class, item, &reason);
    if (likely(open != NULL))
        exits->free = open->next_free;
    else
        open = arena_alloc(&exits->arena, sizeof *open);
    if (!row || !open) {
        error_set(&exits->analysis.sink.error, -ENOMEM, NULL, "out of memory");
        return 0;
    }
    *open = (struct open_exit){.row = row,
                               .handled_end = TIME_UNKNOWN,
                               .vmm_since = TIME_UNKNOWN,
                               .since = item->time,
                               .state = EXIT_RUNS};
    return (uintptr_t)open;
}

static void put_back(struct exits *exits, struct open_exit *open)
{
    open->next_free = exits->free;
    exits->free = open;
}

/* Adds the time up to TIME to its state. */
static inline void add_time(struct open_exit *open, int64_t time, bool is_known)
{
    open->times[is_known ? open->state : EXIT_STATE_UNKNOWN] +=
        (uint64_t)time - (uint64_t)open->since;
    open->since = time;
}

static int complete(void *arg, const struct span *span, const struct item *item)
{
    struct exits *exits = arg;
    struct open_exit *open = (struct open_exit *)(uintptr_t)span->tag;
    int64_t end = span_end(span);
    int64_t duration;
    struct exit_times *times;
    struct row *row;

    if (!open)
        return 0;
    row = open->row;
    if (exits->settings.handled && open->handled_end != TIME_UNKNOWN)
        end = open->handled_end;
    else
        add_time(open, end, open->state == EXIT_RUNS);
    duration = (int64_t)((uint64_t)end - (uint64_t)span_begin(span));
    put_back(exits, open);
    if (duration < exits->analysis.settings.longer) {
        exits->analysis.left_out++;
        return 0;
    }
    times = get_times(exits, row);
    if (!times)
        return -ENOMEM;
    /* One by one: a vector's load would wait for the stores of single numbers. */
    for (unsigned i = 0; i < EXIT_STATES; i++)
        if (open->times[i] > 0)
            times->states[i] += open->times[i];
    if (open->vmm_since != TIME_UNKNOWN) {
        times->vmm_n++;
        if (open->vmm_since < end) {
            times->vmm += (uint64_t)ticks_between(open->vmm_since, end);
            times->vmm_run += open->times[EXIT_RUNS] - open->vmm_run;
            times->vmm_unknown += open->times[EXIT_STATE_UNKNOWN] - open->vmm_unknown;
        }
    }
    if (exits->rows.slowest.max > 0)
        rows_keep_slow_span(&exits->rows, row, span, end);
    if (exits->analysis.put_span) {
        int r = analysis_give_span(&exits->analysis, row, span, end);

        if (r < 0)
            return r;
    }
    /* A vCPU of KVM is a thread, and Xen records all. */
    row_note_source(&exits->rows, row, span->origin, item->origin, span->cpu, span->vcpu,
                    spans_stayed(&exits->spans, span, item), true);
    return row_count(&exits->rows, row, span_begin(span), duration, span->error_ns);
}

static void incomplete(void *arg, const struct span *span, enum span_fate fate)
{
    struct open_exit *open = (struct open_exit *)(uintptr_t)span->tag;
    struct exits *exits = arg;

    if (!open)
        return;
    if (fate == SPAN_OPEN && !(exits->settings.handled && open->handled_end != TIME_UNKNOWN))
        analysis_keep_open_span(&exits->analysis, &exits->rows, open->row, &exits->spans, span);
    put_back(exits, open);
}

static const struct spans_ops span_ops = {
    .begin = begin, .complete = complete, .incomplete = incomplete};

/* ---- events between the ends ---- */

/* The open exit at the place of ITEM. NULL if there is none, or if it is not counted. */
static struct open_exit *find_open(struct exits *exits, enum exit_tracer tracer,
                                   const struct item *item)
{
    uint64_t *tag = spans_open_tag(&exits->spans, tracer, item);

    return tag ? (struct open_exit *)(uintptr_t)*tag : NULL;
}

static int put_handler(struct exits *exits, const struct exit_class *class, const struct item *item)
{
    struct open_exit *open = find_open(exits, class->tracer, item);
    uint64_t numbers[ROW_KEYS];
    unsigned rank;
    uint64_t detail;
    struct row *row;

    if (!open || !exit_has_detail(class, item))
        return 0;
    detail = exit_detail_number(class, item, &rank);
    if (rank <= open->rank)
        return 0;
    memcpy(numbers, open->row->numbers, sizeof numbers);
    numbers[KEY_DETAIL] = detail;
    row = rows_find(&exits->rows, numbers);
    if (unlikely(!row))
        row = add_row(exits, class, item, NULL, open->row, numbers);
    if (unlikely(!row))
        return -ENOMEM;
    open->rank = rank;
    open->row = row;
    return 0;
}

/* The thread or vCPU of ITEM changed from FROM (EXIT_STATE_UNKNOWN: any state) to TO. */
static void change_state(struct exits *exits, enum exit_tracer tracer, const struct item *item,
                         enum exit_state from, enum exit_state to)
{
    struct open_exit *open = find_open(exits, tracer, item);
    enum exit_state before;

    if (!open || open->state == to ||
        (exits->settings.handled && open->handled_end != TIME_UNKNOWN))
        return;
    before = open->state;
    add_time(open, item->time, from == EXIT_STATE_UNKNOWN || from == before);
    open->state = to;
    /* The end of the first sleep, or the first preemption. */
    if (open->handled_end == TIME_UNKNOWN && (from != EXIT_RUNS || to == EXIT_WAITS) &&
        to != EXIT_SLEEPS && to != EXIT_OFFLINE)
        open->handled_end = item->time;
}

/* Notes that ITEM's source, with CLASS, is in SOURCES from now on. */
static int note_source(struct exits *exits, struct map *sources, struct exit_class *class,
                       const struct item *item)
{
    if (likely(class->is_noted))
        return 0;
    class->is_noted = true;
    return map_put(sources, (uintptr_t)item->origin, exits);
}

static int put_to_vmm(struct exits *exits, struct exit_class *class, const struct item *item)
{
    struct open_exit *open = find_open(exits, EXITS_OF_KVM, item);

    if (open && open->vmm_since == TIME_UNKNOWN) {
        open->vmm_since = item->time;
        /* The thread has the event, so that it runs. */
        if (!(exits->settings.handled && open->handled_end != TIME_UNKNOWN)) {
            add_time(open, item->time, open->state == EXIT_RUNS);
            open->state = EXIT_RUNS;
        }
        open->vmm_run = open->times[EXIT_RUNS];
        open->vmm_unknown = open->times[EXIT_STATE_UNKNOWN];
    }
    return note_source(exits, &exits->vmm_sources, class, item);
}

static int put_state(struct exits *exits, struct exit_class *class, const struct item *item)
{
    struct item copy;

    /* Wake-ups alone do not tell when a thread left its CPU. */
    if (class->pid < 0 && note_source(exits, &exits->state_sources, class, item) < 0)
        return -ENOMEM;
    if (!spans_has_open(&exits->spans))
        return 0;
    copy = *item;
    if (class->tracer == EXITS_OF_XEN) {
        copy.vcpu = (int32_t)(item_value(item, (unsigned)class->domain).u << 16 |
                              item_value(item, (unsigned)class->vcpu).u);
        change_state(exits, EXITS_OF_XEN, &copy, class->from, class->to);
        return 0;
    }
    if (class->pid >= 0) {
        copy.pid = (int32_t)item_value(item, (unsigned)class->pid).u;
        if (copy.pid == 0)
            return 0;
        /* Of a thread that runs or is runnable, a wake-up changes nothing. */
        {
            struct open_exit *open = find_open(exits, EXITS_OF_KVM, &copy);

            if (open && open->state == EXIT_SLEEPS)
                change_state(exits, EXITS_OF_KVM, &copy, EXIT_SLEEPS, EXIT_WAITS);
        }
        return 0;
    }
    copy.pid = (int32_t)item_value(item, (unsigned)class->prev_pid).u;
    if (copy.pid != 0) {
        /* The lowest bits; those above are flags, such as preempted. */
        uint64_t state = item_value(item, (unsigned)class->prev_state).u & 0xff;

        change_state(exits, EXITS_OF_KVM, &copy, EXIT_RUNS, state == 0 ? EXIT_WAITS : EXIT_SLEEPS);
    }
    copy.pid = (int32_t)item_value(item, (unsigned)class->next_pid).u;
    if (copy.pid != 0)
        change_state(exits, EXITS_OF_KVM, &copy, EXIT_WAITS, EXIT_RUNS);
    return 0;
}

static bool has_exits(const struct exits *exits)
{
    for (unsigned i = 0; i < EXIT_TRACERS; i++)
        if (exits->n_exits[i] > 0)
            return true;
    return false;
}

static int put_between(struct exits *exits, struct exit_class *class, const struct item *item)
{
    switch (class->role) {
    case EXIT_STATE: return put_state(exits, class, item);
    case EXIT_TO_VMM: return put_to_vmm(exits, class, item);
    case EXIT_PV: return exit_pv_put(&exits->pv, &exits->analysis, class, item);
    default: return put_handler(exits, class, item);
    }
}

/* ---- the sink ---- */

static int put_items(struct exits *exits, const struct item *items, unsigned n)
{
    unsigned first = 0; /* that spans have not been given */
    bool may_have_open = spans_has_open(&exits->spans);
    int r = 0;

    for (unsigned i = 0; i < n; i++) {
        const struct item *item = &items[i];
        struct exit_class *class;

        if (unlikely(item->kind != ITEM_EVENT))
            continue;
        class = exit_classes_get(&exits->classes, item->class);
        if (unlikely(!class))
            return -ENOMEM;
        if (class->role == EXIT_NOTHING || (class->role == EXIT_HANDLER && !exits->settings.detail))
            continue;
        /* They are shown only where no guest exits. */
        if (class->role == EXIT_PV && has_exits(exits))
            continue;
        if (class->role == EXIT_STEP &&
            (likely(class->tracer != EXITS_OF_QEMU) || !exit_is_unused(class, item))) {
            may_have_open = true;
            continue;
        }
        /* What is between the ends needs the spans up to there, if any can be open. */
        if (class->role == EXIT_STEP || may_have_open) {
            r = spans_put(&exits->spans, items + first, i - first);
            first = i + (class->role == EXIT_STEP);
            may_have_open = spans_has_open(&exits->spans);
        }
        if (r >= 0 && class->role != EXIT_STEP)
            r = put_between(exits, class, item);
        if (r < 0)
            return r;
    }
    return spans_put(&exits->spans, items + first, n - first);
}

static int put(struct sink *sink, const struct item *items, unsigned n)
{
    struct exits *exits = get_exits(container_of(sink, struct analysis, sink));
    int r;

    r = analysis_note_times(&exits->analysis, &exits->rows, items, n);
    if (r == 0)
        r = put_items(exits, items, n);
    if (r == -ERANGE)
        return analysis_period_error(sink);
    return r < 0 ? r : sink->error.code;
}

static int begin_loss(struct sink *sink, const struct item *item)
{
    return spans_begin_loss(&get_exits(container_of(sink, struct analysis, sink))->spans, item);
}

static int finish(struct sink *sink)
{
    spans_finish(&get_exits(container_of(sink, struct analysis, sink))->spans);
    return 0;
}

/* ---- the result ---- */

static void add_columns(struct analysis *analysis, struct result *result)
{
    static const struct {
        const char *name, *title;
    } states[EXIT_STATES] = {[EXIT_RUNS] = {"run", "RUN"},
                             [EXIT_WAITS] = {"wait", "WAIT"},
                             [EXIT_SLEEPS] = {"sleep", "SLEEP"},
                             [EXIT_OFFLINE] = {"offline", NULL},
                             [EXIT_STATE_UNKNOWN] = {"unknown", NULL}};
    const struct grouping *grouping = &analysis->settings.grouping;
    struct exits *exits = get_exits(analysis);

    result_add_key(result, "reason", "REASON", false);
    if (exits->settings.detail)
        result_add_key(result, "detail", "DETAIL", false);
    for (unsigned i = 0; i < grouping->n; i++)
        result_add_key(result, grouping->keys[i].name, grouping->keys[i].title,
                       grouping_is_number(grouping, i));
    result_add_duration_columns(result, &analysis->settings.percentiles, &exits->columns);
    for (unsigned i = 0; i < EXIT_STATES; i++)
        exits->state_columns[i] =
            result_add_column(result, states[i].name, states[i].title, RESULT_DURATION);
    exits->vmm_column = result_add_column(result, "vmm", "IN-VMM", RESULT_DURATION);
    exits->vmm_run_column = result_add_column(result, "vmm_run", NULL, RESULT_DURATION);
    exits->vmm_n_column = result_add_column(result, "vmm_n", NULL, RESULT_COUNT);
}

/* True if there are no VM exits. Only then are the entries of paravirtualised guests shown. */
static bool is_pv_only(const struct exits *exits)
{
    return !has_exits(exits) && exits->pv.n > 0;
}

static int add_notes(const struct exits *exits, struct result *result)
{
    uint64_t unkeyed = 0;
    int r = 0;

    for (unsigned i = 0; i < exits->spans.n_kinds; i++)
        if (exits->spans.kinds[i]->rule_number == EXITS_OF_XEN)
            unkeyed += exits->spans.kinds[i]->fates[SPAN_UNKEYED];
    if (unkeyed > 0)
        r = result_add_note(result, "which vCPU leaves its guest is known from events of class "
                                    "sched; record them, too");
    if (r == 0 && exits->is_unnamed)
        r = result_add_note(result,
                            "reasons are numbers because the CPU vendor is unknown; state it "
                            "with --cpu-vendor=amd or --cpu-vendor=intel");
    /* A KVM without hardware virtualization (kvm_pvm) has the event, and never traces it. */
    if (r == 0 && exits->vmm_sources.used > 0 && exits->n_exits[EXITS_OF_KVM] == 0)
        r = result_add_note(
            result,
            "KVM of this host traced kvm_userspace_exit, but no kvm_exit: it has no "
            "such exits, they were not recorded, or their format is missing; exits that KVM "
            "handles by itself are unknown");
    else if (r == 0 && exits->n_exits[EXITS_OF_QEMU] > 0 && exits->n_exits[EXITS_OF_KVM] == 0)
        r = result_add_note(result,
                            "QEMU sees only the exits that KVM passes on to it; to see all, record "
                            "the host's kernel: strata record --host --for exits");
    if (r == 0 && is_pv_only(exits))
        r = result_add_note(result,
                            "paravirtualised guests have no VM exits: these are their entries into "
                            "Xen, by kind; how long they take is unknown, as Xen does not trace "
                            "when it returns to the guest");
    return r;
}

/* Leaves unknown times out of RESULT_ROW. */
static void put_times(const struct exits *exits, const struct row *row,
                      struct result_row *result_row)
{
    const struct exit_times *times;

    if (row->number >= exits->n_times)
        return;
    times = &exits->times[row->number];
    if (map_get(&exits->state_sources, (uintptr_t)row->origin))
        for (unsigned i = 0; i < EXIT_STATES; i++)
            if (i != EXIT_OFFLINE || row->origin->layer == LAYER_HYPERVISOR)
                result_set_part(result_row, exits->state_columns[i], (int64_t)times->states[i],
                                (int64_t)times->states[EXIT_STATE_UNKNOWN]);
    if (map_get(&exits->vmm_sources, (uintptr_t)row->origin)) {
        result_set_number(result_row, exits->vmm_column, (int64_t)times->vmm);
        if (map_get(&exits->state_sources, (uintptr_t)row->origin))
            result_set_part(result_row, exits->vmm_run_column, (int64_t)times->vmm_run,
                            (int64_t)times->vmm_unknown);
        result_set_number(result_row, exits->vmm_n_column, (int64_t)times->vmm_n);
    }
}

static int add_rows(struct analysis *analysis, struct result *result)
{
    struct exits *exits = get_exits(analysis);
    unsigned n = 0;
    int r;

    if (is_pv_only(exits)) {
        r = exit_pv_add_rows(&exits->pv, &exits->columns, result);
        return r == 0 ? add_notes(exits, result) : r;
    }
    r = result_add_duration_rows(result, &exits->columns, &exits->rows);
    if (r == 0)
        r = result_add_slow_spans(result, &exits->rows);
    if (r == 0)
        r = add_notes(exits, result);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < exits->rows.n; i++) {
        const struct row *row = exits->rows.rows[i];

        /* What turned out to be another row when the next event came. */
        if (row->n == 0)
            continue;
        put_times(exits, row, result->rows[i]);
        if (row->number < exits->n_times) {
            if (exits->times[row->number].states[EXIT_OFFLINE] > 0)
                result->columns[exits->state_columns[EXIT_OFFLINE]].title = "OFFLINE";
            if (exits->times[row->number].states[EXIT_STATE_UNKNOWN] > 0)
                result->columns[exits->state_columns[EXIT_STATE_UNKNOWN]].title = "?";
        }
        result->rows[n++] = result->rows[i];
    }
    result->n_rows = n;
    for (unsigned i = 0; i < exits->spans.n_kinds; i++)
        for (unsigned fate = 0; fate < SPAN_FATES; fate++)
            result->unpaired[fate] += exits->spans.kinds[i]->fates[fate];
    result->unpaired[SPAN_COMPLETE] = 0;
    return 0;
}

static bool has_events(const struct analysis *analysis)
{
    const struct exits *exits = container_of(analysis, const struct exits, analysis);

    return exits->spans.n_kinds > 0 || exits->pv.n > 0;
}

int exits_init(struct exits *exits, const struct analysis_settings *settings,
               const struct exits_settings *exits_settings, const struct catalogue *catalogue)
{
    static const struct sink_ops sink_ops = {
        .put = put, .begin_loss = begin_loss, .finish = finish};
    static const struct analysis_ops ops = {.name = "exits",
                                            .add_columns = add_columns,
                                            .add_rows = add_rows,
                                            .has_events = has_events};
    int r;

    *exits = (struct exits){.analysis = {.sink.ops = &sink_ops, .ops = &ops, .settings = *settings},
                            .settings = *exits_settings};
    if (n_own_keys(exits) + settings->grouping.n > ROW_KEYS)
        return -EINVAL;
    r = rows_init(&exits->rows, n_own_keys(exits) + settings->grouping.n, settings->slowest,
                  settings->every, settings->has_batches);
    if (r == 0)
        r = exit_pv_init(&exits->pv, settings, exits_settings->detail);
    if (r < 0)
        return r;
    rows_set_grouping(&exits->rows, &settings->grouping);
    exits->rows.moves |= exits->rows.by_vcpu; /* all spans are of one */
    r = spans_init(&exits->spans, catalogue, exit_rules, EXIT_TRACERS, &span_ops, exits);
    exits->spans.selects = analysis_span_selects(settings, selects);
    return r;
}

void exits_done(struct exits *exits)
{
    map_done(&exits->state_sources);
    map_done(&exits->vmm_sources);
    free(exits->times);
    exit_classes_done(&exits->classes);
    spans_done(&exits->spans);
    rows_done(&exits->rows);
    exit_pv_done(&exits->pv);
    arena_done(&exits->arena);
}
