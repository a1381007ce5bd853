/* SPDX-License-Identifier: MIT */
#pragma once

/* Appends binary numbers to a text, in the machine's byte order. */

#include "base/bytes.h"
#include "base/text.h"

static inline void put_u32(struct text *text, uint32_t v)
{
    store_u32(text_room(text, sizeof v), v);
    text->next += sizeof v;
}

static inline void put_u64(struct text *text, uint64_t v)
{
    store_u64(text_room(text, sizeof v), v);
    text->next += sizeof v;
}
