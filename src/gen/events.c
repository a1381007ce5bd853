/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "gen/state.h"

/* Words that cannot name a parameter: those of C and C++, and what common headers define as macros. */
static const char *const taken[] = {
    "alignas",  "alignof", "and",       "and_eq",   "asm",       "assert",  "auto",     "bitand",
    "bitor",    "bool",    "break",     "case",     "catch",     "char",    "class",    "compl",
    "concept",  "const",   "constexpr", "continue", "decltype",  "default", "delete",   "do",
    "double",   "else",    "enum",      "errno",    "explicit",  "export",  "extern",   "false",
    "float",    "for",     "friend",    "goto",     "if",        "inline",  "int",      "linux",
    "long",     "mutable", "namespace", "new",      "noexcept",  "not",     "not_eq",   "nullptr",
    "operator", "or",      "or_eq",     "private",  "protected", "public",  "register", "requires",
    "restrict", "return",  "short",     "signed",   "sizeof",    "static",  "stderr",   "stdin",
    "stdout",   "struct",  "switch",    "template", "this",      "throw",   "true",     "try",
    "typedef",  "typeid",  "typename",  "typeof",   "union",     "unix",    "unsigned", "using",
    "virtual",  "void",    "volatile",  "wchar_t",  "while",     "xor",     "xor_eq",
};

static bool is_taken(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
        if (taken[i][0] == name[0] && strcmp(taken[i], name) == 0)
            return true;
    return false;
}

static bool is_argument(const struct declared_event *event, const char *name)
{
    for (unsigned i = 0; i < event->n_arguments; i++)
        if (strcmp(event->arguments[i].name, name) == 0)
            return true;
    return false;
}

/* NAME with as many '_' appended as make it unused. */
static const char *free_name(const struct declared_event *event, const char *name,
                             struct arena *arena)
{
    size_t len = strlen(name);
    char *longer = arena_alloc(arena, len + DECLARED_ARGUMENTS_MAX + 2);

    if (!longer)
        return NULL;
    memcpy(longer, name, len);
    do
        longer[len++] = '_';
    while (is_argument(event, longer));
    return longer;
}

/* TCG's types: at execution, values of the host. */
static bool tcg_type(const char *type, struct gen_argument *argument)
{
    static const struct {
        const char *tcg;
        const char *host;
        struct c_type c;
    } types[] = {
        {"TCGv", "uint64_t", {.size = 8}},
        {"TCGv_i32", "uint32_t", {.size = 4}},
        {"TCGv_i64", "uint64_t", {.size = 8}},
        {"TCGv_ptr", "void *", {.size = 8, .is_pointer = true}},
    };

    if (type[0] != 'T')
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (strcmp(types[i].tcg, type) == 0) {
            argument->type = types[i].host;
            argument->c = types[i].c;
            return true;
        }
    return false;
}

static int add(struct gen_events *events, const struct declared_event *declared, enum gen_part part,
               struct arena *arena)
{
    static const struct gen_argument vcpu = {
        .name = "__cpu",
        .field = "__cpu",
        .type = "void *",
        .c = {.size = 8, .is_pointer = true},
    };
    struct gen_event *event = &events->items[events->n];
    struct gen_argument *arguments =
        arena_alloc(arena, (declared->n_arguments + 1) * sizeof *arguments);
    unsigned n = 0;

    if (!arguments)
        return -ENOMEM;
    if (declared->properties & PROPERTY_VCPU)
        arguments[n++] = vcpu;
    for (unsigned i = 0; i < declared->n_arguments; i++) {
        const struct declared_argument *from = &declared->arguments[i];
        struct gen_argument *to = &arguments[n];

        *to = (struct gen_argument){
            .name = from->name, .field = from->name, .type = from->type, .c = from->c};
        /* Their values are not known yet when code is translated. */
        if (part != GEN_WHOLE && tcg_type(from->type, to) && part == GEN_TRANS)
            continue;
        if (is_taken(from->name)) {
            to->name = free_name(declared, from->name, arena);
            if (!to->name)
                return -ENOMEM;
        }
        n++;
    }
    *event = (struct gen_event){
        .name = declared->name,
        .declared = declared,
        .arguments = arguments,
        .n_arguments = n,
        .id = events->n,
        .part = part,
    };
    if (part != GEN_WHOLE) {
        const char *suffix = part == GEN_TRANS ? "_trans" : "_exec";
        size_t len = strlen(declared->name);
        char *name = arena_alloc(arena, len + strlen(suffix) + 1);

        if (!name)
            return -ENOMEM;
        memcpy(name, declared->name, len);
        memcpy(name + len, suffix, strlen(suffix));
        event->name = name;
    }
    events->n++;
    return 0;
}

int gen_events_make(const struct declarations *declarations, struct arena *arena,
                    struct gen_events *ret)
{
    struct gen_events events = {0};

    /* A declaration is two events at most. */
    events.items =
        arena_alloc(arena, ((size_t)declarations->n_events * 2 + 1) * sizeof *events.items);
    if (!events.items)
        return -ENOMEM;
    for (unsigned i = 0; i < declarations->n_events; i++) {
        const struct declared_event *declared = &declarations->events[i];
        bool tcg = declared->properties & PROPERTY_TCG;
        int r = add(&events, declared, tcg ? GEN_TRANS : GEN_WHOLE, arena);

        if (r >= 0 && tcg)
            r = add(&events, declared, GEN_EXEC, arena);
        if (r < 0)
            return r;
    }
    *ret = events;
    return 0;
}
