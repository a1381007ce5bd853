/* SPDX-License-Identifier: MIT */
#include "cmd/show_page.h"

#include <stdlib.h>

#include "base/macro.h"
#include "cmd/cmd.h"
#include "cmd/walk.h"

static bool has_display(void)
{
    static const char *const names[] = {"DISPLAY", "WAYLAND_DISPLAY"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *value = getenv(names[i]);

        if (value && *value)
            return true;
    }
    return false;
}

void show_page(struct browser *browser, const char *address)
{
    struct error error = {0};

    *browser = (struct browser){.dir = {.fd = -1}};
    if (!has_display())
        cli_error("there is no display; open the address in a browser yourself");
    else if (browser_open(browser, address, environment_temporary_dir(), &error) < 0)
        cli_print_error(&error);
}
