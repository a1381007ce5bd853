/* SPDX-License-Identifier: MIT */
#include "index/names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/macro.h"
#include "base/printable.h"
#include "base/utf8.h"

/* A name as it was given. Different names may be equal in the file. */
struct name_slot {
    uint64_t hash; /* of the given bytes and their number */
    uint32_t len;
    uint32_t number; /* from 1; 0: free */
    char *name;
};

#define REPLACEMENT "\xef\xbf\xbd"

int index_names_init(struct index_names *names)
{
    *names = (struct index_names){.n_slots = 256, .n_bytes = 1, .bytes_room = 4096};
    names->slots = calloc(names->n_slots, sizeof *names->slots);
    names->strings = calloc(names->bytes_room, 1);
    return names->slots && names->strings ? 0 : -ENOMEM;
}

void index_names_done(struct index_names *names)
{
    for (size_t i = 0; names->slots && i < names->n_slots; i++)
        free(names->slots[i].name);
    free(names->slots);
    free(names->strings);
    free(names->places);
    *names = (struct index_names){0};
}

static int reserve_bytes(struct index_names *names, size_t size)
{
    size_t room = names->bytes_room;
    char *bigger;

    if (room - names->n_bytes >= size)
        return 0;
    bigger = realloc(names->strings, room * 2 + size);
    if (!bigger)
        return -ENOMEM;
    names->strings = bigger;
    names->bytes_room = room * 2 + size;
    return 0;
}

int index_names_put_text(struct index_names *names, const char *text, size_t len,
                         uint32_t *ret_place)
{
    char *p;

    if (reserve_bytes(names, NAME_LEN_MAX + sizeof REPLACEMENT) < 0)
        return -ENOMEM;
    p = names->strings + names->n_bytes;
    for (const char *next = text; next < text + len;) {
        uint32_t character;
        size_t n = utf8_decode(next, (size_t)(text + len - next), &character);
        bool safe = n > 0 && printable_is_safe(character);
        size_t size = safe ? n : sizeof REPLACEMENT - 1;

        if ((size_t)(p - names->strings) - names->n_bytes + size > NAME_LEN_MAX)
            break;
        memcpy(p, safe ? next : REPLACEMENT, size);
        p += size;
        next += n ? n : 1;
    }
    *p++ = '\0';
    *ret_place = (uint32_t)names->n_bytes;
    names->n_bytes = (size_t)(p - names->strings);
    return 0;
}

static struct name_slot *find_slot(const struct index_names *names, const char *name, size_t len,
                                   uint64_t hash)
{
    for (size_t i = (size_t)hash & (names->n_slots - 1);; i = (i + 1) & (names->n_slots - 1)) {
        struct name_slot *slot = &names->slots[i];

        if (!slot->number ||
            (slot->hash == hash && slot->len == len && memcmp(slot->name, name, len) == 0))
            return slot;
    }
}

static int grow_slots(struct index_names *names)
{
    struct name_slot *bigger = calloc(names->n_slots * 2, sizeof *bigger);

    if (!bigger)
        return -ENOMEM;
    for (size_t i = 0; i < names->n_slots; i++) {
        size_t at = (size_t)names->slots[i].hash & (names->n_slots * 2 - 1);

        if (!names->slots[i].number)
            continue;
        while (bigger[at].number)
            at = (at + 1) & (names->n_slots * 2 - 1);
        bigger[at] = names->slots[i];
    }
    free(names->slots);
    names->slots = bigger;
    names->n_slots *= 2;
    return 0;
}

static int add_number(struct index_names *names, const char *name, size_t len, uint32_t *ret_number)
{
    if (names->n == names->room) {
        uint32_t room = names->room ? names->room * 2 : 64;
        uint32_t *bigger = realloc(names->places, room * sizeof *bigger);

        if (!bigger)
            return -ENOMEM;
        names->places = bigger;
        names->room = room;
    }
    if (index_names_put_text(names, name, len, &names->places[names->n]) < 0)
        return -ENOMEM;
    *ret_number = names->n++;
    return 0;
}

static int put_other(struct index_names *names, uint32_t *ret_number)
{
    static const char other[] = "(other names)";

    if (!names->other && add_number(names, other, sizeof other - 1, &names->other) < 0)
        return -ENOMEM;
    *ret_number = names->other;
    return 0;
}

int index_names_put(struct index_names *names, const char *name, size_t len, uint32_t *ret_number)
{
    struct name_slot *slot;
    uint64_t hash;

    len = MIN(len, (size_t)NAME_LEN_MAX);
    hash = hash_bytes(name, len);
    slot = find_slot(names, name, len, hash);
    if (likely(slot->number)) {
        *ret_number = slot->number - 1;
        return 0;
    }
    if (names->n >= NAMES_MAX || names->n_bytes >= NAMES_BYTES_MAX)
        return put_other(names, ret_number);
    if (names->n * (size_t)2 > names->n_slots) {
        if (grow_slots(names) < 0)
            return -ENOMEM;
        slot = find_slot(names, name, len, hash);
    }
    slot->name = malloc(len + 1);
    if (!slot->name || add_number(names, name, len, ret_number) < 0) {
        free(slot->name);
        slot->name = NULL;
        return -ENOMEM;
    }
    memcpy(slot->name, name, len);
    slot->hash = hash;
    slot->len = (uint32_t)len;
    slot->number = *ret_number + 1;
    return 0;
}
