/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes addresses and identifiers like the kernel's "%pM", "%pI4", "%pI6", "%pIS" and "%pU". */

#include "base/text.h"

/* SEPARATOR '\0': none. P has 6, 4, 16 and 16 bytes. */
void kernel_put_mac(const uint8_t *p, char separator, bool reverse, struct text *text);
/* padded: "010.000.000.001" */
void kernel_put_ipv4(const uint8_t *p, bool padded, bool reverse, struct text *text);
/* With colons or without. */
void kernel_put_ipv6(const uint8_t *p, bool colons, struct text *text);
/* The short form: "fe80::1". */
void kernel_put_ipv6_short(const uint8_t *p, struct text *text);
/* guid: the first three numbers are little-endian. */
void kernel_put_uuid(const uint8_t *p, bool guid, bool upper_case, struct text *text);
