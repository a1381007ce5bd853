/* SPDX-License-Identifier: MIT */
#include "format/ctf/environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

/* `source_N_layer`. */
static int add_source_layer(struct ctf_metadata *m, struct arena *arena, uint64_t number,
                            const char *text)
{
    struct ctf_source_decl *source = arena_alloc(arena, sizeof *source);

    if (!source)
        return -ENOMEM;
    source->number = number;
    source->layer = arena_strdup(arena, text);
    *(m->last_source ? &m->last_source->next : &m->sources) = source;
    m->last_source = source;
    return source->layer ? 0 : -ENOMEM;
}

/* `source_N_complete_from`, after the layer. */
static void set_source_complete(struct ctf_metadata *m, uint64_t number, uint64_t ticks)
{
    for (struct ctf_source_decl *source = m->sources; source; source = source->next)
        if (source->number == number)
            source->complete_from = ticks;
}

/* Whether KEY is `source_N` and END. */
static bool is_of_source(const char *key, const char *end, uint64_t *ret_number)
{
    static const char start[] = "source_";
    const char *digits = key + strlen(start);
    size_t n;

    if (strncmp(key, start, strlen(start)) != 0)
        return false;
    n = strspn(digits, "0123456789");
    if (n == 0 || n > 9 || strcmp(digits + n, end) != 0)
        return false;
    *ret_number = strtoull(digits, NULL, 10);
    return true;
}

int ctf_environment_set(struct ctf_metadata *m, struct arena *arena, const char *key,
                        const char *text, int64_t number)
{
    const struct {
        const char *key;
        const char **ret;
    } texts[] = {
        {"tracer_name", &m->tracer},
        {"procname", &m->process},
        {"hostname", &m->host},
        {"domain", &m->domain},
    };
    uint64_t source;

    for (size_t i = 0; text && i < ARRAY_SIZE(texts); i++)
        if (strcmp(key, texts[i].key) == 0) {
            *texts[i].ret = arena_strdup(arena, text);
            return *texts[i].ret ? 0 : -ENOMEM;
        }
    if (text && is_of_source(key, "_layer", &source))
        return add_source_layer(m, arena, source, text);
    if (!text && number > 0 && is_of_source(key, "_complete_from", &source)) {
        set_source_complete(m, source, (uint64_t)number);
    } else if (strcmp(key, "vpid") == 0) {
        m->pid = number;
    } else if (strcmp(key, "clock_ticks") == 0) {
        m->ticks = (uint64_t)number;
    } else if (strcmp(key, "clock_monotonic") == 0) {
        m->has_moment = true;
        m->monotonic = number;
    }
    return 0;
}
