/* SPDX-License-Identifier: MIT */
#ifndef STRATA_API_H
#define STRATA_API_H

/* What the public headers of all Strata libraries share. Programs need not include it themselves. */

#if !defined(__GNUC__)
#error "Strata needs gcc or clang"
#endif

/* Marks a function that a library exports; all others are hidden. */
#define STRATA_API __attribute__((visibility("default")))

#endif
