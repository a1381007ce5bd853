/* SPDX-License-Identifier: MIT */
#pragma once

/* Limits of declarations in the metadata. */

#define DEPTH_MAX 16    /* nesting of braces, and of structs, variants and arrays */
#define WEIGHT_MAX 8192 /* members of a struct, including nested ones */
#define ALIGN_MAX 4096  /* bits */
#define LOCATION_MAX 32 /* names in a location of CTF 2 */
