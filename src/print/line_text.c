/* SPDX-License-Identifier: MIT */
#include "base/number.h"
#include "event/kernel_event.h"
#include "event/program.h"
#include "print/class_table.h"
#include "print/time_column.h"
#include "print/view.h"

#define DIM "\033[2m"
#define RED "\033[31m"
#define PLAIN "\033[0m"

/* A task's column as last written, with the blanks around it. */
struct task_cell {
    const struct origin *origin;
    const char *name; /* the origin's name for it; a reader may learn a better one */
    int32_t number;   /* pid or vCPU */
    uint32_t len;
    char text[104 + TEXT_UNIT];
};

#define TASK_CELLS 256 /* a power of two */
#define CPU_CELLS 256
#define CPU_CELL 6
/* A longer name is cut; names in the kernel have at most 15 bytes. */
#define TASK_TEXT_MAX 72
#define NAMED_TASK_WIDTH 20
#define TASK_WIDTH 8
#define VCPU_WIDTH 6
#define INPUT_WIDTH_MAX 100
#define ERROR_WIDTH 6 /* "±999us" */
/* Bytes of a line up to the event's name. */
#define COLUMNS_MAX \
    (TIME_COLUMN_MAX + 2 * NUMBER_MAX + INPUT_WIDTH_MAX + 2 * sizeof(struct task_cell) + 64)
#define NAME_MAX_AT_ONCE 512
_Static_assert(COLUMNS_MAX + NAME_MAX_AT_ONCE < TEXT_ROOM_MAX / 2, "a line's head fits, and more");

struct line_text {
    struct sink sink;
    struct text *out; /* borrowed; the caller checks its error */
    struct view_options options;
    struct time_column time;
    struct class_table names;       /* "NAME:" */
    char cpus[CPU_CELLS][CPU_CELL]; /* " [NNN]" */
    struct task_cell tasks[TASK_CELLS];
    struct task_cell vcpus[TASK_CELLS];
    size_t layer_width; /* length of the longest name of a layer; 0: no such column */
    size_t input_width; /* length of the longest name of an input; 0: numbers */
    bool is_plain;      /* lines have nothing that options or layers add */
};

static void put_name(const struct event_class *class, struct text *text)
{
    text_put_safe(text, class->name, strlen(class->name));
    text_put_char(text, ':');
}

static inline char *put_literal(char *p, const char *s, size_t len)
{
    memcpy(p, s, len);
    return p + len;
}

/* Puts S as text_put_safe() does, as far as it fits. */
static char *put_word(char *p, const char *end, const char *s)
{
    size_t left = strlen(s);

    while (left > 0) {
        char step[PRINTABLE_STEP_MAX];
        size_t len, n = printable_step(s, left, 0, true, step, &len);

        if (len > (size_t)(end - p))
            break;
        p = put_literal(p, step, len);
        s += n;
        left -= n;
    }
    return p;
}

/* Puts WORD right-aligned in WIDTH columns, with a blank on both sides. */
static void fill_cell(struct task_cell *cell, const char *word, size_t len, size_t width)
{
    size_t blanks = 1 + (len < width ? width - len : 0);

    memset(cell->text, ' ', blanks);
    memcpy(cell->text + blanks, word, len);
    cell->text[blanks + len] = ' ';
    cell->len = (uint32_t)(blanks + len + 1);
}

static size_t task_width(const struct line_text *line, const struct origin *origin)
{
    return line->layer_width > 0 || origin->task_name ? NAMED_TASK_WIDTH : TASK_WIDTH;
}

static _cold_ const struct task_cell *make_task(const struct line_text *line,
                                                struct task_cell *cell, const struct origin *origin,
                                                int32_t pid, const char *name)
{
    char word[TASK_TEXT_MAX + NUMBER_MAX];
    char *p = word;

    if (name && *name) {
        p = put_word(p, word + TASK_TEXT_MAX - NUMBER_MAX, name);
        if (pid != PID_UNKNOWN)
            *p++ = '-';
    }
    if (pid != PID_UNKNOWN)
        p = number_sdec(p, pid);
    fill_cell(cell, word, (size_t)(p - word), task_width(line, origin));
    cell->origin = origin;
    cell->name = name;
    cell->number = pid;
    return cell;
}

static _cold_ const struct task_cell *make_vcpu(const struct line_text *line,
                                                struct task_cell *cell, const struct origin *origin,
                                                int32_t vcpu)
{
    struct text text = TEXT_IN_MEMORY;

    if (origin->put_vcpu)
        origin->put_vcpu(origin, vcpu, &text);
    else
        text_printf(&text, "vcpu%d", vcpu);
    fill_cell(cell, text.start ? text.start : "", MIN(text_len(&text), (size_t)TASK_TEXT_MAX),
              line->layer_width > 0 ? VCPU_WIDTH : TASK_WIDTH);
    text_done(&text);
    cell->origin = origin;
    cell->number = vcpu;
    return cell;
}

static inline const struct task_cell *get_vcpu(struct line_text *line, const struct item *item)
{
    struct task_cell *cell = &line->vcpus[(uint32_t)item->vcpu % TASK_CELLS];

    if (likely(cell->origin == item->origin && cell->number == item->vcpu))
        return cell;
    return make_vcpu(line, cell, item->origin, item->vcpu);
}

static inline const struct task_cell *get_task(struct line_text *line, const struct item *item)
{
    const struct origin *origin = item->origin;
    struct task_cell *cell;
    const char *name;

    if (item->pid != PID_UNKNOWN || (item->kind == ITEM_EVENT && item->comm && origin->comm)) {
        cell = &line->tasks[(uint32_t)item->pid % TASK_CELLS];
        name = item_task_name(item);
        if (likely(cell->origin == origin && cell->number == item->pid && cell->name == name))
            return cell;
        return make_task(line, cell, origin, item->pid, name);
    }
    /* Which has a column of its own where there are layers. */
    return item->vcpu != VCPU_UNKNOWN && line->layer_width == 0 ? get_vcpu(line, item) : NULL;
}

#define PUT(p, s) put_literal((p), "" s, sizeof(s) - 1)

static char *put_cpu(const struct line_text *line, char *p, int32_t cpu)
{
    if (likely((uint32_t)cpu < CPU_CELLS))
        return put_literal(p, line->cpus[cpu], CPU_CELL);
    if (cpu < 0)
        return PUT(p, " [---]");
    p = PUT(p, " [");
    p = cpu < 1000 ? number_dec_fixed(p, (uint64_t)cpu, 3) : number_dec(p, (uint64_t)cpu);
    *p++ = ']';
    return p;
}

/* Puts the error of a time. */
static char *put_error(char *p, const struct item *item)
{
    static const struct {
        const char *name;
        uint32_t ns;
    } units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    char word[NUMBER_MAX];
    size_t len = 0, unit = 0;
    uint32_t ns = item->error_ns;

    if (ns == ERROR_UNKNOWN && !item->origin->is_error_refuted) {
        len = (size_t)(PUT(word, ">4s") - word);
    } else if (!item_error_is_known(item)) {
        word[len++] = '?';
    } else if (ns == 0) {
        word[len++] = '0';
    } else {
        while (unit + 1 < ARRAY_SIZE(units) &&
               ((uint64_t)ns + units[unit].ns - 1) / units[unit].ns > 999)
            unit++;
        len =
            (size_t)(number_dec(word, ((uint64_t)ns + units[unit].ns - 1) / units[unit].ns) - word);
        for (const char *name = units[unit].name; *name; name++)
            word[len++] = *name;
    }
    memset(p, ' ', ERROR_WIDTH);
    p += ERROR_WIDTH - len - (ns != ERROR_UNKNOWN);
    if (ns != ERROR_UNKNOWN)
        p = PUT(p, "\xc2\xb1");
    return put_literal(p, word, len);
}

static char *put_padded(char *p, const char *s, size_t width)
{
    size_t len = strlen(s);

    memset(p, ' ', width);
    memcpy(p, s, len);
    return p + width;
}

/* Puts the name or number of the item's input. */
static char *put_input(const struct line_text *line, char *p, const struct item *item)
{
    const struct view_options *options = &line->options;
    unsigned number = options->origin_number(options->origin_arg, item->origin);

    if (number >= options->n_input_names)
        return number_dec(PUT(p, " #"), number);
    *p++ = ' ';
    memset(p, ' ', line->input_width);
    (void)put_word(p, p + line->input_width, options->input_names[number]);
    return p + line->input_width;
}

/* Puts the time, and columns before the CPU that only some views have. Not inline, to keep the other views fast. */
static _cold_ char *put_time_and_more(struct line_text *line, char *p, const struct item *item)
{
    if (line->options.color)
        p = PUT(p, DIM);
    if (likely(item->time != TIME_UNKNOWN))
        p = time_column_put(&line->time, &item->origin->clock, p, item->time);
    else
        *p++ = '-';
    if (line->options.color)
        p = PUT(p, PLAIN);

    if (line->options.errors) {
        *p++ = ' ';
        p = put_error(p, item);
    }
    if (line->layer_width > 0) {
        *p++ = ' ';
        p = put_padded(p, layer_name(item->origin->layer), line->layer_width);
    }
    return line->options.origin_number ? put_input(line, p, item) : p;
}

static char *put_vcpu_column(struct line_text *line, char *p, const struct item *item)
{
    const struct task_cell *vcpu;

    if (item->vcpu == VCPU_UNKNOWN)
        return PUT(p, "      -");
    vcpu = get_vcpu(line, item);
    return put_literal(p, vcpu->text, vcpu->len - 1);
}

/* Puts "d..2." after a blank. */
static _cold_ char *put_flags(char *p, const struct item *item)
{
    struct kernel_context context;

    *p++ = ' ';
    return kernel_event_context(item, &context) ? kernel_context_put(&context, p) : PUT(p, "    -");
}

/* Puts all columns before the name. */
static inline char *put_columns(struct line_text *line, char *p, const struct item *item)
{
    const struct task_cell *task;

    if (likely(line->is_plain && item->time != TIME_UNKNOWN))
        p = time_column_put(&line->time, &item->origin->clock, p, item->time);
    else
        p = put_time_and_more(line, p, item);
    p = put_cpu(line, p, item->cpu);
    if (unlikely(line->options.flags))
        p = put_flags(p, item);
    if (line->layer_width > 0)
        p = put_vcpu_column(line, p, item);
    task = get_task(line, item);
    if (task)
        return text_copy_units(p, task->text, task->len);
    p = put_literal(p, "                    ", task_width(line, item->origin));
    return PUT(p, "- ");
}

static inline int put_event(struct line_text *line, const struct item *item)
{
    struct text *out = line->out;
    const struct class_piece *name = class_table_get(&line->names, item->class);
    uint64_t before;
    char *p;

    if (unlikely(!name))
        return -ENOMEM;
    /* With room for the blank below, so that it is still in the buffer if no text follows it. */
    p = put_columns(line, text_room(out, TEXT_ROOM_MAX), item);
    if (likely(name->len <= NAME_MAX_AT_ONCE)) {
        out->next = text_copy_units(p, name->text, name->len);
    } else {
        out->next = p;
        text_put(out, name->text, name->len);
        text_room(out, TEXT_ROOM_MAX);
    }
    *out->next++ = ' ';
    before = text_total(out);
    item_put_text(item, out);
    if (text_total(out) == before && out->next > out->start)
        out->next--; /* an event without text has no blank at its line's end */
    text_put_char(out, '\n');
    return 0;
}

static void put_loss(struct line_text *line, const struct item *item)
{
    struct text *out = line->out;

    out->next = put_columns(line, text_room(out, COLUMNS_MAX), item);
    if (line->options.color)
        text_put_literal(out, RED);
    text_put_literal(out, "LOST: ");
    if (item->lost == 0) {
        text_put_literal(out, "events may be missing");
    } else if (item->lost != LOST_UNKNOWN) {
        text_put_u64(out, item->lost);
        text_put_str(out, item->lost == 1 ? " event" : " events");
    } else {
        text_put_literal(out, "events, how many is unknown");
    }
    if (item->since != TIME_UNKNOWN) {
        text_put_literal(out, ", since ");
        clock_put_time(&item->origin->clock, item->since, out);
    }
    if (item->cause == LOSS_UNREADABLE && item->skipped == 0) {
        text_put_literal(out, ", where the input is damaged"); /* it ends too early */
    } else if (item->cause == LOSS_UNREADABLE) {
        text_put_literal(out, ", with ");
        text_put_u64(out, item->skipped);
        text_put_literal(out, " damaged bytes of input skipped");
    }
    if (line->options.color)
        text_put_literal(out, PLAIN);
    text_put_char(out, '\n');
}

static int line_text_put(struct sink *sink, const struct item *items, unsigned n)
{
    struct line_text *line = container_of(sink, struct line_text, sink);

    for (unsigned i = 0; i < n; i++) {
        if (likely(items[i].kind == ITEM_EVENT)) {
            if (put_event(line, &items[i]) < 0)
                return -ENOMEM;
        } else {
            put_loss(line, &items[i]);
        }
    }
    return 0;
}

static void line_text_free(struct sink *sink)
{
    struct line_text *line = container_of(sink, struct line_text, sink);

    class_table_done(&line->names);
    free(line);
}

int line_text_open(const struct view_options *options, struct text *out, struct sink **ret_sink)
{
    static const struct sink_ops ops = {.put = line_text_put, .free = line_text_free};
    struct line_text *line = calloc(1, sizeof *line);

    if (!line)
        return -ENOMEM;
    line->sink.ops = &ops;
    line->out = out;
    line->options = *options;
    line->names.make = put_name;
    for (unsigned i = 0; i < CPU_CELLS; i++) {
        char *p = put_literal(line->cpus[i], " [", 2);

        *number_dec_fixed(p, i, 3) = ']';
    }
    for (unsigned i = 0; i < LAYERS; i++)
        if (options->layers >> i & 1)
            line->layer_width = MAX(line->layer_width, strlen(layer_name((enum layer)i)));
    for (unsigned i = 0; i < options->n_input_names; i++)
        line->input_width =
            MIN(MAX(line->input_width, strlen(options->input_names[i])), (size_t)INPUT_WIDTH_MAX);
    line->is_plain =
        !options->color && !options->errors && !options->origin_number && line->layer_width == 0;
    *ret_sink = &line->sink;
    return 0;
}
