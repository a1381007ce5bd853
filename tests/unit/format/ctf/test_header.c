/* SPDX-License-Identifier: MIT */
/* Headers of events whose numbers have places, against the walk through their types. */
#include "cmocka_all.h"

#include <string.h>

#include "format/ctf/decode.h"
#include "format/ctf/header.h"

static uint64_t state_of_random = 88172645463325252u;

static uint64_t random_u64(void)
{
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    state_of_random ^= state_of_random << 17;
    return state_of_random;
}

/* What a walk finds: the last id and time. */
struct found {
    uint64_t id, time;
    unsigned time_bits;
};

static int note_number(void *arg, const struct ctf_member *member, uint64_t value)
{
    struct found *found = arg;

    if (member->role == CTF_ROLE_ID)
        found->id = value;
    if (member->role == CTF_ROLE_TIMESTAMP) {
        found->time = value;
        found->time_bits = member->type->size;
    }
    return 0;
}

/* Walks a header at random bytes both ways. Returns whether it has a known form. */
static bool check_once(const struct ctf_type *type, const struct ctf_header *header, uint8_t first)
{
    uint64_t words[24], slots[2] = {0};
    const uint8_t *bytes = (const uint8_t *)words;
    struct ctf_cursor cursor = {.base = bytes, .end = 8 * sizeof words, .slots = slots};
    struct found found = {0};
    struct ctf_visitor visitor = {.number = note_number, .arg = &found};
    const struct ctf_header_form *form;

    for (size_t i = 0; i < 24; i++)
        words[i] = random_u64();
    memcpy(words, &first, 1);
    form = ctf_header_form(header, bytes);
    if (ctf_walk(&cursor, type, &visitor) < 0) {
        assert_null(form);
        return false;
    }
    assert_non_null(form);
    assert_int_equal(form->size, cursor.position);
    assert_true(header->bytes * 8 >= form->size + 64);
    assert_int_equal(ctf_place_read(&form->id, bytes), found.id);
    assert_int_equal(ctf_place_read(&form->time, bytes), found.time);
    assert_int_equal(form->time.size, found.time_bits);
    return true;
}

static struct ctf_type number(unsigned size, uint32_t align, enum ctf_order order)
{
    return (struct ctf_type){.kind = CTF_INTEGER, .size = size, .align = align, .order = order};
}

static void structures_of_numbers(void **state)
{
    static const uint32_t aligns[] = {1, 8, 16, 32, 64};
    unsigned n_known = 0;

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        enum ctf_order order = random_u64() & 1 ? CTF_ORDER_BE : CTF_ORDER_LE;
        struct ctf_type types[4];
        struct ctf_member members[4];
        struct ctf_type type = {.kind = CTF_STRUCT, .align = 1, .members = members};
        struct ctf_header header;

        type.n_members = 1 + random_u64() % 4;
        for (unsigned k = 0; k < type.n_members; k++) {
            types[k] = number(1 + random_u64() % 64, aligns[random_u64() % 5], order);
            members[k] = (struct ctf_member){.name = "m", .type = &types[k]};
            members[k].role = k == 0   ? CTF_ROLE_ID
                              : k == 1 ? CTF_ROLE_TIMESTAMP
                                       : (uint8_t)(random_u64() & 1 ? CTF_ROLE_NONE : CTF_ROLE_CPU);
            type.align = type.align > types[k].align ? type.align : types[k].align;
        }
        ctf_header_make(&type, &header);
        if (!header.known)
            continue; /* a number over nine bytes */
        n_known++;
        assert_int_equal(header.align, type.align);
        assert_true(check_once(&type, &header, (uint8_t)random_u64()));
    }
    assert_true(n_known > 10000);
}

/* LTTng's two headers: 5 bits or 16 with the number of the event, and what does not suffice after it. */
static void check_lttng(unsigned bits, unsigned short_time, enum ctf_order order)
{
    struct ctf_choice choices[] = {{0, (1 << bits) - 2, 0}, {(1 << bits) - 1, (1 << bits) - 1, 1}};
    struct ctf_type tag = {
        .kind = CTF_ENUM, .size = bits, .align = bits % 8 ? 1 : 8, .order = order};
    struct ctf_type stamp = number(short_time, short_time % 8 ? 1 : 8, order);
    struct ctf_type id = number(32, 8, order), time = number(64, 8, order);
    struct ctf_member compact_members[] = {
        {.name = "timestamp", .type = &stamp, .role = CTF_ROLE_TIMESTAMP}};
    struct ctf_member extended_members[] = {
        {.name = "id", .type = &id, .role = CTF_ROLE_ID},
        {.name = "timestamp", .type = &time, .role = CTF_ROLE_TIMESTAMP}};
    struct ctf_type compact = {
        .kind = CTF_STRUCT, .align = stamp.align, .members = compact_members, .n_members = 1};
    struct ctf_type extended = {
        .kind = CTF_STRUCT, .align = 8, .members = extended_members, .n_members = 2};
    struct ctf_member chosen[] = {{.name = "compact", .type = &compact},
                                  {.name = "extended", .type = &extended}};
    struct ctf_type variant = {.kind = CTF_VARIANT,
                               .align = 1,
                               .members = chosen,
                               .n_members = 2,
                               .choices = choices,
                               .n_choices = 2,
                               .slot = 1,
                               .tag = &tag};
    struct ctf_member members[] = {{.name = "id", .type = &tag, .role = CTF_ROLE_ID, .slot = 1},
                                   {.name = "v", .type = &variant}};
    struct ctf_type type = {.kind = CTF_STRUCT, .align = 8, .members = members, .n_members = 2};
    struct ctf_header header;

    ctf_header_make(&type, &header);
    assert_true(header.known);
    for (unsigned i = 0; i < 4096; i++)
        assert_true(check_once(&type, &header, (uint8_t)(i % 2 ? 0xff : i)));
    /* A value that selects nothing. */
    choices[0].low = 1;
    ctf_header_make(&type, &header);
    assert_true(header.known);
    assert_null(ctf_header_form(&header, (const uint8_t[16]){0}));
    /* What the walk alone can do. */
    tag.is_signed = true;
    ctf_header_make(&type, &header);
    assert_false(header.known);
    tag.is_signed = false;
    time.align = 64;
    extended.align = 64;
    ctf_header_make(&type, &header);
    assert_false(header.known);
}

static void variants_after_the_number(void **state)
{
    (void)state;
    check_lttng(5, 27, CTF_ORDER_LE);
    check_lttng(5, 27, CTF_ORDER_BE);
    check_lttng(16, 32, CTF_ORDER_LE);
    check_lttng(16, 32, CTF_ORDER_BE);
}

static void what_has_no_places(void **state)
{
    struct ctf_type text = {.kind = CTF_STRING, .align = 8};
    struct ctf_type odd = {.kind = CTF_INTEGER, .size = 64, .align = 1, .order = CTF_ORDER_LE};
    struct ctf_type bit = {.kind = CTF_INTEGER, .size = 1, .align = 1, .order = CTF_ORDER_LE};
    struct ctf_member members[] = {{.name = "a", .type = &bit}, {.name = "b", .type = &odd}};
    struct ctf_type type = {.kind = CTF_STRUCT, .align = 1, .members = members, .n_members = 2};
    struct ctf_header header;

    (void)state;
    ctf_header_make(NULL, &header);
    assert_false(header.known);
    ctf_header_make(&type, &header);
    assert_false(header.known); /* over nine bytes */
    members[1].type = &text;
    ctf_header_make(&type, &header);
    assert_false(header.known);
    members[1].type = &bit;
    members[1].role = CTF_ROLE_TIMESTAMP;
    ctf_header_make(&type, &header);
    assert_true(header.known);
    bit.is_signed = true;
    ctf_header_make(&type, &header);
    assert_false(header.known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structures_of_numbers),
        cmocka_unit_test(variants_after_the_number),
        cmocka_unit_test(what_has_no_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
