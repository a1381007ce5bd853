/* SPDX-License-Identifier: MIT */
#pragma once

/* Values of the four formats for TCG (gen/variables.c lists them).
 *
 * QEMU 2.5 to 6.x traced the guest's own instructions: a `tcg` event stands for one event when code is translated
 * (NAME_trans) and one each time that the translated code runs (NAME_exec). For the second event, the translator
 * inserts a call of a *helper* into the translated code. A helper's parameters are of few kinds:
 *
 *     declared              translator            helper           kind
 *     the implicit vCPU     TCGv_env              CPUArchState *   env
 *     TCGv                  TCGv                  target_ulong     tl
 *     TCGv_i32              TCGv_i32              uint32_t         i32
 *     TCGv_i64              TCGv_i64              uint64_t         i64
 *     TCGv_ptr              TCGv_ptr              void *           ptr
 *     a pointer             a constant TCGv_ptr   void *           ptr
 *     8 bytes               a constant TCGv_i64   uint64_t         i64
 *     4 bytes and less      a constant TCGv_i32   uint32_t         i32
 *
 * The translator calls trace_NAME_tcg(). It traces NAME_trans and calls gen_helper_trace_NAME_exec(), which converts
 * values known to the host to constants and calls gen_helper_trace_NAME_exec_proxy(). QEMU's macros make that function
 * from the helper's declaration. The helper itself, helper_trace_NAME_exec_proxy(), traces NAME_exec. */

#include "gen/state.h"

/* For the current event, a NAME_exec. An error if it cannot be expressed. */
void gen_put_tcg_params(struct gen_state *state); /* "void *__cpu, TCGv_env …, TCGv a, int b" */
void gen_put_tcg_trans_names(struct gen_state *state); /* "__cpu, b" */
void gen_put_tcg_wrapper_params(
    struct gen_state *state);                            /* "TCGv_env __tcg___cpu, TCGv a, int b" */
void gen_put_tcg_wrapper_names(struct gen_state *state); /* "__tcg___cpu, a, b" */
void gen_put_tcg_proxy_names(struct gen_state *state);   /* "__tcg___cpu, a, __tcg_b" */
void gen_put_tcg_proxy_params(struct gen_state *state);  /* "CPUArchState *__tcg___cpu, …" */
void gen_put_tcg_proxy_values(struct gen_state *state); /* "env_cpu(__tcg___cpu), (uint64_t)a, …" */
void gen_put_tcg_comma_kinds(struct gen_state *state); /* ", env, tl, i32" */

/* For the current argument. */
void gen_put_tcg_kind(struct gen_state *state); /* "i32" */
/* True if the host knows its value when code is translated. */
bool gen_is_tcg_constant(const struct gen_state *state);
