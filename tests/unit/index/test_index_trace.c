/* SPDX-License-Identifier: MIT */
/* Indexes of real traces against second targets of slices and states, which list all that there is. */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/states/states.h"
#include "base/arena.h"
#include "base/remove_dir.h"
#include "cmocka_all.h"
#include "index/build.h"
#include "index/index.h"
#include "trace/trace.h"
#include "tracks/slices.h"

/* One slice, interval of a state, or number of instants or values, of the track PATH. */
struct fact {
    char kind; /* 's', 't' (states), 'i', 'v' */
    const char *path;
    const char *name;
    unsigned depth;
    int64_t begin, end;
    uint64_t n;
    unsigned flags;
};

struct facts {
    struct arena arena;
    struct fact *list;
    size_t n, room;
};

struct open {
    int64_t begin;
    const char *name;
};

struct model_track {
    const char *path;
    unsigned n_open;
    struct open open[OPEN_MAX];
    uint64_t n_instants, n_values;
};

/* What has states, and when it has some. */
struct subject {
    const char *path;
    const struct origin *origin;
    bool is_thread;
    int64_t begin, end;
};

struct model {
    struct slices slices;
    struct subject subjects[1024];
    unsigned n_subjects;
    struct states states;
    struct facts facts;
    struct model_track **tracks; /* by number */
    unsigned n_tracks;
    uint64_t n_events;
    int64_t begin, end; /* of events; of all items */
};

static void add(struct facts *facts, struct fact fact)
{
    if (facts->n == facts->room) {
        facts->room = facts->room ? 2 * facts->room : 1024;
        facts->list = realloc(facts->list, facts->room * sizeof *facts->list);
        assert_non_null(facts->list);
    }
    facts->list[facts->n++] = fact;
}

static void facts_done(struct facts *facts)
{
    free(facts->list);
    arena_done(&facts->arena);
}

static const char *join(struct facts *facts, const char *a, const char *b)
{
    char text[1024];
    const char *joined;

    snprintf(text, sizeof text, "%s/%s", a, b);
    joined = arena_strdup(&facts->arena, text);
    assert_non_null(joined);
    return joined;
}

/* Where states are: by what they are of, as their tracks have other names. */
static const char *state_path(struct facts *facts, unsigned layer, unsigned source,
                              const char *what, int32_t id)
{
    char text[64];

    snprintf(text, sizeof text, "%u %u %s %d", layer, source, what, (int)id);
    return join(facts, "states", text);
}

/* ---- the model ---- */

static int note_track(struct slices *slices, const struct track *track)
{
    struct model *model = container_of(slices, struct model, slices);
    struct model_track *made = calloc(1, sizeof *made);

    assert_int_equal(track->number, model->n_tracks + 1);
    model->tracks = realloc(model->tracks, (track->number + 1) * sizeof(struct model_track *));
    assert_true(made && model->tracks);
    made->path = join(&model->facts,
                      track->parent ? model->tracks[track->parent->number]->path : "", track->name);
    model->tracks[track->number] = made;
    model->n_tracks = track->number;
    return 0;
}

static void end_slice(struct model *model, struct model_track *track, int64_t ns, unsigned flags)
{
    const struct open *open = &track->open[--track->n_open];

    add(&model->facts,
        (struct fact){'s', track->path, open->name, track->n_open, open->begin, ns, 1, flags});
}

static void note_slice(struct slices *slices, const struct slice *slice)
{
    struct model *model = container_of(slices, struct model, slices);
    struct model_track *track = model->tracks[slice->track->number];
    bool lost = slice->track->kind == TRACK_LOST || slice->track->kind == TRACK_CPU_LOST;

    switch (slice->kind) {
    case SLICE_INSTANT:
        if (lost)
            add(&model->facts,
                (struct fact){'s', track->path, "lost", 0, slice->ns, slice->ns, 1, 0});
        else
            track->n_instants++;
        break;
    case SLICE_BEGIN:
        track->open[track->n_open].begin = slice->ns;
        track->open[track->n_open++].name =
            arena_strndup(&model->facts.arena, slice->name, slice->name_len);
        break;
    case SLICE_END: end_slice(model, track, slice->ns, slice->cut ? INDEX_CUT : 0); break;
    case SLICE_COUNTER: track->n_values++; break;
    }
}

static const struct trace *reading;

static void note_subject(struct model *model, const struct state_interval *interval,
                         const char *path)
{
    const struct clock *clock = &interval->origin->clock;
    unsigned i = 0;

    while (i < model->n_subjects && strcmp(model->subjects[i].path, path) != 0)
        i++;
    if (i == model->n_subjects) {
        assert_true(model->n_subjects++ < ARRAY_SIZE(model->subjects));
        model->subjects[i] = (struct subject){.path = path,
                                              .origin = interval->origin,
                                              .is_thread = interval->of == STATE_SUBJECT_THREAD,
                                              .begin = clock_to_ns(clock, interval->begin)};
    }
    model->subjects[i].end = clock_to_ns(clock, interval->end);
}

static void add_unknown(struct model *model, const char *path, int64_t begin, int64_t end)
{
    if (begin < end)
        add(&model->facts,
            (struct fact){'t', path, state_name(STATE_UNKNOWN), 0, begin, end, 1, INDEX_NO_BEGIN});
}

/* Before its source begins, and after it ends, the state of what is there is unknown. */
static void note_outside(struct model *model)
{
    for (unsigned i = 0; i < model->n_subjects; i++) {
        const struct subject *subject = &model->subjects[i];
        const struct clock *clock = &subject->origin->clock;

        if (!subject->is_thread &&
            subject->begin == clock_to_ns(clock, states_begin(&model->states, subject->origin)))
            add_unknown(model, subject->path, model->begin, subject->begin);
        if (subject->end == clock_to_ns(clock, states_end(&model->states, subject->origin)))
            add_unknown(model, subject->path, subject->end, model->end);
    }
}

static int note_states(void *arg, const struct state_interval *intervals, unsigned n)
{
    static const char *const of[] = {[STATE_SUBJECT_THREAD] = "thread",
                                     [STATE_SUBJECT_CPU] = "cpu",
                                     [STATE_SUBJECT_VCPU] = "vcpu",
                                     [STATE_SUBJECT_DOMAIN] = "domain"};
    struct model *model = arg;

    for (unsigned i = 0; i < n; i++) {
        const struct clock *clock = &intervals[i].origin->clock;
        const char *path = state_path(&model->facts, intervals[i].origin->layer,
                                      trace_input_of(reading, intervals[i].origin),
                                      of[intervals[i].of], intervals[i].id);

        note_subject(model, &intervals[i], path);
        add(&model->facts, (struct fact){.kind = 't',
                                         .path = path,
                                         .name = state_name(intervals[i].state),
                                         .begin = clock_to_ns(clock, intervals[i].begin),
                                         .end = clock_to_ns(clock, intervals[i].end),
                                         .n = 1,
                                         .flags = intervals[i].begin_seen ? 0 : INDEX_NO_BEGIN});
    }
    return 0;
}

static unsigned input_of(void *arg, const struct origin *origin)
{
    return trace_input_of(arg, origin);
}

static struct trace *open_trace(const char *path)
{
    const struct trace_options options = {0};
    struct error error = {0};
    struct trace *trace;

    if (trace_open(&path, 1, &options, &trace, &error) < 0)
        fail_msg("%s: %s", path, error.what);
    return trace;
}

static void make_model(const char *path, struct model *model)
{
    static const struct slices_ops slices_ops = {note_track, note_slice};
    static const struct states_ops states_ops = {note_states};
    struct trace *trace = open_trace(path);
    const struct slices_options options = {
        .catalogue = &trace->catalogue, .origin_number = input_of, .origin_arg = trace};
    const struct item *items;
    int n;

    reading = trace;
    model->begin = INT64_MAX;
    model->end = INT64_MIN;
    assert_int_equal(slices_init(&model->slices, &options, &slices_ops), 0);
    states_init(&model->states, &states_ops, model);
    while ((n = trace_next(trace, &items)) > 0) {
        assert_int_equal(slices_put(&model->slices, items, (unsigned)n), 0);
        assert_int_equal(states_put(&model->states, items, (unsigned)n), 0);
        for (int i = 0; i < n; i++) {
            model->n_events += items[i].kind == ITEM_EVENT;
            if (items[i].kind == ITEM_EVENT)
                model->begin =
                    MIN(model->begin, clock_to_ns(&items[i].origin->clock, items[i].time));
            model->end = MAX(model->end, clock_to_ns(&items[i].origin->clock, items[i].time));
        }
    }
    assert_int_equal(n, 0);
    assert_int_equal(slices_finish(&model->slices), 0);
    assert_int_equal(states_finish(&model->states), 0);
    note_outside(model);
    for (unsigned i = 1; i <= model->n_tracks; i++) {
        struct model_track *track = model->tracks[i];

        while (track->n_open > 0)
            end_slice(model, track, model->end, INDEX_OPEN);
        if (track->n_instants)
            add(&model->facts,
                (struct fact){.kind = 'i', .path = track->path, .n = track->n_instants});
        if (track->n_values)
            add(&model->facts,
                (struct fact){.kind = 'v', .path = track->path, .n = track->n_values});
        free(track);
    }
    free(model->tracks);
    slices_done(&model->slices);
    states_done(&model->states);
    trace_free(trace);
}

/* ---- the index ---- */

static struct index *make_index(const char *path)
{
    struct trace *trace = open_trace(path);
    FILE *file = tmpfile();
    struct error error = {0};
    struct index *index;

    assert_non_null(file);
    if (index_build(trace, NULL, fileno(file), &error) < 0)
        fail_msg("%s: %s", path, error.what);
    trace_free(trace);
    if (index_open_fd(fileno(file), "made", &index, &error) < 0)
        fail_msg("%s: %s", path, error.what);
    fclose(file);
    return index;
}

static void list_slices(const struct index *index, uint32_t number, const char *path, char kind,
                        struct facts *facts)
{
    const struct index_summary *summary = index_summary(index);
    const struct index_track *track = index_track(index, number);
    uint64_t total = 0;

    for (unsigned depth = 0; depth < track->n_depths; depth++) {
        static const int64_t resolutions[] = {1000, 100000, 10000000, INT64_MAX};
        struct index_slices slices = {0};
        uint64_t n = 0;

        assert_int_equal(index_slices(index, number, depth, INT64_MIN, INT64_MAX, 0, &slices), 0);
        for (unsigned i = 0; i < slices.n; i++) {
            const struct index_slice *slice = &slices.slices[i];

            add(facts, (struct fact){kind, path, index_name(index, slice->name), depth,
                                     slice->begin, slice->end, 1,
                                     slice->flags &
                                         (kind == 's' ? INDEX_CUT | INDEX_OPEN : INDEX_NO_BEGIN)});
            if (kind == 't')
                assert_string_equal(state_name(slice->state), index_name(index, slice->name));
        }
        n = slices.n;
        total += n;
        for (unsigned i = 0; i < ARRAY_SIZE(resolutions); i++) {
            uint64_t sum = 0;

            slices.n = 0;
            assert_int_equal(index_slices(index, number, depth, summary->begin, summary->end,
                                          resolutions[i], &slices),
                             0);
            for (unsigned k = 0; k < slices.n; k++)
                sum += slices.slices[k].n;
            assert_int_equal(sum, n);
        }
        index_slices_done(&slices);
    }
    assert_int_equal(total, track->n);
}

/* Of what the states of TRACK are. */
static const char *path_of_states(const struct index_track *track, struct facts *facts)
{
    int domain;

    if (track->cpu != CPU_UNKNOWN)
        return state_path(facts, track->layer, track->source, "cpu", track->cpu);
    if (track->pid != PID_UNKNOWN)
        return state_path(facts, track->layer, track->source, "thread", track->pid);
    if (track->vcpu != VCPU_UNKNOWN)
        return state_path(facts, track->layer, track->source, "vcpu", track->vcpu);
    assert_int_equal(sscanf(track->name, "domain %d", &domain), 1);
    return state_path(facts, track->layer, track->source, "domain", domain);
}

static void list_index(const struct index *index, struct facts *facts)
{
    const struct index_summary *summary = index_summary(index);
    const char **paths = calloc(summary->n_tracks, sizeof(const char *));
    uint64_t n_events = 0;

    assert_non_null(paths);
    for (uint32_t i = 0; i < summary->n_tracks; i++) {
        const struct index_track *track = index_track(index, i);
        const char *parent = track->parent == INDEX_NO_TRACK ? "" : paths[track->parent];
        uint64_t count[2];

        paths[i] = join(facts, parent, track->name);
        assert_int_equal(index_counts(index, i, summary->begin, INT64_MAX, 1, count), 0);
        assert_int_equal(count[0], track->n);
        switch (track->kind) {
        case INDEX_GROUP: break;
        case INDEX_SLICES:
        case INDEX_LOSSES: list_slices(index, i, paths[i], 's', facts); break;
        case INDEX_STATES: list_slices(index, i, path_of_states(track, facts), 't', facts); break;
        case INDEX_COUNTER:
            if (strcmp(track->name, "clock error") != 0)
                add(facts, (struct fact){.kind = 'v', .path = paths[i], .n = track->n});
            break;
        case INDEX_EVENTS:
            if (strcmp(track->name, "all events") == 0)
                n_events += track->n;
            else
                add(facts, (struct fact){.kind = 'i',
                                         .path = strcmp(track->name, "events") == 0 &&
                                                         index_track(index, track->parent)->kind !=
                                                             INDEX_GROUP
                                                     ? parent
                                                     : paths[i],
                                         .n = track->n});
            break;
        }
    }
    assert_int_equal(n_events, summary->n_events);
    free(paths);
}

static int compare(const void *a, const void *b)
{
    const struct fact *x = a;
    const struct fact *y = b;
    int r = x->kind - y->kind;

    if (r == 0)
        r = strcmp(x->path, y->path);
    if (r == 0)
        r = (x->depth > y->depth) - (x->depth < y->depth);
    if (r == 0)
        r = (x->begin > y->begin) - (x->begin < y->begin);
    if (r == 0)
        r = (x->end > y->end) - (x->end < y->end);
    if (r == 0)
        r = x->name && y->name ? strcmp(x->name, y->name) : 0;
    return r;
}

static void check_trace(const char *path)
{
    struct model *model = calloc(1, sizeof *model);
    struct facts found = {0};
    struct index *index;

    assert_non_null(model);
    make_model(path, model);
    index = make_index(path);
    assert_int_equal(index_summary(index)->n_events, model->n_events);
    assert_int_equal(index_summary(index)->end, model->end);
    list_index(index, &found);
    qsort(found.list, found.n, sizeof *found.list, compare);
    qsort(model->facts.list, model->facts.n, sizeof *model->facts.list, compare);
    for (size_t i = 0; i < MIN(found.n, model->facts.n); i++) {
        const struct fact *mine = &found.list[i];
        const struct fact *real = &model->facts.list[i];

        if (compare(mine, real) != 0 || mine->n != real->n || mine->flags != real->flags)
            fail_msg("%s: %c %s %u %lld-%lld %s n %llu flags %x is %c %s %u %lld-%lld %s n %llu "
                     "flags %x in the index",
                     path, real->kind, real->path, real->depth, (long long)real->begin,
                     (long long)real->end, real->name, (unsigned long long)real->n, real->flags,
                     mine->kind, mine->path, mine->depth, (long long)mine->begin,
                     (long long)mine->end, mine->name, (unsigned long long)mine->n, mine->flags);
    }
    assert_int_equal(found.n, model->facts.n);
    print_message("%s: %zu facts of %llu events\n", path, found.n,
                  (unsigned long long)model->n_events);
    index_free(index);
    facts_done(&found);
    facts_done(&model->facts);
    free(model);
}

/* ---- the traces ---- */

static void unpack(const char *packed, const char *directory, const char *inside)
{
    bool is_tar = strstr(packed, ".tar.xz");
    char path[512];
    char command[1024];

    snprintf(path, sizeof path, "%s/%s", directory, inside);
    snprintf(command, sizeof command, is_tar ? "tar xf '%s/%s' -C '%s'" : "xz -dc '%s/%s' >'%s'",
             TEST_DATA, packed, is_tar ? directory : path);
    assert_int_equal(system(command), 0);
    check_trace(path);
}

static void test_traces(void **state)
{
    static const char *const traces[][2] = {
        {"ctf/lttng-ust.tar.xz", "lttng-ust"},
        {"io/virtio-blk.tar.xz", "vm"},
        {"kvm/exits.tar.xz", "trace"},
        {"kvm/perf.ctf.tar.xz", "perf.ctf"},
        {"xen/xen-4.17-all.raw.xz", "xen-4.17.raw"},
        {"xen/xen-4.22-all.raw.xz", "xen-4.22.raw"},
    };
    char directory[] = "/tmp/test_index_trace.XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(directory));
    for (unsigned i = 0; i < ARRAY_SIZE(traces); i++)
        unpack(traces[i][0], directory, traces[i][1]);
    assert_true(remove_dir_at(AT_FDCWD, directory));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_traces)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
