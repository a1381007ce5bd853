/* SPDX-License-Identifier: MIT */
#include "format/ftrace/ftrace.h"

#include <string.h>

#include "base/input.h"
#include "base/macro.h"
#include "base/reopen_cache.h"
#include "event/kernel.h"
#include "format/ftrace/clock.h"
#include "format/ftrace/cpu_pages.h"
#include "format/ftrace/tree.h"

#define SMALL_TEXT_MAX ((size_t)4 * 1024 * 1024)
/* What all CPUs' buffers may take together. */
#define BUFFERS_MAX ((size_t)16 * 1024 * 1024)

/* Pages from a file of nothing but pages. */
struct raw_feed {
    struct page_feed feed;
    struct input input;
    struct ftrace_layout layout;
    bool in_place; /* at the page to lend next, not at the one lent last */
};

static int raw_next(struct page_feed *feed, const uint8_t **ret_page, size_t *ret_size,
                    uint64_t *ret_offset, struct error *error)
{
    struct raw_feed *raw = container_of(feed, struct raw_feed, feed);
    int r;

    if (!raw->in_place)
        input_skip(&raw->input, MIN((size_t)raw->layout.size, input_buffered(&raw->input)));
    raw->in_place = false;
    r = input_need(&raw->input, raw->layout.size, error);
    if (r < 0)
        return r;
    if (r == 0 && input_buffered(&raw->input) == 0)
        return 0;
    *ret_page = input_at(&raw->input);
    *ret_size = MIN(input_buffered(&raw->input), (size_t)raw->layout.size);
    *ret_offset = input_offset(&raw->input);
    feed->done = *ret_offset + *ret_size;
    return 1;
}

/* Pages come from guests in pieces of any size; where a piece is missing, all that follows is out of
 * step. */
static int raw_resync(struct page_feed *feed, size_t from, uint64_t after, uint64_t *ret_skipped,
                      struct error *error)
{
    struct raw_feed *raw = container_of(feed, struct raw_feed, feed);
    uint64_t begin = input_offset(&raw->input) + from;
    int r = 1;

    input_skip(&raw->input, MIN(from + 1, input_buffered(&raw->input)));
    for (;;) {
        /* The last page may be shorter. */
        r = input_need(&raw->input, raw->layout.size, error);
        if (r < 0)
            return r;
        if (input_buffered(&raw->input) == 0 ||
            ftrace_page_seems_to_begin(&raw->layout, input_at(&raw->input),
                                       input_buffered(&raw->input), after))
            break;
        input_skip(&raw->input, 1);
    }
    raw->in_place = true;
    *ret_skipped = input_offset(&raw->input) - begin;
    return 0;
}

/* Where the next page is. */
static uint64_t next_offset(const struct raw_feed *raw)
{
    return input_offset(&raw->input) +
           (raw->in_place ? 0 : MIN((size_t)raw->layout.size, input_buffered(&raw->input)));
}

static uint64_t raw_left(const struct page_feed *feed)
{
    const struct raw_feed *raw = container_of(feed, struct raw_feed, feed);
    uint64_t offset = next_offset(raw);

    if (!raw->input.seekable || raw->input.size == UINT64_MAX || raw->input.size < offset)
        return 0;
    return (raw->input.size - offset) / raw->layout.size;
}

static int raw_peek(const struct page_feed *feed, uint64_t number, uint8_t *p, size_t size,
                    struct error *error)
{
    const struct raw_feed *raw = container_of(feed, struct raw_feed, feed);
    int64_t n =
        input_read_at(&raw->input, next_offset(raw) + number * raw->layout.size, p, size, error);

    return n < 0 ? (int)n : (size_t)n < size ? -EIO : 0;
}

static int raw_skip(struct page_feed *feed, uint64_t number, struct error *error)
{
    struct raw_feed *raw = container_of(feed, struct raw_feed, feed);
    int r = input_seek(&raw->input, next_offset(raw) + number * raw->layout.size, error);

    if (r == 0)
        raw->in_place = true;
    return r;
}

static void raw_free(struct page_feed *feed)
{
    struct raw_feed *raw = container_of(feed, struct raw_feed, feed);

    input_done(&raw->input);
    free(raw);
}

static int open_file(const struct ftrace_raw *file, size_t capacity, struct reopen_cache *cache,
                     struct input *ret, struct error *error)
{
    int r;

    if (!file->is_missing) {
        r = (file->found ? input_open_regular : input_open)(ret, file->path, capacity, error);
        if (r >= 0 && (r = reopen_cache_fix_end(cache, ret, error)) < 0)
            input_done(ret);
        return r;
    }
    r = input_open_memory(ret, "", 0, file->path);
    return r < 0 ? error_set(error, r, file->path, "%s", error_text(r)) : 0;
}

static int raw_open(const struct ftrace_raw *file, const struct ftrace_layout *layout,
                    unsigned n_cpus, struct reopen_cache *cache, struct raw_feed **ret_feed,
                    struct error *error)
{
    size_t capacity = MIN(INPUT_BUFFER_SIZE, BUFFERS_MAX / n_cpus);
    struct raw_feed *raw = calloc(1, sizeof *raw);
    int r;

    if (!raw)
        return error_set(error, -ENOMEM, file->path, "out of memory");
    capacity = MAX(capacity, (size_t)layout->size);
    r = open_file(file, capacity, cache, &raw->input, error);
    /* If the beginning of the file was released, data that begins with a zero is a page too. */
    if (r >= 0 && file->found && input_offset(&raw->input) % layout->size != 0) {
        uint64_t begin = input_offset(&raw->input);

        r = input_seek(&raw->input, begin - begin % layout->size, error);
        if (r < 0)
            input_done(&raw->input);
    }
    if (r < 0) {
        free(raw);
        return r;
    }
    raw->feed.next = raw_next;
    raw->feed.resync = raw_resync;
    raw->feed.left = raw_left;
    raw->feed.peek = raw_peek;
    raw->feed.skip = raw_skip;
    raw->feed.free = raw_free;
    raw->feed.path = raw->input.path;
    raw->feed.is_cut = file->is_cut;
    raw->feed.is_unfinished = file->is_unfinished;
    raw->feed.is_late = file->is_late;
    raw->feed.total = raw->input.size == UINT64_MAX ? 0 : raw->input.size;
    raw->layout = *layout;
    raw->in_place = true;
    *ret_feed = raw;
    return 0;
}

/* Sets the byte order by the first page there is. */
static int guess_order(struct raw_feed **feeds, unsigned n, struct ftrace_layout *layout,
                       struct error *error)
{
    for (unsigned i = 0; i < n; i++) {
        struct input *in = &feeds[i]->input;
        struct ftrace_layout other = *layout;
        int r = input_need(in, layout->data, error);

        if (r < 0)
            return r;
        if (r == 0)
            continue;
        if (ftrace_page_is_plausible(layout, input_at(in), input_buffered(in)))
            return 0;
        ftrace_layout_set_order(&other, !layout->big_endian);
        if (ftrace_page_is_plausible(&other, input_at(in), input_buffered(in)))
            *layout = other;
        return 0;
    }
    return 0;
}

static int read_layout(const char *tree, struct ftrace_layout *ret_layout, struct error *error)
{
    _cleanup_free_ char *text = NULL;
    size_t len;
    int r = ftrace_tree_read(tree, "events/header_page", SMALL_TEXT_MAX, &text, &len);

    if (r < 0)
        return error_set(error, r, tree, "events/header_page: %s", strerror(-r));
    return ftrace_layout_parse(text, len, tree, ret_layout, error);
}

/* A file of the tree that may be missing. 1: it is there, 0: it cannot be had. */
static int read_optional(const char *tree, const char *name, char **ret_text, size_t *ret_len)
{
    int r = ftrace_tree_read(tree, name, SMALL_TEXT_MAX, ret_text, ret_len);

    return r == 0 ? 1 : error_is_local(r) ? r : 0;
}

/* Reads what the tree says beside formats. Missing files only leave names unknown. */
static int read_names(const char *tree, struct kernel_events *events)
{
    char *text = NULL;
    size_t len = 0;
    int r = read_optional(tree, "saved_cmdlines", &text, &len);

    if (r > 0)
        r = kernel_events_read_cmdlines(events, text, len);
    if (r == 0)
        r = read_optional(tree, "printk_formats", &text, &len);
    if (r > 0)
        r = kernel_events_read_printk(events, text, len);
    return r;
}

static int read_clock(const char *tree, struct clock *ret)
{
    char *text = NULL;
    size_t len = 0;
    int r = read_optional(tree, "trace_clock", &text, &len);

    if (r > 0) {
        *ret = ftrace_clock(text, len);
        free(text);
    }
    return MIN(r, 0);
}

/* Whether tracing was off when the tree was copied, or is in a live one: what is read of its CPUs then is all that they had. 1: yes. */
static int read_is_stopped(const char *tree)
{
    char *text = NULL;
    size_t len = 0;
    int r = read_optional(tree, "tracing_on", &text, &len);

    if (r > 0)
        r = len > 0 && text[0] == '0';
    free(text);
    return r;
}

/* When the first of the files begins; 0: it is not known, as of a pipe. */
static uint64_t find_begin(struct raw_feed *const *feeds, unsigned n,
                           const struct ftrace_layout *layout)
{
    uint64_t first = UINT64_MAX;

    for (unsigned i = 0; i < n; i++) {
        const struct page_feed *feed = &feeds[i]->feed;
        struct error error = {0};
        uint8_t bytes[8];

        if (raw_left(feed) == 0 || raw_peek(feed, 0, bytes, sizeof bytes, &error) < 0)
            continue;
        first = MIN(first, MIN(load_u64_swap(bytes, layout->swap), (uint64_t)INT64_MAX));
    }
    return first == UINT64_MAX ? 0 : first;
}

static int make_instance(const struct ftrace_files *files, const char *name, enum layer layer,
                         struct catalogue *catalogue, const struct reader_options *options,
                         const struct ftrace_layout *layout, struct raw_feed *const *feeds,
                         struct ftrace_instance **ret_instance, struct error *error)
{
    struct kernel_facts facts = {
        .swap = layout->swap, .big_endian = layout->big_endian, .long_size = layout->long_size};
    struct origin origin = {
        .layer = layer,
        .format = "ftrace",
        .n_cpus = files->n_raws,
        .clock = ftrace_clock("", 0),
    };
    struct kernel_formats *formats;
    struct kernel_events *events;
    struct kernel_format format;
    int r;

    r = ftrace_tree_new(files->tree, files->kallsyms, files->cache, &formats);
    if (r < 0)
        return error_set(error, r, name, "out of memory");
    r = kernel_events_new(catalogue, &facts, formats, &events);
    if (r < 0)
        return error_set(error, r, name, "out of memory");
    r = ftrace_tree_any(formats, &format);
    if (r == 0)
        r = kernel_events_set_common(events, &format, error);
    else if (r == -ENOENT)
        r = 0; /* a tree without formats still gives times and tasks */
    if (r == 0 && kernel_events_common(events)->pid_offset == KERNEL_NO_OFFSET)
        origin.layer = LAYER_HYPERVISOR;
    if (r == 0)
        r = read_names(files->tree, events);
    if (r == 0)
        r = read_clock(files->tree, &origin.clock);
    if (r == 0 && !files->is_recorded && files->n_raws > 1) {
        r = read_is_stopped(files->tree);
        origin.ends_apart = r == 0;
        r = MIN(r, 0);
    }
    if (r < 0) {
        kernel_events_unref(events);
        return error_set(error, r, files->tree, "%s", error_text(r));
    }

    origin.path = arena_strdup(&catalogue->arena, name);
    if (!origin.path) {
        kernel_events_unref(events);
        return error_set(error, -ENOMEM, name, "out of memory");
    }
    r = ftrace_instance_new(catalogue, &origin, events, layout, options->keep_going, ret_instance);
    if (r < 0)
        return error_set(error, r, name, "out of memory");
    (*ret_instance)->begin = find_begin(feeds, files->n_raws, layout);
    return 0;
}

int ftrace_open(const struct ftrace_files *files, const char *name, enum layer layer,
                struct catalogue *catalogue, const struct reader_options *options,
                struct source ***ret_sources, unsigned *ret_n, struct error *error)
{
    unsigned n = files->n_raws, n_feeds = 0, n_sources = 0;
    struct ftrace_instance *instance = NULL;
    _cleanup_free_ struct raw_feed **feeds = calloc(MAX(n, 1u), sizeof(struct raw_feed *));
    _cleanup_free_ struct source **sources = calloc(MAX(n, 1u), sizeof(struct source *));
    struct ftrace_layout layout;
    int r;

    if (!feeds || !sources)
        return error_set(error, -ENOMEM, name, "out of memory");
    r = read_layout(files->tree, &layout, error);
    for (; r == 0 && n_feeds < n; n_feeds++) {
        r = raw_open(&files->raws[n_feeds], &layout, n, files->cache, &feeds[n_feeds], error);
        if (r < 0)
            break;
    }
    if (r == 0)
        r = guess_order(feeds, n, &layout, error);
    for (unsigned i = 0; i < n_feeds; i++)
        if (feeds[i])
            feeds[i]->layout = layout;
    if (r == 0)
        r = make_instance(files, name, layer, catalogue, options, &layout, feeds, &instance, error);
    for (; r == 0 && n_sources < n; n_sources++) {
        r = ftrace_cpu_open(instance, files->raws[n_sources].cpu, &TAKE_PTR(feeds[n_sources])->feed,
                            &sources[n_sources]);
        if (r < 0) {
            error_set(error, r, name, "out of memory");
            break;
        }
    }
    if (r == 0)
        instance->reports_outlier = !files->is_bounded;
    if (r == 0 && files->may_be_cut)
        ftrace_instance_judge_ends(instance);
    ftrace_instance_unref(instance);
    if (r < 0) {
        while (n_sources > 0)
            source_free(sources[--n_sources]);
        while (n_feeds > 0)
            if (feeds[--n_feeds])
                raw_free(&feeds[n_feeds]->feed);
        return r;
    }
    *ret_sources = TAKE_PTR(sources);
    *ret_n = n;
    return 0;
}
