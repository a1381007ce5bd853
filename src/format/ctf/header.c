/* SPDX-License-Identifier: MIT */
#include "format/ctf/header.h"

/* No header of an event is longer. */
#define BITS_MAX 512

static bool is_number(const struct ctf_type *type)
{
    return (type->kind == CTF_INTEGER || type->kind == CTF_ENUM) && !type->is_variable &&
           !type->backwards;
}

/* Adds what MEMBER is to FORM. ALIGN: of the whole header, which the places of its numbers count from. */
static bool add(struct ctf_header_form *form, const struct ctf_member *member, uint32_t align,
                struct ctf_place *ret_place)
{
    const struct ctf_type *type = member->type;
    struct ctf_place place;

    if (!is_number(type) || type->align > align)
        return false;
    form->size = (form->size + type->align - 1) & ~(type->align - 1);
    place = (struct ctf_place){form->size, (uint8_t)type->size, type->order == CTF_ORDER_BE};
    form->size += type->size;
    if (place.at % 8 + place.size > 64 || form->size > BITS_MAX)
        return false;
    /* Signed ones would have to be extended. */
    if (type->is_signed && (member->role == CTF_ROLE_ID || member->role == CTF_ROLE_TIMESTAMP))
        return false;
    if (member->role == CTF_ROLE_ID)
        form->id = place;
    else if (member->role == CTF_ROLE_TIMESTAMP)
        form->time = place;
    *ret_place = place;
    return true;
}

static bool add_all(struct ctf_header_form *form, const struct ctf_type *type, uint32_t n,
                    uint32_t align)
{
    struct ctf_place place;

    form->size = (form->size + type->align - 1) & ~(type->align - 1);
    for (uint32_t i = 0; i < n; i++)
        if (!add(form, &type->members[i], align, &place))
            return false;
    return true;
}

/* The values of the tag for which VARIANT is its member of this number: one range. */
static bool find_range(const struct ctf_type *variant, uint32_t member, struct ctf_form_choice *ret)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < variant->n_choices; i++) {
        const struct ctf_choice *choice = &variant->choices[i];

        if (choice->member != member)
            continue;
        ret->low = (uint64_t)choice->low;
        ret->high = (uint64_t)choice->high;
        n++;
    }
    return n == 1;
}

static bool add_variant(struct ctf_header *header, const struct ctf_type *type,
                        const struct ctf_member *tag, const struct ctf_member *member)
{
    const struct ctf_type *variant = member->type;

    if (tag->type->is_signed || variant->tag != tag->type || variant->slot != tag->slot ||
        variant->n_members != 2)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        const struct ctf_type *chosen = variant->members[i].type;
        struct ctf_header_form *form = &header->forms[i].form;

        if (chosen->kind != CTF_STRUCT || chosen->align > type->align ||
            !find_range(variant, i, &header->forms[i]) ||
            !add(form, tag, type->align, &header->tag) ||
            !add_all(form, chosen, chosen->n_members, type->align))
            return false;
    }
    return header->forms[0].high < header->forms[1].low ||
           header->forms[1].high < header->forms[0].low;
}

void ctf_header_make(const struct ctf_type *type, struct ctf_header *ret)
{
    struct ctf_header header = {0};
    uint32_t bits;

    *ret = header;
    if (!type || type->kind != CTF_STRUCT || type->n_members == 0)
        return;
    header.align = type->align;
    if (type->n_members == 2 && type->members[1].type->kind == CTF_VARIANT)
        header.known = add_variant(&header, type, &type->members[0], &type->members[1]);
    else
        header.known = add_all(&header.forms[0].form, type, type->n_members, type->align);
    bits = MAX(header.forms[0].form.size, header.forms[1].form.size);
    header.bytes = (bits + 7) / 8 + 8;
    if (header.known)
        *ret = header;
}
