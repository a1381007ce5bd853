/* SPDX-License-Identifier: MIT */
#include "format/kernel_text/graph.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "event/item.h"

#define FUNCTIONS_MAX 65536u
#define STACKS_MAX 4096u
#define NAME_MAX_LEN 127
#define NO_DURATION UINT64_MAX

enum graph_kind {
    GRAPH_ENTRY,
    GRAPH_EXIT,
    GRAPH_LEAF,
    GRAPH_EVENT,
    GRAPH_SWITCH,
    GRAPH_NOTHING,
};

struct graph_line {
    enum graph_kind kind;
    int64_t time; /* or TIME_UNKNOWN */
    unsigned cpu;
    const char *task; /* "COMM-PID", or NULL */
    size_t task_len;
    uint64_t duration; /* ns */
    unsigned depth;
    const char *name; /* of the function; of an event all of it */
    size_t name_len;
};

struct rest {
    const char *p, *end;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_blanks(struct rest *rest)
{
    while (rest->p < rest->end && *rest->p == ' ')
        rest->p++;
}

static bool take(struct rest *rest, const char *text)
{
    size_t len = strlen(text);

    if ((size_t)(rest->end - rest->p) < len || memcmp(rest->p, text, len) != 0)
        return false;
    rest->p += len;
    return true;
}

/* WHOLE.FRACTION in units of 10^-DIGITS; fewer digits are those before. */
static bool take_decimal(struct rest *rest, unsigned digits, uint64_t *ret)
{
    uint64_t v = 0;
    unsigned n = 0;

    while (rest->p < rest->end && is_digit(*rest->p) && n++ < 12)
        v = v * 10 + (uint64_t)(*rest->p++ - '0');
    if (n == 0 || n > 12)
        return false;
    if (take(rest, "."))
        for (; digits > 0 && rest->p < rest->end && is_digit(*rest->p); digits--)
            v = v * 10 + (uint64_t)(*rest->p++ - '0');
    for (; digits > 0; digits--)
        v *= 10;
    *ret = v;
    return rest->p == rest->end || !is_digit(*rest->p);
}

/* "COMM-PID" at the LEN bytes at P: where the number begins; NULL: it is none. */
static const char *find_pid(const char *p, size_t len)
{
    const char *number = p + len;

    while (number > p && is_digit(number[-1]))
        number--;
    return number < p + len && p + len - number <= 9 && number > p + 1 && number[-1] == '-' ? number
                                                                                            : NULL;
}

static void trim(const char **p, size_t *len)
{
    while (*len > 0 && **p == ' ') {
        ++*p;
        --*len;
    }
    while (*len > 0 && (*p)[*len - 1] == ' ')
        --*len;
}

/* "! 119.760 us", or nothing. */
static bool read_duration(const char *p, size_t len, uint64_t *ret)
{
    struct rest rest = {p, p + len};

    *ret = NO_DURATION;
    if (len == 0)
        return true;
    if (strchr("$@*#!+", *p))
        rest.p++;
    skip_blanks(&rest);
    return take_decimal(&rest, 3, ret) && take(&rest, " us") && rest.p == rest.end;
}

/* What a kernel noted of its CPU, "d..1.". */
static bool is_flags(const char *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!strchr(".dDnNbBpPhHsSzZ#0123456789abcdef", p[i]))
            return false;
    return len >= 4 && len <= 8;
}

/* The function in the comment after a "}". */
static void read_comment(struct rest rest, struct graph_line *line)
{
    size_t n = 0;

    skip_blanks(&rest);
    if (!take(&rest, "/* "))
        return;
    while (rest.p + n < rest.end && !memchr(" =<*(", rest.p[n], 5))
        n++;
    if (rest.p + n < rest.end && rest.p[n] == '=' && n > 0)
        return;
    line->name = rest.p;
    line->name_len = n;
}

/* What follows the last bar. */
static bool read_call(struct rest rest, struct graph_line *line)
{
    const char *start = rest.p;
    const char *open;
    size_t indent;

    skip_blanks(&rest);
    indent = (size_t)(rest.p - start);
    line->depth = (unsigned)MIN(indent / 2 - (indent >= 2), (size_t)UINT16_MAX);
    while (rest.end > rest.p && rest.end[-1] == ' ')
        rest.end--;
    if (take(&rest, "}")) {
        line->kind = GRAPH_EXIT;
        read_comment(rest, line);
        return true;
    }
    if (take(&rest, "/* ")) {
        if (rest.end - rest.p < 3 || memcmp(rest.end - 3, " */", 3) != 0)
            return false;
        line->kind = GRAPH_EVENT;
        line->name = rest.p;
        line->name_len = (size_t)(rest.end - 3 - rest.p);
        return true;
    }
    open = memchr(rest.p, '(', (size_t)(rest.end - rest.p));
    if (!open || open == rest.p || open - rest.p > NAME_MAX_LEN)
        return false;
    line->name = rest.p;
    line->name_len = (size_t)(open - rest.p);
    /* What follows the arguments may be a comment. */
    rest.p = open;
    if (memmem(rest.p, (size_t)(rest.end - rest.p), ") {", 3))
        line->kind = GRAPH_ENTRY;
    else if (memmem(rest.p, (size_t)(rest.end - rest.p), ");", 2))
        line->kind = GRAPH_LEAF;
    else
        return false;
    return true;
}

/* "COMM-PID  =>  COMM-PID". */
static bool read_switch(struct rest rest, struct graph_line *line)
{
    const char *arrow = memmem(rest.p, (size_t)(rest.end - rest.p), " => ", 4);
    const char *from = rest.p;
    size_t from_len;

    if (!arrow)
        return false;
    from_len = (size_t)(arrow - from);
    line->kind = GRAPH_SWITCH;
    line->task = arrow + 4;
    line->task_len = (size_t)(rest.end - line->task);
    trim(&from, &from_len);
    trim(&line->task, &line->task_len);
    return find_pid(from, from_len) && find_pid(line->task, line->task_len);
}

static bool read_time(struct rest *rest, struct graph_line *line)
{
    struct rest at = *rest;
    uint64_t us;

    line->time = TIME_UNKNOWN;
    if (!take_decimal(&at, 6, &us) || memchr(rest->p, '.', (size_t)(at.p - rest->p)) == NULL)
        return true;
    skip_blanks(&at);
    if (!take(&at, "|") || us > INT64_MAX / 1000)
        return false;
    line->time = (int64_t)us * 1000;
    *rest = at;
    return true;
}

static bool read_graph_line(const char *text, size_t len, struct graph_line *ret)
{
    struct graph_line line = {.duration = NO_DURATION};
    struct rest rest = {text, text + len};
    uint64_t cpu;

    skip_blanks(&rest);
    if (!read_time(&rest, &line))
        return false;
    skip_blanks(&rest);
    if (rest.p == rest.end || !is_digit(*rest.p) || !take_decimal(&rest, 0, &cpu) ||
        cpu >= GRAPH_CPUS || !take(&rest, ")"))
        return false;
    line.cpu = (unsigned)cpu;
    for (unsigned section = 0; section < 4; section++) {
        const char *bar = memchr(rest.p, '|', (size_t)(rest.end - rest.p));
        const char *p = rest.p;
        size_t n = bar ? (size_t)(bar - p) : 0;

        if (!bar) {
            *ret = line;
            return section == 0 && read_switch(rest, ret);
        }
        trim(&p, &n);
        rest.p = bar + 1;
        if (n == 11 && (memcmp(p, "==========>", 11) == 0 || memcmp(p, "<==========", 11) == 0)) {
            line.kind = GRAPH_NOTHING;
            *ret = line;
            return true;
        }
        if (read_duration(p, n, &line.duration)) {
            *ret = line;
            return read_call(rest, ret);
        }
        if (!line.task && find_pid(p, n)) {
            line.task = p;
            line.task_len = n;
        } else if (!is_flags(p, n)) {
            return false;
        }
    }
    return false;
}

/* An event of trace-cmd's text. */
static bool read_event(const struct kernel_line *event, struct graph_line *ret)
{
    struct rest rest = {event->text, event->text + event->text_len};
    const char *bar = memchr(rest.p, '|', event->text_len);
    const char *p = rest.p;
    size_t n = bar ? (size_t)(bar - p) : 0;

    *ret = (struct graph_line){.time = event->time, .cpu = (unsigned)event->cpu};
    if (!bar || ret->cpu >= GRAPH_CPUS)
        return false;
    trim(&p, &n);
    rest.p = bar + 1;
    return read_duration(p, n, &ret->duration) && read_call(rest, ret) && ret->kind != GRAPH_EVENT;
}

bool graph_probe(const char *text, size_t len, struct kernel_line *ret)
{
    struct graph_line line;

    if (!read_graph_line(text, len, &line))
        return false;
    *ret = (struct kernel_line){
        .kind = KERNEL_TEXT_FTRACE,
        .cpu = (int32_t)line.cpu,
        .time = line.time,
        .time_unit_ns = 1000,
        .pid = PID_UNKNOWN,
    };
    return true;
}

/* ---- Functions that have begun ---- */

void graph_init(struct graph *graph)
{
    *graph = (struct graph){0};
    for (unsigned i = 0; i < GRAPH_CPUS; i++)
        graph->cpus[i].last = TIME_UNKNOWN;
}

void graph_done(struct graph *graph)
{
    map_done(&graph->functions);
    map_done(&graph->stacks);
    arena_done(&graph->arena);
}

/* The stack of what runs on CPU; NULL: there are too many. -ENOMEM. */
static int get_stack(struct graph *graph, unsigned cpu, struct graph_stack **ret)
{
    const struct graph_cpu *at = &graph->cpus[cpu];
    /* Each CPU has an idle thread of its own. */
    uint64_t key = at->is_known && at->pid > 0 ? (uint64_t)at->pid : UINT64_C(1) << 32 | cpu;

    *ret = map_get(&graph->stacks, key);
    if (*ret || graph->stacks.used == STACKS_MAX)
        return 0;
    *ret = arena_alloc(&graph->arena, sizeof **ret);
    return *ret ? map_put(&graph->stacks, key, *ret) : -ENOMEM;
}

static int begin_function(struct graph *graph, const struct graph_line *line, int64_t time)
{
    struct graph_stack *stack;
    char *name;
    int r = get_stack(graph, line->cpu, &stack);

    if (r < 0 || !stack || line->depth >= GRAPH_DEPTH)
        return r;
    name = map_get_str(&graph->functions, line->name, line->name_len);
    if (!name && graph->functions.used < FUNCTIONS_MAX) {
        name = arena_strndup(&graph->arena, line->name, line->name_len);
        r = name ? map_put_str(&graph->functions, name, line->name_len, name) : -ENOMEM;
    }
    stack->functions[line->depth] = name;
    stack->begun[line->depth] = time;
    return r;
}

/* When it began and for how long it ran, to the nanosecond, if that is the time TIME of the line. */
static int64_t end_of(const struct graph_line *line, int64_t begun, int64_t time)
{
    int64_t end;

    if (time == TIME_UNKNOWN || begun == TIME_UNKNOWN || line->duration > INT64_MAX / 2)
        return time;
    end = begun + (int64_t)line->duration;
    return end > time - 1000 && end < time + 1000 ? end : time;
}

/* The function that LINE ends, if it does not say it, and when it does. */
static int end_function(struct graph *graph, struct graph_line *line)
{
    struct graph_stack *stack;
    const char *name;
    int r = get_stack(graph, line->cpu, &stack);

    if (r < 0 || !stack || line->depth >= GRAPH_DEPTH)
        return r;
    name = stack->functions[line->depth];
    stack->functions[line->depth] = NULL;
    if (name)
        line->time = end_of(line, stack->begun[line->depth], line->time);
    if (line->name_len == 0 && name) {
        line->name = name;
        line->name_len = strlen(name);
    }
    return 0;
}

/* ---- Events ---- */

static void set_task(struct graph_cpu *cpu, const char *comm, size_t len, int32_t pid)
{
    cpu->is_known = true;
    cpu->pid = pid;
    memset(cpu->comm, 0, sizeof cpu->comm);
    memcpy(cpu->comm, comm, MIN(len, sizeof cpu->comm - 1));
}

/* TASK: "COMM-PID". */
static void read_task(struct graph_cpu *cpu, const char *task, size_t len)
{
    const char *number = find_pid(task, len);
    int32_t pid = 0;

    for (const char *p = number; p < task + len; p++)
        pid = pid * 10 + (*p - '0');
    set_task(cpu, task, (size_t)(number - 1 - task), pid);
}

static void set_name(struct kernel_line *ret, const char *name)
{
    ret->group = "ftrace";
    ret->group_len = 6;
    ret->name = name;
    ret->name_len = strlen(name);
}

static void put_entry(struct graph *graph, const struct graph_line *line, struct kernel_line *ret)
{
    set_name(ret, "funcgraph_entry");
    ret->text = graph->text;
    ret->text_len = (size_t)snprintf(graph->text, sizeof graph->text, "--> %.*s (%u)",
                                     (int)line->name_len, line->name, line->depth);
}

static void put_exit(struct graph *graph, const struct graph_line *line, struct kernel_line *ret)
{
    int n = snprintf(graph->text, sizeof graph->text, "<-- %.*s (%u)", (int)line->name_len,
                     line->name ? line->name : "", line->depth);

    set_name(ret, "funcgraph_exit");
    if (line->duration != NO_DURATION)
        n += snprintf(graph->text + n, sizeof graph->text - (size_t)n, " duration=%llu ns",
                      (unsigned long long)line->duration);
    ret->text = graph->text;
    ret->text_len = (size_t)n;
}

/* "NAME: TEXT", or what programs and the kernel wrote into the buffer themselves. */
static void put_other(const struct graph_line *line, struct kernel_line *ret)
{
    const char *end = line->name + line->name_len;
    const char *p = line->name;

    if (kernel_line_read_call(line->name, line->name_len, ret))
        return;
    while (p < end &&
           (is_digit(*p) || (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_'))
        p++;
    if (p == line->name || end - p < 2 || p[0] != ':' || p[1] != ' ' || p - line->name > 200) {
        set_name(ret, "print");
        ret->text = line->name;
        ret->text_len = line->name_len;
        return;
    }
    ret->name = line->name;
    ret->name_len = (size_t)(p - line->name);
    ret->text = p + 2;
    ret->text_len = (size_t)(end - p - 2);
}

static int make_event(struct graph *graph, struct graph_line line, unsigned part,
                      struct kernel_line *ret)
{
    struct graph_cpu *cpu = &graph->cpus[line.cpu];
    bool is_last;
    int r = 0;

    *ret = (struct kernel_line){
        .kind = KERNEL_TEXT_FTRACE,
        .comm = cpu->comm,
        .comm_len = strlen(cpu->comm),
        .pid = cpu->is_known ? cpu->pid : PID_UNKNOWN,
        .cpu = (int32_t)line.cpu,
    };
    is_last = line.kind != GRAPH_LEAF || part == 1;
    if (line.kind == GRAPH_EXIT)
        r = end_function(graph, &line);
    if (r < 0)
        return r;
    ret->time = line.time == TIME_UNKNOWN ? TIME_UNKNOWN : MAX(line.time, cpu->last);
    if (line.kind == GRAPH_ENTRY)
        r = begin_function(graph, &line, ret->time);
    if (r < 0)
        return r;
    if (line.kind == GRAPH_EVENT)
        put_other(&line, ret);
    else if (line.kind == GRAPH_EXIT || part == 1)
        put_exit(graph, &line, ret);
    else
        put_entry(graph, &line, ret);
    if (line.kind == GRAPH_LEAF && part == 1 && ret->time != TIME_UNKNOWN &&
        line.duration <= (uint64_t)(INT64_MAX - ret->time))
        ret->time += (int64_t)line.duration;
    if (is_last)
        cpu->last = ret->time;
    return line.kind == GRAPH_LEAF ? 2 : 1;
}

int graph_read(struct graph *graph, const char *text, size_t len, unsigned part,
               struct kernel_line *ret)
{
    struct graph_line line;

    if (!read_graph_line(text, len, &line))
        return -EINVAL;
    if (line.task)
        read_task(&graph->cpus[line.cpu], line.task, line.task_len);
    if (line.kind == GRAPH_SWITCH || line.kind == GRAPH_NOTHING)
        return 0;
    return make_event(graph, line, part, ret);
}

int graph_read_event(struct graph *graph, const struct kernel_line *event, unsigned part,
                     struct kernel_line *ret)
{
    struct graph_line line;

    if (event->name_len < strlen("funcgraph_e") ||
        memcmp(event->name, "funcgraph_e", strlen("funcgraph_e")) != 0 || !read_event(event, &line))
        return -EINVAL;
    set_task(&graph->cpus[line.cpu], event->comm, event->comm_len, event->pid);
    return make_event(graph, line, part, ret);
}
