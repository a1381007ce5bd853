/* SPDX-License-Identifier: MIT */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

int library_load(const struct library *library, void *table, void **ret_handle, struct error *error)
{
    void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        return error_set(error, -ELIBACC, "", "%s cannot be loaded; install %s (%s)", library->file,
                         library->package, dlerror());
    for (const struct library_symbol *s = library->symbols; s->name; s++) {
        if (dlsym(handle, s->name))
            continue;
        dlclose(handle);
        return error_set(error, -ELIBACC, "", "%s has no function %s", library->file, s->name);
    }
    for (const struct library_symbol *s = library->symbols; s->name; s++) {
        void *symbol = dlsym(handle, s->name);

        /* The bits of a function's address. */
        memcpy((char *)table + s->offset, &symbol, sizeof symbol);
    }
    *ret_handle = handle;
    return 0;
}
