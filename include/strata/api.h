/* SPDX-License-Identifier: MIT */
#ifndef STRATA_API_H
#define STRATA_API_H

/* What the public headers of all Strata libraries share. Programs need not include it themselves. */

#if !defined(__GNUC__)
#error "Strata needs gcc or clang"
#endif

/* Marks a function that a library exports; all others are hidden. */
#define STRATA_API __attribute__((visibility("default")))

/* Marks a function that an event calls where it is emitted, which may be on a small stack. The function is bound when
 * the program starts: binding at the first call takes some KB of the stack. clang lacks the attribute; use -fno-plt or
 * -Wl,-z,now with it. */
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define STRATA_BOUND __attribute__((noplt))
#endif
#endif
#ifndef STRATA_BOUND
#define STRATA_BOUND
#endif

#endif
