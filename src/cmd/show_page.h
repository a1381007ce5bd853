/* SPDX-License-Identifier: MIT */
#pragma once

#include "serve/browser.h"

/* Opens ADDRESS in the user's browser, or prints why it cannot. Call browser_done() in any case. */
void show_page(struct browser *browser, const char *address);
