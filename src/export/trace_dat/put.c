/* SPDX-License-Identifier: MIT */
#include "export/trace_dat/export.h"

#include "export/put_binary.h"

void dat_put_u16(struct dat_export *dat, uint16_t v)
{
    v = dat->events.swap ? __builtin_bswap16(v) : v;
    text_put(&dat->out, (const char *)&v, sizeof v);
}

void dat_put_u32(struct dat_export *dat, uint32_t v)
{
    put_u32(&dat->out, dat->events.swap ? __builtin_bswap32(v) : v);
}

void dat_put_u64(struct dat_export *dat, uint64_t v)
{
    put_u64(&dat->out, dat->events.swap ? __builtin_bswap64(v) : v);
}

void dat_put_sized(struct dat_export *dat, const struct text *text)
{
    dat_put_u64(dat, text_len(text));
    text_put(&dat->out, text->start ? text->start : "", text_len(text));
    if (text->error)
        dat->out.error = text->error;
}
