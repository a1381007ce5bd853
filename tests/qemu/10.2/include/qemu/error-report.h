/* SPDX-License-Identifier: MIT */
#pragma once

extern bool message_with_timestamp;
