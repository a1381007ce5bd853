/* SPDX-License-Identifier: MIT */
#include "format/kernel_text/line.h"

#include <string.h>

#include "base/macro.h"
#include "event/item.h"

#define FLAGS_MAX 8
#define COMM_MAX 15 /* bytes of a task's name */
#define CUT_COMM 8  /* bytes that the options for latencies print of it */

/* What is left of a line. */
struct rest {
    const char *p, *end;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '.';
}

static void skip_blanks(struct rest *rest)
{
    while (rest->p < rest->end && (*rest->p == ' ' || *rest->p == '\t'))
        rest->p++;
}

static size_t digits(const struct rest *rest)
{
    size_t n = 0;

    while (rest->p + n < rest->end && is_digit(rest->p[n]))
        n++;
    return n;
}

/* Up to 18 digits, which fit. */
static bool take_number(struct rest *rest, uint64_t *ret)
{
    size_t n = digits(rest);
    uint64_t v = 0;

    if (n == 0 || n > 18)
        return false;
    while (n-- > 0)
        v = v * 10 + (uint64_t)(*rest->p++ - '0');
    *ret = v;
    return true;
}

static bool take(struct rest *rest, const char *text)
{
    size_t len = strlen(text);

    if ((size_t)(rest->end - rest->p) < len || memcmp(rest->p, text, len) != 0)
        return false;
    rest->p += len;
    return true;
}

/* "d..1.", "dNh2", ".....": what a kernel noted of its CPU. Its first sign is none of a time. Android prints no blank after it. */
static void skip_flags(struct rest *rest)
{
    const char *p = rest->p;
    const char *time;

    while (p < rest->end && *p != ' ')
        p++;
    if (p - rest->p < 4 || is_digit(rest->p[0]))
        return;
    if (p[-1] != ':') {
        rest->p = p - rest->p <= FLAGS_MAX ? p : rest->p;
        return;
    }
    time = p - 1;
    while (time > rest->p && is_digit(time[-1]))
        time--;
    if (time == p - 1 || time == rest->p || time[-1] != '.')
        return;
    for (time--; time > rest->p + 4 && is_digit(time[-1]);)
        time--;
    if (time - rest->p >= 4 && time - rest->p <= FLAGS_MAX)
        rest->p = time;
}

/* perf's field `misc`: "K", "GM". */
static void skip_misc(struct rest *rest)
{
    const char *p = rest->p;

    while (p < rest->end && *p >= 'A' && *p <= 'z')
        p++;
    if (p < rest->end && *p == ' ' && p - rest->p <= 4)
        rest->p = p;
}

/* "(+43)", as trace-cmd's option --ts-diff prints after the time. */
static void skip_difference(struct rest *rest)
{
    struct rest at = *rest;
    uint64_t ns;

    if (!take(&at, "(+"))
        return;
    (void)take(&at, "-");
    if (!take_number(&at, &ns) || !take(&at, ")"))
        return;
    skip_blanks(&at);
    *rest = at;
}

/* "12.345678:", "12345:". */
static bool take_time(struct rest *rest, struct kernel_line *line)
{
    uint64_t whole, ns = 0;
    size_t n;

    if (!take_number(rest, &whole) || whole > INT64_MAX / 1000000000 * 1000)
        return false;
    line->is_ticks = true;
    line->time_unit_ns = 0;
    if (take(rest, ".")) {
        n = digits(rest);
        if (n == 0 || n > 9 || whole > INT64_MAX / 1000000000 - 1 || !take_number(rest, &ns))
            return false;
        line->time_unit_ns = n < 9;
        for (; n < 9; n++) {
            ns *= 10;
            line->time_unit_ns *= 10;
        }
        line->is_ticks = false;
        whole = whole * 1000000000 + ns;
    }
    line->time = (int64_t)whole;
    return take(rest, ":");
}

/* "COMM-PID", "COMM-PID (TGID)", "COMM PID/TID" in the LEN bytes before the CPU. */
static bool read_task(const char *text, size_t len, struct kernel_line *line)
{
    const char *end = text + len;
    const char *p;
    struct rest number;
    uint64_t pid;

    while (text < end && *text == ' ')
        text++;
    while (end > text && end[-1] == ' ')
        end--;
    if (end > text && end[-1] == ')') {
        p = memrchr(text, '(', (size_t)(end - text));
        if (!p)
            return false;
        for (end = p; end > text && end[-1] == ' ';)
            end--;
    }
    for (p = end; p > text && is_digit(p[-1]);)
        p--;
    if (p == end)
        return false;
    if (p == text) { /* perf's TID alone */
        line->kind = KERNEL_TEXT_PERF;
        number = (struct rest){p, end};
    } else if (p[-1] == '/') { /* PID/TID: the thread is the latter */
        const char *pid_end = p - 1;
        const char *q = pid_end;

        while (q > text && is_digit(q[-1]))
            q--;
        if (q == pid_end || (q > text && q[-1] != ' '))
            return false;
        line->kind = KERNEL_TEXT_PERF;
        number = (struct rest){p, end};
        p = q;
    } else {
        line->kind = p[-1] == '-'   ? KERNEL_TEXT_FTRACE
                     : p[-1] == ' ' ? KERNEL_TEXT_PERF
                                    : KERNEL_TEXT_NONE;
        number = (struct rest){p, end};
    }
    if (line->kind == KERNEL_TEXT_NONE || !take_number(&number, &pid) || pid > INT32_MAX)
        return false;
    line->pid = (int32_t)pid;
    /* perf's thread that is not known: ":-1    -1", ":-1  2943/-1", ":-1", "-1". */
    if (line->kind == KERNEL_TEXT_FTRACE && pid == 1 &&
        (p - text == 1 || p[-2] == ' ' || p[-2] == '/' || (p - text == 2 && p[-2] == ':'))) {
        line->kind = KERNEL_TEXT_PERF;
        line->pid = PID_UNKNOWN;
        return true;
    }
    for (p -= p > text; p > text && p[-1] == ' ' && line->kind == KERNEL_TEXT_PERF;)
        p--;
    line->comm = text;
    line->comm_len = (size_t)(p - text);
    /* trace-cmd prints the name of an instance before its lines. */
    if (line->kind == KERNEL_TEXT_FTRACE && line->comm_len > COMM_MAX &&
        (end = memmem(text, line->comm_len, ": ", 2))) {
        for (end += 2; end < p && *end == ' ';)
            end++;
        line->comm = end;
        line->comm_len = (size_t)(p - end);
    }
    return true;
}

/* "COMM-PID CPUFLAGS" of trace-cmd report -l, "COMM PID CPU" of perf script -L. They print 8 bytes of a name: if there are 8,
 * it is not known. */
static bool read_cut_task(const char *text, size_t len, struct kernel_line *line)
{
    const char *end = text + len;
    const char *p;
    struct rest rest;
    uint64_t cpu;

    while (end > text && end[-1] == ' ')
        end--;
    for (p = end; p > text && p[-1] != ' ';)
        p--;
    rest = (struct rest){p, end};
    if (!take_number(&rest, &cpu) || cpu > 65535 || end - rest.p > FLAGS_MAX ||
        !read_task(text, (size_t)(p - text), line))
        return false;
    line->cpu = (int32_t)cpu;
    if (line->kind == KERNEL_TEXT_PERF) {
        /* Its name ends in the eighth column. */
        if (rest.p != end || len < CUT_COMM + 2 || text[CUT_COMM - 1] == ' ' ||
            text[CUT_COMM] != ' ' ||
            (line->comm_len > 0 && line->comm + line->comm_len != text + CUT_COMM))
            return false;
    } else if (end - rest.p < 4) {
        return false;
    }
    if (line->comm_len >= CUT_COMM)
        line->comm_len = 0;
    return true;
}

/* True for perf's modifiers of an event ("cycles:u"), which do not belong to the name. */
static bool is_modifier(const char *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!memchr("ukhpPGHSDIWe", p[i], 12))
            return false;
    return len > 0 && len <= 5;
}

/* "[GROUP:]NAME:" and the text. */
static bool read_event(struct rest *rest, struct kernel_line *line)
{
    const char *start = rest->p;
    const char *p = start;
    const char *colon = NULL;

    for (; p < rest->end && *p != ' ' && *p != '\t'; p++) {
        if (*p != ':')
            continue;
        if (p + 1 == rest->end || p[1] == ' ' || p[1] == '\t')
            break;
        if (!colon)
            colon = p;
    }
    if (p == start || p == rest->end || *p != ':')
        return false;
    if (colon && line->kind == KERNEL_TEXT_PERF &&
        !is_modifier(colon + 1, (size_t)(p - colon - 1))) {
        line->group = start;
        line->group_len = (size_t)(colon - start);
        start = colon + 1;
    }
    line->name = start;
    line->name_len = (size_t)(p - start);
    rest->p = p + 1;
    skip_blanks(rest);
    line->text = rest->p;
    line->text_len = (size_t)(rest->end - rest->p);
    for (size_t i = 0; i < line->name_len && line->kind == KERNEL_TEXT_FTRACE; i++)
        if (!is_name(start[i]))
            return false;
    return line->name_len <= 200 && line->group_len <= 200;
}

/* "FUNCTION <-PARENT". */
static bool read_function(struct rest *rest, struct kernel_line *line)
{
    const char *arrow = memmem(rest->p, (size_t)(rest->end - rest->p), " <-", 3);

    if (!arrow || arrow == rest->p)
        return false;
    line->group = "ftrace";
    line->group_len = 6;
    line->name = "function";
    line->name_len = 8;
    line->text = rest->p;
    line->text_len = (size_t)(rest->end - rest->p);
    return true;
}

bool kernel_line_read_call(const char *text, size_t len, struct kernel_line *ret)
{
    static const char returns[] = " -> ";
    const char *end = text + len, *name, *p;

    while (end > text && end[-1] == ' ')
        end--;
    if (end - text < 5 || memcmp(text, "sys_", 4) != 0)
        return false;
    for (name = p = text + 4; p < end && is_name(*p);)
        p++;
    if (p == name || p == end || p - name > 100)
        return false;
    if (*p == '(' && end[-1] == ')') {
        ret->call_prefix = "sys_enter_";
        ret->text = p + 1;
        ret->text_len = (size_t)(end - p) - 2;
    } else if ((size_t)(end - p) > strlen(returns) && memcmp(p, returns, strlen(returns)) == 0) {
        ret->call_prefix = "sys_exit_";
        ret->text = p + strlen(returns);
        ret->text_len = (size_t)(end - ret->text);
    } else {
        return false;
    }
    ret->group = "syscalls";
    ret->group_len = 8;
    ret->name = name;
    ret->name_len = (size_t)(p - name);
    return true;
}

/* "UNKNOWN TYPE 5", as the option `fields` prints what has no formats of fields. */
static bool read_unknown(const struct rest *rest, struct kernel_line *line)
{
    struct rest at = *rest;

    if (!take(&at, "UNKNOWN TYPE ") || digits(&at) == 0)
        return false;
    line->group = "ftrace";
    line->group_len = 6;
    line->name = "unknown";
    line->name_len = 7;
    line->text = rest->p;
    line->text_len = (size_t)(rest->end - rest->p);
    return true;
}

/* "PERF_RECORD_LOST lost 12", and other records that perf shows if it is asked to. */
static bool read_record(struct rest *rest, struct kernel_line *line)
{
    if (!take(rest, "PERF_RECORD_"))
        return false;
    line->is_record = true;
    if (take(rest, "LOST lost "))
        (void)take_number(rest, &line->lost);
    return true;
}

/* "<stack trace>", "<user stack trace>". */
static bool read_stack(const struct rest *rest, struct kernel_line *line)
{
    struct rest at = *rest;
    bool is_user;

    if (!take(&at, "<"))
        return false;
    is_user = take(&at, "user ");
    if (!take(&at, "stack trace>"))
        return false;
    line->group = "ftrace";
    line->group_len = 6;
    line->name = is_user ? "user_stack" : "kernel_stack";
    line->name_len = strlen(line->name);
    line->text = rest->p;
    line->text_len = (size_t)(rest->end - rest->p);
    return true;
}

/* What follows "[CPU]". */
static bool read_after_cpu(struct rest rest, struct kernel_line *line)
{
    uint64_t period;
    struct rest at;

    skip_blanks(&rest);
    if (line->kind == KERNEL_TEXT_PERF)
        skip_misc(&rest);
    else
        skip_flags(&rest);
    skip_blanks(&rest);
    if (!take_time(&rest, line))
        return false;
    skip_blanks(&rest);
    if (line->kind == KERNEL_TEXT_FTRACE)
        skip_difference(&rest);
    at = rest;
    if (line->kind == KERNEL_TEXT_PERF && read_record(&at, line))
        return true;
    if (line->kind == KERNEL_TEXT_FTRACE && read_stack(&at, line))
        return true;
    if (line->kind == KERNEL_TEXT_PERF && take_number(&at, &period) && at.p < at.end &&
        *at.p == ' ') {
        skip_blanks(&at);
        rest = at;
    }
    at = rest;
    if (read_event(&at, line))
        return true;
    line->group_len = 0;
    return line->kind == KERNEL_TEXT_FTRACE &&
           (kernel_line_read_call(rest.p, (size_t)(rest.end - rest.p), line) ||
            read_function(&rest, line) || read_unknown(&rest, line));
}

/* Parses a line with REST after its CPU, or from its time on. Before REST is the task, LEN bytes. perf may leave out
 * the task's name, number or both; then the line must have "GROUP:NAME", because other programs print such lines
 * too. */
static bool read_parts(const char *text, size_t len, struct rest rest, struct kernel_line *line)
{
    bool is_task = read_task(text, len, line);

    if (is_task && (line->kind == KERNEL_TEXT_FTRACE || line->comm_len > 0))
        return read_after_cpu(rest, line);
    if (!is_task) {
        while (len > 0 && *text == ' ') {
            text++;
            len--;
        }
        while (len > 0 && text[len - 1] == ' ')
            len--;
        *line = (struct kernel_line){
            .kind = KERNEL_TEXT_PERF,
            .cpu = line->cpu,
            .pid = PID_UNKNOWN,
            .comm = text,
            .comm_len = len,
        };
    }
    return read_after_cpu(rest, line) && (line->group_len > 0 || line->is_record);
}

/* "COMM PID TIME: NAME:", as perf prints where it recorded no CPU, and what has the CPU without brackets. */
static bool read_without_cpu(const char *text, const char *end, struct kernel_line *ret)
{
    for (const char *p = text; (p = memchr(p, '.', (size_t)(end - p))); p++) {
        struct kernel_line line = {.cpu = CPU_UNKNOWN};
        const char *start = p;
        struct rest rest;

        while (start > text && is_digit(start[-1]))
            start--;
        if (start == p || (start > text && start[-1] != ' '))
            continue;
        rest = (struct rest){start, end};
        if (read_cut_task(text, (size_t)(start - text), &line) && read_after_cpu(rest, &line)) {
            *ret = line;
            return true;
        }
        line = (struct kernel_line){.cpu = CPU_UNKNOWN};
        if (read_parts(text, (size_t)(start - text), rest, &line) &&
            line.kind == KERNEL_TEXT_PERF) {
            *ret = line;
            return true;
        }
    }
    return false;
}

/* The next "[CPU] " from *P on, where *P then is, and *REST behind it. False: there is none. */
static bool find_cpu(const char **p, const char *text, const char *end, struct rest *rest,
                     int32_t *ret)
{
    uint64_t cpu;

    for (; (*p = memchr(*p, '[', (size_t)(end - *p))); ++*p) {
        *rest = (struct rest){*p + 1, end};
        if (!take_number(rest, &cpu) || cpu > 65535 || !take(rest, "]") || rest->p == rest->end ||
            /* Ticks of 13 digits leave no room. */
            (*rest->p != ' ' && !is_digit(*rest->p)) || (*p > text && (*p)[-1] != ' '))
            continue;
        *ret = (int32_t)cpu;
        return true;
    }
    return false;
}

bool kernel_line_read(const char *text, size_t len, struct kernel_line *ret)
{
    const char *end = text + len;
    struct kernel_line line = {0};
    struct rest rest;

    if (len > 0 && end[-1] == '\r')
        end--;
    for (const char *p = text; find_cpu(&p, text, end, &rest, &line.cpu); p++) {
        if (read_parts(text, (size_t)(p - text), rest, &line)) {
            *ret = line;
            return true;
        }
        line = (struct kernel_line){0};
    }
    return read_without_cpu(text, end, ret);
}

bool kernel_line_is_nameless(const char *text, size_t len)
{
    struct kernel_line line = {0};
    const char *p = text;
    struct rest rest;

    if (!find_cpu(&p, text, text + len, &rest, &line.cpu) ||
        !read_task(text, (size_t)(p - text), &line) || line.kind != KERNEL_TEXT_PERF ||
        line.comm_len == 0)
        return false;
    skip_blanks(&rest);
    skip_misc(&rest);
    skip_blanks(&rest);
    return take_time(&rest, &line) && !line.is_ticks && !read_record(&rest, &line);
}

bool kernel_line_lost(const char *text, size_t len, int32_t *ret_cpu, uint64_t *ret_lost)
{
    struct rest rest = {text, text + len};
    const char *name_end = memmem(text, len, ": CPU:", 6);
    uint64_t cpu;
    uint64_t lost = LOST_UNKNOWN;
    bool is_ftrace;

    if (name_end && !memchr(text, ' ', (size_t)(name_end - text)))
        rest.p = name_end + 2;
    if (!take(&rest, "CPU:") || !take_number(&rest, &cpu) || cpu > 65535 || !take(&rest, " ["))
        return false;
    is_ftrace = take(&rest, "LOST ");
    if (digits(&rest) > 0 && (!take_number(&rest, &lost) || !take(&rest, " ")))
        return false;
    if (!take(&rest, is_ftrace ? "EVENTS]" : "EVENTS DROPPED]"))
        return false;
    *ret_cpu = (int32_t)cpu;
    *ret_lost = lost;
    return true;
}
