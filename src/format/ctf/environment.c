/* SPDX-License-Identifier: MIT */
#include "format/ctf/environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "event/origin_flags.h"

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

/* The rest of KEY after `source_N_`, and N. NULL: KEY does not have this form. */
static const char *source_key(const char *key, uint64_t *ret_number)
{
    static const char start[] = "source_";
    const char *digits = key + strlen(start);
    size_t n;

    if (strncmp(key, start, strlen(start)) != 0)
        return NULL;
    n = strspn(digits, "0123456789");
    if (n == 0 || n > 9 || digits[n] != '_')
        return NULL;
    *ret_number = strtoull(digits, NULL, 10);
    return digits + n + 1;
}

/* What KEY says of a source after its layer: VALUE, greater than 0. */
static void set_source_fact(struct ctf_metadata *m, uint64_t number, const char *key,
                            uint64_t value)
{
    for (struct ctf_source_decl *source = m->sources; source; source = source->next) {
        if (source->number != number)
            continue;
        if (strcmp(key, "complete_from") == 0)
            source->complete_from = value;
        else
            (void)origin_set_flag(&source->flags, key, strlen(key));
    }
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
    uint64_t source = 0;
    const char *of_source = source_key(key, &source);

    for (size_t i = 0; text && i < ARRAY_SIZE(texts); i++)
        if (strcmp(key, texts[i].key) == 0) {
            *texts[i].ret = arena_strdup(arena, text);
            return *texts[i].ret ? 0 : -ENOMEM;
        }
    if (of_source && text)
        return strcmp(of_source, "layer") == 0 ? add_source_layer(m, arena, source, text) : 0;
    if (of_source && number > 0) {
        set_source_fact(m, source, of_source, (uint64_t)number);
    } else if (text && strcmp(key, "time_unit") == 0) {
        m->in_ticks = strncmp(text, "ticks", strlen("ticks")) == 0;
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
