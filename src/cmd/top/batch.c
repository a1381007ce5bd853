/* SPDX-License-Identifier: MIT */
/* strata top --batch: screens as plain text. */

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "base/clock_ns.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/top/top.h"

#define OUT_SIZE ((size_t)16 * 1024)
#define WIDTH 80u
#define WIDTH_MAX 500u

static unsigned find_width(void)
{
    const char *columns = getenv("COLUMNS");
    unsigned long width = columns ? strtoul(columns, NULL, 10) : 0;

    return width >= WIDTH && width <= WIDTH_MAX ? (unsigned)width : WIDTH;
}

static int print(const struct top_view *view, struct top_rows *rows, struct text *out)
{
    int r = top_layout(view, rows);

    for (unsigned i = 0; r >= 0 && i < rows->n; i++) {
        if (rows->rows[i].len > 0)
            text_put(out, rows->text.start + rows->rows[i].begin, rows->rows[i].len);
        text_put_char(out, '\n');
    }
    return r;
}

/* Until there is something new. An exit status. */
static int wait_for_windows(struct top_driver *driver)
{
    struct error error = {0};
    int r;

    while ((r = top_driver_step(driver, &error)) == 0) {
        struct pollfd fd = {.fd = top_driver_fd(driver), .events = POLLIN};
        uint64_t now = clock_ns(CLOCK_MONOTONIC), due = top_driver_due(driver);
        uint64_t ns = due > now ? due - now : 0;
        struct timespec timeout = {(time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC)};

        if (ppoll(&fd, 1, &timeout, NULL) < 0 && errno != EINTR)
            return cli_print_failure(&error, -errno);
    }
    return r < 0 ? cli_print_failure(&error, r) : EXIT_SUCCESS;
}

int top_batch(struct top_driver *driver, const struct top_options *options)
{
    struct top_view view = {.width = find_width(),
                            .is_ascii = output_locale() != 0,
                            .sort = (enum top_sort)options->sort};
    struct top_rows rows = {0};
    struct text out;
    int status = EXIT_SUCCESS, r = 0;

    if (output_open(&out, OUTPUT_TEXT, OUT_SIZE) < 0)
        return cli_no_memory();
    for (uint64_t i = 0; status == EXIT_SUCCESS && r >= 0; i++) {
        status = wait_for_windows(driver);
        if (status != EXIT_SUCCESS)
            break;
        if (i > 0)
            text_put_char(&out, '\n');
        top_driver_view(driver, &view);
        if (print(&view, &rows, &out) < 0)
            status = cli_no_memory();
        r = text_flush(&out);
        if (driver->has_ended || i + 1 == options->iterations)
            break;
    }
    if (r < 0)
        status = cli_output_error(r);
    top_rows_done(&rows);
    text_done(&out);
    return status;
}
