/* SPDX-License-Identifier: MIT */
/* Makes the rows of `state`. */
#include "tables/internal.h"

static const char *const kinds[] = {
    [STATE_SUBJECT_THREAD] = "thread",
    [STATE_SUBJECT_CPU] = "cpu",
    [STATE_SUBJECT_VCPU] = "vcpu",
    [STATE_SUBJECT_DOMAIN] = "domain",
};

static int put_interval(struct tables_sink *sink, const struct state_interval *interval,
                        unsigned source)
{
    const struct origin *origin = interval->origin;
    const struct clock *clock = &origin->clock;
    bool is_vcpu = interval->of == STATE_SUBJECT_VCPU;
    bool has_cpu = interval->of == STATE_SUBJECT_THREAD || is_vcpu;
    struct value name = cell_null();
    struct value vcpu = cell_null();

    if (is_vcpu) {
        vcpu = tables_vcpu(origin, interval->id, &sink->text);
        if (vcpu.len > 0)
            name = vcpu;
    } else if (interval->of == STATE_SUBJECT_THREAD) {
        vcpu = tables_vcpu(origin, interval->vcpu, &sink->text);
        if (interval->name && interval->name[0])
            name = cell_text(interval->name);
    }
    return sink->ops->row(
        sink->arg, TABLE_STATE,
        (const struct value[STATE_COLUMNS]){
            [STATE_COL_KIND] = cell_text(kinds[interval->of]),
            [STATE_COL_SOURCE] = cell_integer(source),
            [STATE_COL_LAYER] = cell_text(layer_name(origin->layer)),
            [STATE_COL_ID] = cell_integer(interval->id),
            [STATE_COL_NAME] = name,
            [STATE_COL_STATE] = cell_text(state_name((enum state)interval->state)),
            [STATE_COL_BEGIN] = cell_integer(clock_to_ns(clock, interval->begin)),
            [STATE_COL_END] = cell_integer(clock_to_ns(clock, interval->end)),
            [STATE_COL_DURATION] =
                cell_integer(clock_to_ns(clock, interval->end - interval->begin)),
            [STATE_COL_CPU] =
                cell_integer_if(interval->cpu, has_cpu && interval->cpu != CPU_UNKNOWN),
            [STATE_COL_BY] = cell_integer_if(interval->by, interval->of <= STATE_SUBJECT_CPU &&
                                                               interval->by != PID_UNKNOWN),
            [STATE_COL_VCPU] = vcpu,
            [STATE_COL_BEGIN_SEEN] = cell_integer(interval->begin_seen),
            [STATE_COL_END_SEEN] = cell_integer(interval->end_seen),
        });
}

static int put_intervals(void *arg, const struct state_interval *intervals, unsigned n)
{
    struct tables_sink *sink = arg;
    const struct origin *origin = NULL;
    unsigned source = 0;
    int r = 0;

    for (unsigned i = 0; i < n && r == 0; i++) {
        if (intervals[i].origin != origin) {
            origin = intervals[i].origin;
            source = tables_source(sink, origin);
        }
        r = put_interval(sink, &intervals[i], source);
    }
    return r;
}

const struct states_ops state_rows_ops = {.put = put_intervals};
