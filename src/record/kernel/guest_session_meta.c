/* SPDX-License-Identifier: MIT */
/* What a guest sends about itself: files of its tracefs, which come in pieces, and facts. */
#include <string.h>

#include "base/macro.h"
#include "record/kernel/guest_session_send.h"

#define FILES_MAX 65536

void guest_session_copy_text(char *buf, size_t size, const struct proto_text *text)
{
    size_t n = MIN(size - 1, (size_t)text->len);

    if (n > 0)
        memcpy(buf, text->p, n);
    buf[n] = '\0';
}

int guest_session_put_fact(struct guest_session *session, const char *name,
                           const struct proto_text *text, struct error *error)
{
    char value[256];

    guest_session_copy_text(value, sizeof value, text);
    return kernel_sink_fact(session->sink, name, value, error);
}

static int file_begin(struct guest_session *session, const struct proto_meta_piece *meta,
                      struct error *error)
{
    guest_session_copy_text(session->file_path, sizeof session->file_path, &meta->path);
    session->in_file = true;
    session->file_kind = meta->kind;
    session->file_size = 0;
    session->fact_len = 0;
    /* Files that come again while it traces replace others. */
    if (session->state == GUEST_SETUP && ++session->n_files > FILES_MAX)
        return error_set(error, -E2BIG, NULL, "the guest sends more than %u files", FILES_MAX);
    if (meta->kind == PROTO_META_FILE)
        return kernel_sink_file_begin(session->sink, session->file_path, strlen(session->file_path),
                                      error);
    if (meta->kind == PROTO_META_KALLSYMS)
        return kernel_sink_file_begin(session->sink, "kallsyms", strlen("kallsyms"), error);
    return 0;
}

int guest_session_on_meta(struct guest_session *session, const struct proto_frame *frame,
                          struct error *error)
{
    struct proto_meta_piece meta;
    int r = proto_get_meta(frame, &meta);

    if (r < 0)
        return r;
    if (session->state != GUEST_SETUP && session->state != GUEST_RUNNING &&
        session->state != GUEST_STOPPING)
        return -EBADMSG;
    if (meta.path.len >= sizeof session->file_path)
        return -EBADMSG;
    if (session->file_is_unknown) {
        session->file_is_unknown = !meta.last;
        return 0;
    }
    if (!session->in_file) {
        r = file_begin(session, &meta, error);
        if (r < 0)
            return r;
    } else if (meta.kind != session->file_kind || !proto_text_is(&meta.path, session->file_path)) {
        return error_set(error, -EBADMSG, NULL,
                         "the guest begins a file before another one has ended");
    }
    session->file_size += meta.size;
    session->meta_total += session->state == GUEST_SETUP ? meta.size : 0;
    if (session->file_size > PROTO_META_FILE_MAX || session->meta_total > PROTO_META_MAX)
        return error_set(error, -E2BIG, NULL,
                         "the guest sends files of more than %u MiB (%u in all)",
                         PROTO_META_FILE_MAX >> 20, PROTO_META_MAX >> 20);
    if (meta.kind == PROTO_META_FACT) {
        size_t n = MIN(meta.size, sizeof session->fact - 1 - session->fact_len);

        memcpy(session->fact + session->fact_len, meta.p, n);
        session->fact_len += n;
    } else if (meta.size > 0) {
        r = kernel_sink_file_put(session->sink, meta.p, meta.size, error);
    }
    if (r < 0 || !meta.last)
        return r;
    session->in_file = false;
    if (meta.kind != PROTO_META_FACT)
        return kernel_sink_file_end(session->sink, error);
    session->fact[session->fact_len] = '\0';
    return kernel_sink_fact(session->sink, session->file_path, session->fact, error);
}
