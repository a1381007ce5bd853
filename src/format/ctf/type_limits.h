/* SPDX-License-Identifier: MIT */
#pragma once

/* What metadata may declare. */

#define DEPTH_MAX 16    /* of braces, and of structs, variants and arrays in each other */
#define WEIGHT_MAX 8192 /* members of a struct, and of all that are in it */
#define ALIGN_MAX 4096  /* bits */
#define LOCATION_MAX 32 /* names of a location of CTF 2 */
