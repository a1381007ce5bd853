/* SPDX-License-Identifier: MIT */
/* GET api/live: whether there are newer data. */

#include "serve/routes.h"

void api_live(struct exchange *x)
{
    struct json_writer *w = &x->answer.json;

    json_write_object(w);
    json_write_key(w, "generation");
    json_write_u64(w, x->generation->number);
    json_write_key(w, "live");
    json_write_bool(w, atomic_load(&x->generation->live));
    json_write_finish(w);
}
