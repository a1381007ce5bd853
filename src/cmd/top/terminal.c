/* SPDX-License-Identifier: MIT */
/* strata top on a terminal, by curses. It draws only rows of top_layout(), in which control characters are escaped. */

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/top/terminal_known.h"
#include "cmd/top/top.h"

#define NCURSES_NOMACROS
#include <curses.h>

#define FILTER_MAX 40u
#define KEY_ESCAPE 27
#define KEY_CONTROL_L 12
#define ESCAPE_DELAY_MS 25

enum action { ACTION_NONE, ACTION_LIST, ACTION_SWITCH, ACTION_SNAPSHOT };

struct terminal {
    struct top_driver *driver;
    struct top_view view;
    struct top_rows rows;
    sigset_t old_mask;
    int signals; /* signalfd */
    bool quits, is_dirty;
    char message[400], filter[FILTER_MAX + 1];
    struct top_switches switches;
    struct top_ctl *ctl; /* the running command, or NULL */
    enum action action;  /* why it runs */
    bool list_is_asked;  /* the list must be read again */
};

static void set_message(struct terminal *self, const char *text)
{
    /* The first line, without the program's name. */
    if (strncmp(text, "strata: ", 8) == 0)
        text += 8;
    snprintf(self->message, sizeof self->message, "%.*s", (int)strcspn(text, "\n"), text);
    self->view.message = *self->message ? self->message : NULL;
    self->is_dirty = true;
}

/* ---- strata ctl ---- */

static void start(struct terminal *self, enum action action, const char *const *words)
{
    struct error error = {0};
    char text[400];

    if (top_ctl_start(self->driver->path, words, action == ACTION_LIST, &self->old_mask, &self->ctl,
                      &error) >= 0) {
        self->action = action;
        return;
    }
    error_print(&error, text, sizeof text);
    set_message(self, text);
}

static void ask_list(struct terminal *self)
{
    static const char *const words[] = {"list", NULL};

    self->list_is_asked = self->ctl != NULL;
    if (!self->ctl)
        start(self, ACTION_LIST, words);
}

static void ask_snapshot(struct terminal *self)
{
    static const char *const words[] = {"snapshot", NULL};

    if (self->ctl) {
        set_message(self, "the command before has not ended yet");
        return;
    }
    set_message(self, "saving a snapshot");
    start(self, ACTION_SNAPSHOT, words);
}

static void ask_switch(struct terminal *self)
{
    const struct top_switch *event = NULL;
    const char *name = top_layout_event(&self->view, self->view.cursor, &event);
    const char *words[] = {"", name, NULL};

    if (!name)
        return;
    if (!event || !event->is_available) {
        set_message(self, event ? "this event is not available: it was not compiled in"
                                : "events of this recording cannot be switched");
    } else if (self->ctl) {
        set_message(self, "the command before has not ended yet");
    } else {
        words[0] = event->is_on ? "off" : "on";
        start(self, ACTION_SWITCH, words);
    }
}

static void end_ctl(struct terminal *self)
{
    const char *text;
    bool ok;

    if (!self->ctl || top_ctl_step(self->ctl, &ok, &text) == 0)
        return;
    switch (self->action) {
    case ACTION_LIST:
        if (ok) {
            struct top_switches switches;

            if (top_switches_parse(text, &switches) >= 0) {
                top_switches_done(&self->switches);
                self->switches = switches;
            }
        } else {
            set_message(self, text);
        }
        break;
    case ACTION_SWITCH:
        if (!ok || *text)
            set_message(self, text);
        self->list_is_asked = true;
        break;
    case ACTION_SNAPSHOT: {
        char line[400];

        snprintf(line, sizeof line, "%s%s", ok ? "snapshot: " : "", text);
        set_message(self, line);
        break;
    }
    case ACTION_NONE: break;
    }
    self->ctl = top_ctl_free(self->ctl);
    self->action = ACTION_NONE;
    self->is_dirty = true;
    if (self->list_is_asked)
        ask_list(self);
}

/* ---- Keys ---- */

static void type_filter(struct terminal *self, int key)
{
    size_t len = strlen(self->filter);

    if (key == '\r' || key == '\n' || key == KEY_ENTER) {
        self->view.is_filtering = false;
    } else if (key == KEY_ESCAPE) {
        self->view.is_filtering = false;
        self->filter[0] = '\0';
    } else if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && len > 0) {
        self->filter[len - 1] = '\0';
    } else if (key >= ' ' && key < 127 && len < FILTER_MAX) {
        self->filter[len] = (char)key;
        self->filter[len + 1] = '\0';
    }
    self->view.cursor = 0;
}

static void move_cursor(struct terminal *self, int by)
{
    int n = (int)top_layout_event_count(&self->view);
    int to = (int)self->view.cursor + by;

    self->view.cursor = (unsigned)MAX(MIN(to, n - 1), 0);
}

/* False for keys that every screen has. */
static bool handle_events_key(struct terminal *self, int key)
{
    int page = (int)MAX(self->view.height, 6u) - 4;

    switch (key) {
    case KEY_UP:
    case 'k': move_cursor(self, -1); break;
    case KEY_DOWN:
    case 'j': move_cursor(self, 1); break;
    case KEY_PPAGE: move_cursor(self, -page); break;
    case KEY_NPAGE: move_cursor(self, page); break;
    case KEY_HOME: self->view.cursor = 0; break;
    case KEY_END: move_cursor(self, INT_MAX / 2); break;
    case '/': self->view.is_filtering = true; break;
    case ' ':
    case '\r':
    case '\n':
    case KEY_ENTER: ask_switch(self); break;
    case 'e':
    case KEY_ESCAPE: self->view.screen = TOP_MAIN; break;
    default: return false;
    }
    return true;
}

static void handle_key(struct terminal *self, int key)
{
    self->is_dirty = true;
    if (self->view.is_filtering) {
        type_filter(self, key);
        return;
    }
    self->view.message = NULL;
    if (self->view.screen == TOP_HELP && key != 'q') {
        self->view.screen = TOP_MAIN;
        return;
    }
    if (self->view.screen == TOP_EVENTS && handle_events_key(self, key))
        return;
    switch (key) {
    case 'q': self->quits = true; break;
    case '?':
    case 'h': self->view.screen = TOP_HELP; break;
    case 'o': self->view.sort = (enum top_sort)((self->view.sort + 1) % TOP_SORTS); break;
    case 'e':
        self->view.screen = TOP_EVENTS;
        self->view.cursor = 0;
        ask_list(self);
        break;
    case 's': ask_snapshot(self); break;
    case 'p':
    case ' ':
        self->view.is_paused = !self->view.is_paused;
        if (!self->view.is_paused)
            top_driver_resume(self->driver);
        break;
    case KEY_CONTROL_L: clearok(curscr, true); break;
    default: break;
    }
}

/* ---- The screen ---- */

static void find_size(struct terminal *self)
{
    struct winsize size;
    int rows, columns;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0 &&
        is_term_resized(size.ws_row, size.ws_col))
        resizeterm(size.ws_row, size.ws_col);
    getmaxyx(stdscr, rows, columns);
    self->view.height = (unsigned)MAX(rows, 2);
    self->view.width = (unsigned)MAX(columns, 20);
    self->is_dirty = true;
}

static chtype attribute_of(enum top_attribute attribute)
{
    switch (attribute) {
    case TOP_TITLE:
    case TOP_MESSAGE: return A_BOLD;
    case TOP_HEADING: return A_REVERSE;
    case TOP_SELECTED: return A_REVERSE | A_BOLD;
    default: return A_NORMAL;
    }
}

static int draw(struct terminal *self)
{
    int r;

    top_driver_view(self->driver, &self->view);
    self->view.switches = &self->switches;
    self->view.filter = self->filter;
    move_cursor(self, 0);
    r = top_layout(&self->view, &self->rows);
    if (r < 0)
        return r;
    werase(stdscr);
    for (unsigned i = 0; i < self->rows.n && i < self->view.height; i++) {
        const struct top_row *row = &self->rows.rows[i];

        wattrset(stdscr, (int)attribute_of(row->attribute));
        if (row->len > 0)
            mvwaddnstr(stdscr, (int)i, 0, self->rows.text.start + row->begin, (int)row->len);
        if (row->attribute == TOP_HEADING || row->attribute == TOP_SELECTED)
            mvwchgat(stdscr, (int)i, 0, -1, attribute_of(row->attribute), 0, NULL);
    }
    wattrset(stdscr, A_NORMAL);
    wmove(stdscr, (int)self->view.height - 1, 0);
    wrefresh(stdscr);
    self->is_dirty = false;
    return 0;
}

/* ---- The loop ---- */

static void handle_signals(struct terminal *self)
{
    struct signalfd_siginfo info;

    while (read(self->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGWINCH)
            find_size(self);
        else
            self->quits = true;
    }
}

static int step(struct terminal *self, struct error *error)
{
    struct top_driver *driver = self->driver;
    int r = self->view.is_paused && !top_driver_is_flushing(driver)
                ? 0
                : top_driver_step(driver, error);

    if (r > 0)
        self->is_dirty = true;
    return r;
}

static int wait_for_input(struct terminal *self)
{
    const struct top_driver *driver = self->driver;
    struct pollfd fds[] = {
        {.fd = STDIN_FILENO, .events = POLLIN},
        {.fd = self->signals, .events = POLLIN},
        {.fd = top_driver_fd(driver), .events = POLLIN},
        {.fd = self->ctl ? top_ctl_fd(self->ctl) : -1, .events = POLLIN},
    };
    uint64_t now = clock_ns(CLOCK_MONOTONIC), due = top_driver_due(driver);
    uint64_t ns = due > now ? due - now : 0;
    struct timespec timeout = {(time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC)};
    bool waits = due == UINT64_MAX || (self->view.is_paused && !top_driver_is_flushing(driver));
    int key;

    if (ppoll(fds, ARRAY_SIZE(fds), waits ? NULL : &timeout, NULL) < 0 && errno != EINTR)
        return -errno;
    handle_signals(self);
    /* The terminal has gone. */
    if ((fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0 && (fds[0].revents & POLLIN) == 0)
        self->quits = true;
    while (!self->quits && (key = wgetch(stdscr)) != ERR)
        if (key == KEY_RESIZE)
            find_size(self);
        else
            handle_key(self, key);
    end_ctl(self);
    return 0;
}

static int run(struct terminal *self, struct error *error)
{
    int r = 0;

    find_size(self);
    while (!self->quits && r >= 0) {
        r = step(self, error);
        if (r >= 0 && self->is_dirty)
            r = draw(self);
        if (r >= 0 && !self->quits)
            r = wait_for_input(self);
    }
    return r;
}

/* The library needs the locale to know the width of characters. A locale that is not installed still tells that the
 * terminal shows UTF-8. */
static bool set_locale(void)
{
    if (output_locale() != 0)
        return false;
    if (!setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1)
        setlocale(LC_CTYPE, "C.UTF-8");
    return MB_CUR_MAX > 1;
}

int top_terminal(struct top_driver *driver, const struct top_options *options)
{
    struct terminal self = {.driver = driver,
                            .signals = -1,
                            .view = {.is_interactive = true,
                                     .sort = (enum top_sort)options->sort,
                                     .is_ascii = !set_locale()}};
    struct error error = {0};
    SCREEN *screen = NULL;
    sigset_t mask;
    int r;

    sigemptyset(&mask);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGHUP);
    sigaddset(&mask, SIGWINCH);
    sigprocmask(SIG_BLOCK, &mask, &self.old_mask);
    self.signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (self.signals >= 0 && top_terminal_is_known())
        screen = newterm(NULL, stdout, stdin);
    if (!screen) {
        if (self.signals >= 0)
            close(self.signals);
        sigprocmask(SIG_SETMASK, &self.old_mask, NULL);
        cli_error("unknown terminal '%s'; use --batch", getenv("TERM"));
        return EXIT_FAILURE;
    }
    cbreak();
    noecho();
    curs_set(0);
    keypad(stdscr, true);
    nodelay(stdscr, true);
    set_escdelay(ESCAPE_DELAY_MS);
    r = run(&self, &error);
    endwin();
    delscreen(screen);
    close(self.signals);
    top_ctl_free(self.ctl);
    top_switches_done(&self.switches);
    top_rows_done(&self.rows);
    sigprocmask(SIG_SETMASK, &self.old_mask, NULL);
    return r < 0 ? cli_print_failure(&error, r) : EXIT_SUCCESS;
}
