/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "event/kernel.h"
#include "export/trace_dat/export.h"

/* True if A and B have the same text of their kernels' symbols. */
static bool same_symbols(const struct origin *a, const struct origin *b)
{
    _cleanup_free_ char *x = NULL, *y = NULL;
    size_t n, m;

    return a->kernel->kallsyms(a, &x, &n) == 0 && b->kernel->kallsyms(b, &y, &m) == 0 && n == m &&
           memcmp(x, y, n) == 0;
}

/* The file has room for one kernel's symbols. With several kernels it gets none. */
void dat_put_kallsyms(struct dat_export *dat)
{
    const struct origin *found = NULL;
    _cleanup_free_ char *text = NULL;
    bool fits = true;
    size_t len;

    for (const struct dat_buffer *b = dat->buffers; b; b = b->next) {
        if (!b->origin->kernel)
            continue;
        if (found && !same_symbols(found, b->origin))
            fits = false;
        found = b->origin;
    }
    if (!found || !fits || found->kernel->kallsyms(found, &text, &len) < 0 || len > UINT32_MAX)
        len = 0;
    dat_put_u32(dat, (uint32_t)len);
    text_put(&dat->out, text ? text : "", len);
}

/* Constant strings of all kernels. If two kernels have different strings at an address, it gets none. */
struct strings {
    struct arena arena;
    struct map by_address; /* struct constant */
    struct constant {
        struct constant *next;
        uint64_t address;
        const char *s;
        bool differ;
    } * first, **end;
    int error;
};

static void put_string(void *arg, uint64_t address, const char *s, size_t len)
{
    struct strings *strings = arg;
    struct constant *known = map_get(&strings->by_address, address);

    if (known) {
        known->differ = known->differ || strlen(known->s) != len || memcmp(known->s, s, len) != 0;
        return;
    }
    known = arena_alloc(&strings->arena, sizeof *known);
    if (known)
        *known = (struct constant){.address = address, .s = arena_strndup(&strings->arena, s, len)};
    if (!known || !known->s || map_put(&strings->by_address, address, known) < 0) {
        strings->error = -ENOMEM;
        return;
    }
    *strings->end = known;
    strings->end = &known->next;
}

void dat_put_printk_formats(struct dat_export *dat)
{
    struct text text = TEXT_IN_MEMORY;
    struct strings strings = {0};

    strings.end = &strings.first;
    for (const struct dat_buffer *b = dat->buffers; b; b = b->next)
        if (b->origin->kernel)
            b->origin->kernel->strings(b->origin, put_string, &strings);
    for (const struct constant *c = strings.first; c; c = c->next)
        if (!c->differ) {
            text_put_literal(&text, "0x");
            text_put_hex(&text, c->address);
            text_put_literal(&text, " : \"");
            text_put_str(&text, c->s);
            text_put_literal(&text, "\"\n");
        }
    dat_put_u32(dat, (uint32_t)text_len(&text));
    text_put(&dat->out, text.start ? text.start : "", text_len(&text));
    if (text.error || strings.error)
        dat->out.error = -ENOMEM;
    text_done(&text);
    map_done(&strings.by_address);
    arena_done(&strings.arena);
}

struct thread {
    int32_t pid;
    uint32_t source;
    const struct origin *origin;
};

static int compare_threads(const void *pa, const void *pb)
{
    const struct thread *a = pa, *b = pb;

    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return a->source < b->source ? -1 : a->source > b->source;
}

static void put_name(struct text *text, const struct thread *thread)
{
    const char *name = thread->origin->task_name(thread->origin, thread->pid);

    for (; name && *name; name++)
        text_put_char(text, (unsigned char)*name < ' ' ? '?' : *name);
}

/* Puts a line with a thread's name. If threads of several kernels have the same number, joins their names. */
static void put_line(struct text *text, const struct thread *threads, size_t n)
{
    size_t before = text_len(text);
    size_t start, end;

    text_put_i64(text, threads->pid);
    text_put_char(text, ' ');
    start = end = text_len(text);
    for (size_t i = 0; i < n; i++) {
        size_t at;

        if (end > start)
            text_put_char(text, '|');
        at = text_len(text);
        put_name(text, &threads[i]);
        /* Not a second time what the one before is called, and no empty one. */
        if (text_len(text) > at &&
            !(at > start && at - start - 1 == text_len(text) - at &&
              memcmp(text->start + start, text->start + at, text_len(text) - at) == 0))
            end = text_len(text);
        text->next = text->start + end;
    }
    if (end > start)
        text_put_char(text, '\n');
    else
        text->next = text->start + before;
}

void dat_put_cmdlines(struct dat_export *dat)
{
    struct thread *threads = calloc(dat->threads.used + 1, sizeof *threads);
    struct text text = TEXT_IN_MEMORY;
    size_t iter = 0, n = 0;
    uint64_t key;
    void *value;

    while (threads && map_next(&dat->threads, &iter, &key, &value))
        threads[n++] = (struct thread){
            .pid = (int32_t)(uint32_t)key, .source = (uint32_t)(key >> 32), .origin = value};
    if (n)
        qsort(threads, n, sizeof *threads, compare_threads);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && threads[end].pid == threads[i].pid;)
            end++;
        put_line(&text, &threads[i], end - i);
    }
    for (const struct dat_vcpu *v = dat->first_vcpu; v; v = v->next) {
        text_put_i64(&text, v->pid);
        text_put_char(&text, ' ');
        v->origin->put_vcpu(v->origin, v->vcpu, &text);
        text_put_char(&text, '\n');
    }
    dat_put_sized(dat, &text);
    if (!threads)
        dat->out.error = -ENOMEM;
    text_done(&text);
    free(threads);
}
