/* SPDX-License-Identifier: MIT */
#include "proto/message.h"

#include "base/macro.h"

#define STATUS_CPU_SIZE ((size_t)(4 + 1 + 9 * 8))
#define RESUME_CPU_SIZE ((size_t)12)

const char *proto_type_name(uint16_t type)
{
    static const char *const names[] = {
        [PROTO_HELLO] = "HELLO",     [PROTO_AUTH] = "AUTH",     [PROTO_SETUP] = "SETUP",
        [PROTO_META] = "META",       [PROTO_READY] = "READY",   [PROTO_START] = "START",
        [PROTO_STARTED] = "STARTED", [PROTO_STOP] = "STOP",     [PROTO_STOPPED] = "STOPPED",
        [PROTO_DATA] = "DATA",       [PROTO_STATUS] = "STATUS", [PROTO_ASK_STATUS] = "ASK_STATUS",
        [PROTO_PING] = "PING",       [PROTO_PONG] = "PONG",     [PROTO_FAILED] = "FAILED",
        [PROTO_BYE] = "BYE",         [PROTO_RESUME] = "RESUME", [PROTO_FLUSH] = "FLUSH",
        [PROTO_FLUSHED] = "FLUSHED",
    };

    return type < ARRAY_SIZE(names) ? names[type] : NULL;
}

int proto_end(struct proto_out *out, enum proto_type type, uint64_t sequence)
{
    uint32_t size;

    if (out->full || out->len - PROTO_HEADER_SIZE > PROTO_BODY_MAX)
        return -E2BIG;
    size = (uint32_t)(out->len - PROTO_HEADER_SIZE);
    proto_frame_seal(out->start, (uint16_t)type, 0, size, size, sequence);
    return 0;
}

static struct proto_body body_of(const struct proto_frame *frame)
{
    return (struct proto_body){frame->body, frame->body + frame->size, false};
}

/* All of it was read, and it made sense. */
static int ended(const struct proto_body *body)
{
    return body->bad || body->next != body->end ? -EBADMSG : 0;
}

/* N × SIZE bytes, at most MAX of them. */
static const uint8_t *get_list(struct proto_body *body, uint32_t max, size_t size, uint32_t *ret_n)
{
    uint32_t n = proto_get_u32(body);
    const uint8_t *p;

    if (n > max)
        body->bad = true;
    p = proto_get(body, body->bad ? 0 : n * size);
    *ret_n = p ? n : 0;
    return p;
}

static struct proto_u32s get_cpus(struct proto_body *body)
{
    struct proto_u32s list;

    list.p = get_list(body, PROTO_CPUS_MAX, 4, &list.n);
    for (uint32_t i = 0; i < list.n; i++)
        if (proto_u32_at(&list, i) >= PROTO_CPUS_MAX)
            body->bad = true;
    return list;
}

static void put_cpus(struct proto_out *out, const uint32_t *cpus, uint32_t n)
{
    proto_put_u32(out, n);
    for (uint32_t i = 0; i < n; i++)
        proto_put_u32(out, cpus[i]);
}

static uint32_t get_cpu(struct proto_body *body)
{
    uint32_t cpu = proto_get_u32(body);

    if (cpu >= PROTO_CPUS_MAX)
        body->bad = true;
    return cpu;
}

void proto_put_host_hello(struct proto_out *out, const struct proto_host_hello *hello)
{
    proto_put_u16(out, hello->lowest);
    proto_put_u16(out, hello->highest);
    proto_put(out, hello->nonce, sizeof hello->nonce);
}

int proto_get_host_hello(const struct proto_frame *frame, struct proto_host_hello *ret)
{
    struct proto_body body = body_of(frame);
    struct proto_host_hello hello;

    hello.lowest = proto_get_u16(&body);
    hello.highest = proto_get_u16(&body);
    proto_get_bytes(&body, hello.nonce, sizeof hello.nonce);
    if (ended(&body) < 0 || hello.lowest > hello.highest)
        return -EBADMSG;
    *ret = hello;
    return 0;
}

void proto_put_agent_hello(struct proto_out *out, const struct proto_agent_hello *hello,
                           const uint32_t *online, uint32_t n_online)
{
    proto_put_u16(out, hello->version);
    proto_put(out, hello->answers, sizeof hello->answers);
    proto_put(out, hello->nonce, sizeof hello->nonce);
    proto_put_u8(out, hello->needs_auth);
    proto_put_text(out, hello->agent);
    proto_put(out, hello->session, sizeof hello->session);
    proto_put_text(out, hello->release);
    proto_put_text(out, hello->machine);
    proto_put_text(out, hello->boot_id);
    proto_put_u32(out, hello->page_size);
    proto_put_u8(out, hello->long_size);
    proto_put_u8(out, hello->big_endian);
    proto_put_u32(out, hello->n_possible);
    put_cpus(out, online, n_online);
    proto_put_text(out, hello->clocks);
    proto_put_text(out, hello->clock);
}

int proto_get_agent_hello(const struct proto_frame *frame, struct proto_agent_hello *ret)
{
    struct proto_body body = body_of(frame);
    struct proto_agent_hello hello;

    hello.version = proto_get_u16(&body);
    proto_get_bytes(&body, hello.answers, sizeof hello.answers);
    proto_get_bytes(&body, hello.nonce, sizeof hello.nonce);
    hello.needs_auth = proto_get_bool(&body);
    hello.agent = proto_get_text(&body);
    proto_get_bytes(&body, hello.session, sizeof hello.session);
    hello.release = proto_get_text(&body);
    hello.machine = proto_get_text(&body);
    hello.boot_id = proto_get_text(&body);
    hello.page_size = proto_get_u32(&body);
    hello.long_size = proto_get_u8(&body);
    hello.big_endian = proto_get_bool(&body);
    hello.n_possible = proto_get_u32(&body);
    hello.online = get_cpus(&body);
    hello.clocks = proto_get_text(&body);
    hello.clock = proto_get_text(&body);
    if (ended(&body) < 0 || (hello.long_size != 4 && hello.long_size != 8) ||
        hello.n_possible > PROTO_CPUS_MAX)
        return -EBADMSG;
    *ret = hello;
    return 0;
}

int proto_get_auth(const struct proto_frame *frame, uint8_t ret_proof[SHA256_SIZE])
{
    if (frame->size != SHA256_SIZE)
        return -EBADMSG;
    memcpy(ret_proof, frame->body, SHA256_SIZE);
    return 0;
}

static void prove(const void *key, size_t key_size, const char *who, const uint8_t *first,
                  const uint8_t *second, uint8_t *ret_proof)
{
    struct hmac_sha256 hmac;

    hmac_sha256_init(&hmac, key, key_size);
    hmac_sha256_put(&hmac, who, strlen(who));
    hmac_sha256_put(&hmac, first, PROTO_NONCE_SIZE);
    hmac_sha256_put(&hmac, second, PROTO_NONCE_SIZE);
    hmac_sha256_end(&hmac, ret_proof);
}

void proto_host_proof(const void *key, size_t key_size, const uint8_t agent_nonce[PROTO_NONCE_SIZE],
                      const uint8_t host_nonce[PROTO_NONCE_SIZE], uint8_t ret_proof[SHA256_SIZE])
{
    prove(key, key_size, "strata host", agent_nonce, host_nonce, ret_proof);
}

void proto_agent_proof(const void *key, size_t key_size,
                       const uint8_t agent_nonce[PROTO_NONCE_SIZE],
                       const uint8_t host_nonce[PROTO_NONCE_SIZE], uint8_t ret_proof[SHA256_SIZE])
{
    prove(key, key_size, "strata agent", host_nonce, agent_nonce, ret_proof);
}

void proto_put_setup(struct proto_out *out, const struct proto_setup *setup)
{
    proto_put_u32(out, setup->buffer_kib);
    proto_put_u32(out, setup->queue_kib);
    proto_put_u32(out, setup->keep_seconds);
    proto_put_text(out, setup->clock);
    proto_put_u8(out, setup->level);
    proto_put_u8(out, setup->wants);
    proto_put_u32(out, setup->n_events);
}

void proto_put_setup_event(struct proto_out *out, const struct proto_setup_event *event)
{
    proto_put_text(out, event->event);
    proto_put_text(out, event->filter);
}

static void get_setup_event(struct proto_body *body, struct proto_setup_event *ret)
{
    ret->event = proto_get_text(body);
    ret->filter = proto_get_text(body);
}

int proto_get_setup(const struct proto_frame *frame, struct proto_setup *ret)
{
    struct proto_body body = body_of(frame);
    struct proto_setup_event event;
    struct proto_setup setup;

    setup.buffer_kib = proto_get_u32(&body);
    setup.queue_kib = proto_get_u32(&body);
    setup.keep_seconds = proto_get_u32(&body);
    setup.clock = proto_get_text(&body);
    setup.level = proto_get_u8(&body);
    setup.wants = proto_get_u8(&body);
    setup.n_events = proto_get_u32(&body);
    setup.events = body;
    if (body.bad || setup.level > 19 || setup.n_events > PROTO_EVENTS_MAX)
        return -EBADMSG;
    for (uint32_t i = 0; i < setup.n_events; i++)
        get_setup_event(&body, &event);
    if (ended(&body) < 0)
        return -EBADMSG;
    *ret = setup;
    return 0;
}

bool proto_setup_next(struct proto_setup *setup, struct proto_setup_event *ret)
{
    if (setup->events.next == setup->events.end)
        return false;
    get_setup_event(&setup->events, ret);
    return true;
}

void proto_put_meta(struct proto_out *out, const struct proto_meta_piece *meta)
{
    proto_put_u16(out, (uint16_t)meta->kind);
    proto_put_text(out, meta->path);
    proto_put_u8(out, meta->last);
}

int proto_get_meta(const struct proto_frame *frame, struct proto_meta_piece *ret)
{
    struct proto_body body = body_of(frame);
    struct proto_meta_piece meta;
    uint16_t kind = proto_get_u16(&body);

    meta.path = proto_get_text(&body);
    meta.last = proto_get_bool(&body);
    if (body.bad || kind < PROTO_META_FILE || kind > PROTO_META_FACT)
        return -EBADMSG;
    meta.kind = (enum proto_meta)kind;
    meta.p = body.next;
    meta.size = proto_body_left(&body);
    *ret = meta;
    return 0;
}

void proto_put_ready(struct proto_out *out, const struct proto_ready *ready, const uint32_t *cpus,
                     uint32_t n_cpus)
{
    proto_put_u32(out, ready->n_events);
    proto_put_text(out, ready->clock);
    proto_put_u64(out, ready->hz);
    proto_put_u32(out, ready->page_size);
    put_cpus(out, cpus, n_cpus);
}

int proto_get_ready(const struct proto_frame *frame, struct proto_ready *ret)
{
    struct proto_body body = body_of(frame);
    struct proto_ready ready;

    ready.n_events = proto_get_u32(&body);
    ready.clock = proto_get_text(&body);
    ready.hz = proto_get_u64(&body);
    ready.page_size = proto_get_u32(&body);
    ready.cpus = get_cpus(&body);
    if (ended(&body) < 0 || ready.page_size < 64 || ready.page_size > PROTO_BODY_MAX - 64)
        return -EBADMSG;
    *ret = ready;
    return 0;
}

int proto_get_time(const struct proto_frame *frame, uint64_t *ret_time)
{
    if (frame->size != 8)
        return -EBADMSG;
    *ret_time = load_le64(frame->body);
    return 0;
}

void proto_put_data(struct proto_out *out, const struct proto_data *data)
{
    proto_put_u32(out, data->cpu);
    proto_put_u32(out, data->n_pages);
    proto_put_u64(out, data->first);
}

struct proto_out proto_data_around(uint8_t *pages, const struct proto_data *data)
{
    struct proto_out out = proto_begin(pages - PROTO_DATA_ROOM, PROTO_DATA_ROOM + data->size);

    proto_put_data(&out, data);
    out.len += data->size;
    return out;
}

int proto_get_data(const struct proto_frame *frame, struct proto_data *ret)
{
    struct proto_body body = body_of(frame);
    struct proto_data data;

    data.cpu = get_cpu(&body);
    data.n_pages = proto_get_u32(&body);
    data.first = proto_get_u64(&body);
    data.pages = body.next;
    data.size = proto_body_left(&body);
    if (body.bad || data.n_pages == 0 || data.size == 0 || data.size % data.n_pages != 0 ||
        data.first > UINT64_MAX - data.n_pages)
        return -EBADMSG;
    *ret = data;
    return 0;
}

void proto_put_status(struct proto_out *out, const struct proto_status *status)
{
    proto_put_u64(out, status->time);
    proto_put_u32(out, status->n_cpus);
}

void proto_put_status_cpu(struct proto_out *out, const struct proto_status_cpu *cpu)
{
    proto_put_u32(out, cpu->cpu);
    proto_put_u8(out, cpu->online);
    proto_put_u64(out, cpu->pages_read);
    proto_put_u64(out, cpu->pages_sent);
    proto_put_u64(out, cpu->bytes_queued);
    proto_put_u64(out, cpu->times_full);
    proto_put_u64(out, cpu->entries);
    proto_put_u64(out, cpu->overrun);
    proto_put_u64(out, cpu->dropped);
    proto_put_u64(out, cpu->commit_overrun);
    proto_put_u64(out, cpu->read_events);
}

struct proto_status_cpu proto_status_at(const struct proto_status *status, uint32_t i)
{
    const uint8_t *p = status->cpus + i * STATUS_CPU_SIZE;

    return (struct proto_status_cpu){
        .cpu = load_le32(p),
        .online = p[4],
        .pages_read = load_le64(p + 5),
        .pages_sent = load_le64(p + 13),
        .bytes_queued = load_le64(p + 21),
        .times_full = load_le64(p + 29),
        .entries = load_le64(p + 37),
        .overrun = load_le64(p + 45),
        .dropped = load_le64(p + 53),
        .commit_overrun = load_le64(p + 61),
        .read_events = load_le64(p + 69),
    };
}

int proto_get_status(const struct proto_frame *frame, struct proto_status *ret)
{
    struct proto_body body = body_of(frame);
    struct proto_status status;

    status.time = proto_get_u64(&body);
    status.cpus = get_list(&body, PROTO_CPUS_MAX, STATUS_CPU_SIZE, &status.n_cpus);
    for (uint32_t i = 0; i < status.n_cpus; i++)
        if (proto_status_at(&status, i).cpu >= PROTO_CPUS_MAX ||
            status.cpus[i * STATUS_CPU_SIZE + 4] > 1)
            return -EBADMSG;
    if (ended(&body) < 0)
        return -EBADMSG;
    *ret = status;
    return 0;
}

void proto_put_ping(struct proto_out *out, const struct proto_ping *ping)
{
    proto_put_u64(out, ping->token);
    proto_put_u64(out, ping->host_time);
}

static struct proto_ping get_ping(struct proto_body *body)
{
    struct proto_ping ping;

    ping.token = proto_get_u64(body);
    ping.host_time = proto_get_u64(body);
    return ping;
}

int proto_get_ping(const struct proto_frame *frame, struct proto_ping *ret)
{
    struct proto_body body = body_of(frame);
    struct proto_ping ping = get_ping(&body);

    if (ended(&body) < 0)
        return -EBADMSG;
    *ret = ping;
    return 0;
}

int proto_get_flush(const struct proto_frame *frame, uint64_t *ret_token)
{
    return proto_get_time(frame, ret_token);
}

void proto_put_flushed(struct proto_out *out, const struct proto_flushed *flushed)
{
    proto_put_u64(out, flushed->token);
    proto_put_u64(out, flushed->time);
}

int proto_get_flushed(const struct proto_frame *frame, struct proto_flushed *ret)
{
    if (frame->size != 16)
        return -EBADMSG;
    *ret = (struct proto_flushed){load_le64(frame->body), load_le64(frame->body + 8)};
    return 0;
}

void proto_put_pong(struct proto_out *out, const struct proto_pong *pong)
{
    proto_put_ping(out, &pong->ping);
    proto_put_u64(out, pong->came);
    proto_put_u64(out, pong->sent);
    proto_put_u64(out, pong->monotonic_raw);
    proto_put_u64(out, pong->realtime);
}

int proto_get_pong(const struct proto_frame *frame, struct proto_pong *ret)
{
    struct proto_body body = body_of(frame);
    struct proto_pong pong;

    pong.ping = get_ping(&body);
    pong.came = proto_get_u64(&body);
    pong.sent = proto_get_u64(&body);
    pong.monotonic_raw = proto_get_u64(&body);
    pong.realtime = proto_get_u64(&body);
    if (ended(&body) < 0)
        return -EBADMSG;
    *ret = pong;
    return 0;
}

void proto_put_failed(struct proto_out *out, const struct proto_failed *failed)
{
    proto_put_u32(out, (uint32_t)failed->error);
    proto_put_text(out, failed->what);
    proto_put_text(out, failed->hint);
}

int proto_get_failed(const struct proto_frame *frame, struct proto_failed *ret)
{
    struct proto_body body = body_of(frame);
    struct proto_failed failed;

    failed.error = (int32_t)proto_get_u32(&body);
    failed.what = proto_get_text(&body);
    failed.hint = proto_get_text(&body);
    if (ended(&body) < 0 || failed.error < 0 || failed.error > 4095)
        return -EBADMSG;
    *ret = failed;
    return 0;
}

void proto_put_resume(struct proto_out *out, const struct proto_resume *resume)
{
    proto_put(out, resume->session, sizeof resume->session);
    proto_put_u32(out, resume->n_cpus);
}

void proto_put_resume_cpu(struct proto_out *out, uint32_t cpu, uint64_t next_page)
{
    proto_put_u32(out, cpu);
    proto_put_u64(out, next_page);
}

void proto_resume_at(const struct proto_resume *resume, uint32_t i, uint32_t *ret_cpu,
                     uint64_t *ret_next_page)
{
    const uint8_t *p = resume->cpus + i * RESUME_CPU_SIZE;

    *ret_cpu = load_le32(p);
    *ret_next_page = load_le64(p + 4);
}

int proto_get_resume(const struct proto_frame *frame, struct proto_resume *ret)
{
    struct proto_body body = body_of(frame);
    struct proto_resume resume;

    proto_get_bytes(&body, resume.session, sizeof resume.session);
    resume.cpus = get_list(&body, PROTO_CPUS_MAX, RESUME_CPU_SIZE, &resume.n_cpus);
    for (uint32_t i = 0; i < resume.n_cpus; i++)
        if (load_le32(resume.cpus + i * RESUME_CPU_SIZE) >= PROTO_CPUS_MAX)
            return -EBADMSG;
    if (ended(&body) < 0)
        return -EBADMSG;
    *ret = resume;
    return 0;
}

int proto_get_nothing(const struct proto_frame *frame)
{
    return frame->size == 0 ? 0 : -EBADMSG;
}
