/* SPDX-License-Identifier: MIT */
#pragma once

/* From a request to its answer. */

#include "serve/exchange.h"

/* Fills the answer of X, of which the secret was checked, and the rest of its path was not. */
void routes_run(struct exchange *x);

/* The page's own files. */
void assets_get(struct exchange *x, const char *name);

/* The page's API, see docs/man/strata-serve.1: each writes the answer, or an error. */
void api_trace(struct exchange *x);
void api_names(struct exchange *x);
void api_slices(struct exchange *x);
void api_counts(struct exchange *x);
void api_values(struct exchange *x);
void api_arrows(struct exchange *x);
void api_slice(struct exchange *x);
void api_events(struct exchange *x);
void api_search(struct exchange *x);
void api_statistics(struct exchange *x);
