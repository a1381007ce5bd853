/* SPDX-License-Identifier: MIT */
#include "link/message.h"

#include "base/macro.h"

#define STATUS_CPU_SIZE ((size_t)(4 + 1 + 9 * 8))
#define RESUME_CPU_SIZE ((size_t)12)

const char *link_type_name(uint16_t type)
{
    static const char *const names[] = {
        [LINK_HELLO] = "HELLO",     [LINK_AUTH] = "AUTH",     [LINK_SETUP] = "SETUP",
        [LINK_META] = "META",       [LINK_READY] = "READY",   [LINK_START] = "START",
        [LINK_STARTED] = "STARTED", [LINK_STOP] = "STOP",     [LINK_STOPPED] = "STOPPED",
        [LINK_DATA] = "DATA",       [LINK_STATUS] = "STATUS", [LINK_ASK_STATUS] = "ASK_STATUS",
        [LINK_PING] = "PING",       [LINK_PONG] = "PONG",     [LINK_FAILED] = "FAILED",
        [LINK_BYE] = "BYE",         [LINK_RESUME] = "RESUME",
    };

    return type < ARRAY_SIZE(names) ? names[type] : NULL;
}

int link_end(struct link_out *out, enum link_type type, uint64_t sequence)
{
    uint32_t size;

    if (out->full || out->len - LINK_HEADER_SIZE > LINK_BODY_MAX)
        return -E2BIG;
    size = (uint32_t)(out->len - LINK_HEADER_SIZE);
    link_frame_seal(out->start, (uint16_t)type, 0, size, size, sequence);
    return 0;
}

static struct link_body body_of(const struct link_frame *frame)
{
    return (struct link_body){frame->body, frame->body + frame->size, false};
}

/* All of it was read, and it made sense. */
static int ended(const struct link_body *body)
{
    return body->bad || body->next != body->end ? -EBADMSG : 0;
}

/* N × SIZE bytes, at most MAX of them. */
static const uint8_t *get_list(struct link_body *body, uint32_t max, size_t size, uint32_t *ret_n)
{
    uint32_t n = link_get_u32(body);
    const uint8_t *p;

    if (n > max)
        body->bad = true;
    p = link_get(body, body->bad ? 0 : n * size);
    *ret_n = p ? n : 0;
    return p;
}

static struct link_u32s get_cpus(struct link_body *body)
{
    struct link_u32s list;

    list.p = get_list(body, LINK_CPUS_MAX, 4, &list.n);
    for (uint32_t i = 0; i < list.n; i++)
        if (link_u32_at(&list, i) >= LINK_CPUS_MAX)
            body->bad = true;
    return list;
}

static void put_cpus(struct link_out *out, const uint32_t *cpus, uint32_t n)
{
    link_put_u32(out, n);
    for (uint32_t i = 0; i < n; i++)
        link_put_u32(out, cpus[i]);
}

static uint32_t get_cpu(struct link_body *body)
{
    uint32_t cpu = link_get_u32(body);

    if (cpu >= LINK_CPUS_MAX)
        body->bad = true;
    return cpu;
}

void link_put_host_hello(struct link_out *out, const struct link_host_hello *hello)
{
    link_put_u16(out, hello->lowest);
    link_put_u16(out, hello->highest);
    link_put(out, hello->nonce, sizeof hello->nonce);
}

int link_get_host_hello(const struct link_frame *frame, struct link_host_hello *ret)
{
    struct link_body body = body_of(frame);
    struct link_host_hello hello;

    hello.lowest = link_get_u16(&body);
    hello.highest = link_get_u16(&body);
    link_get_bytes(&body, hello.nonce, sizeof hello.nonce);
    if (ended(&body) < 0 || hello.lowest > hello.highest)
        return -EBADMSG;
    *ret = hello;
    return 0;
}

void link_put_agent_hello(struct link_out *out, const struct link_agent_hello *hello,
                          const uint32_t *online, uint32_t n_online)
{
    link_put_u16(out, hello->version);
    link_put(out, hello->answers, sizeof hello->answers);
    link_put(out, hello->nonce, sizeof hello->nonce);
    link_put_u8(out, hello->needs_auth);
    link_put_text(out, hello->agent);
    link_put(out, hello->session, sizeof hello->session);
    link_put_text(out, hello->release);
    link_put_text(out, hello->machine);
    link_put_text(out, hello->boot_id);
    link_put_u32(out, hello->page_size);
    link_put_u8(out, hello->long_size);
    link_put_u8(out, hello->big_endian);
    link_put_u32(out, hello->n_possible);
    put_cpus(out, online, n_online);
    link_put_text(out, hello->clocks);
    link_put_text(out, hello->clock);
}

int link_get_agent_hello(const struct link_frame *frame, struct link_agent_hello *ret)
{
    struct link_body body = body_of(frame);
    struct link_agent_hello hello;

    hello.version = link_get_u16(&body);
    link_get_bytes(&body, hello.answers, sizeof hello.answers);
    link_get_bytes(&body, hello.nonce, sizeof hello.nonce);
    hello.needs_auth = link_get_bool(&body);
    hello.agent = link_get_text(&body);
    link_get_bytes(&body, hello.session, sizeof hello.session);
    hello.release = link_get_text(&body);
    hello.machine = link_get_text(&body);
    hello.boot_id = link_get_text(&body);
    hello.page_size = link_get_u32(&body);
    hello.long_size = link_get_u8(&body);
    hello.big_endian = link_get_bool(&body);
    hello.n_possible = link_get_u32(&body);
    hello.online = get_cpus(&body);
    hello.clocks = link_get_text(&body);
    hello.clock = link_get_text(&body);
    if (ended(&body) < 0 || (hello.long_size != 4 && hello.long_size != 8) ||
        hello.n_possible > LINK_CPUS_MAX)
        return -EBADMSG;
    *ret = hello;
    return 0;
}

int link_get_auth(const struct link_frame *frame, uint8_t ret_proof[SHA256_SIZE])
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
    hmac_sha256_put(&hmac, first, LINK_NONCE_SIZE);
    hmac_sha256_put(&hmac, second, LINK_NONCE_SIZE);
    hmac_sha256_end(&hmac, ret_proof);
}

void link_host_proof(const void *key, size_t key_size, const uint8_t agent_nonce[LINK_NONCE_SIZE],
                     const uint8_t host_nonce[LINK_NONCE_SIZE], uint8_t ret_proof[SHA256_SIZE])
{
    prove(key, key_size, "strata host", agent_nonce, host_nonce, ret_proof);
}

void link_agent_proof(const void *key, size_t key_size, const uint8_t agent_nonce[LINK_NONCE_SIZE],
                      const uint8_t host_nonce[LINK_NONCE_SIZE], uint8_t ret_proof[SHA256_SIZE])
{
    prove(key, key_size, "strata agent", host_nonce, agent_nonce, ret_proof);
}

void link_put_setup(struct link_out *out, const struct link_setup *setup)
{
    link_put_u32(out, setup->buffer_kib);
    link_put_u32(out, setup->queue_kib);
    link_put_u32(out, setup->keep_seconds);
    link_put_text(out, setup->clock);
    link_put_u8(out, setup->level);
    link_put_u8(out, setup->wants);
    link_put_u32(out, setup->n_events);
}

void link_put_setup_event(struct link_out *out, const struct link_setup_event *event)
{
    link_put_text(out, event->event);
    link_put_text(out, event->filter);
}

static void get_setup_event(struct link_body *body, struct link_setup_event *ret)
{
    ret->event = link_get_text(body);
    ret->filter = link_get_text(body);
}

int link_get_setup(const struct link_frame *frame, struct link_setup *ret)
{
    struct link_body body = body_of(frame);
    struct link_setup_event event;
    struct link_setup setup;

    setup.buffer_kib = link_get_u32(&body);
    setup.queue_kib = link_get_u32(&body);
    setup.keep_seconds = link_get_u32(&body);
    setup.clock = link_get_text(&body);
    setup.level = link_get_u8(&body);
    setup.wants = link_get_u8(&body);
    setup.n_events = link_get_u32(&body);
    setup.events = body;
    if (body.bad || setup.level > 19 || setup.n_events > LINK_EVENTS_MAX)
        return -EBADMSG;
    for (uint32_t i = 0; i < setup.n_events; i++)
        get_setup_event(&body, &event);
    if (ended(&body) < 0)
        return -EBADMSG;
    *ret = setup;
    return 0;
}

bool link_setup_next(struct link_setup *setup, struct link_setup_event *ret)
{
    if (setup->events.next == setup->events.end)
        return false;
    get_setup_event(&setup->events, ret);
    return true;
}

void link_put_meta(struct link_out *out, const struct link_meta_piece *meta)
{
    link_put_u16(out, (uint16_t)meta->kind);
    link_put_text(out, meta->path);
    link_put_u8(out, meta->last);
}

int link_get_meta(const struct link_frame *frame, struct link_meta_piece *ret)
{
    struct link_body body = body_of(frame);
    struct link_meta_piece meta;
    uint16_t kind = link_get_u16(&body);

    meta.path = link_get_text(&body);
    meta.last = link_get_bool(&body);
    if (body.bad || kind < LINK_META_FILE || kind > LINK_META_FACT)
        return -EBADMSG;
    meta.kind = (enum link_meta)kind;
    meta.p = body.next;
    meta.size = link_body_left(&body);
    *ret = meta;
    return 0;
}

void link_put_ready(struct link_out *out, const struct link_ready *ready, const uint32_t *cpus,
                    uint32_t n_cpus)
{
    link_put_u32(out, ready->n_events);
    link_put_text(out, ready->clock);
    link_put_u64(out, ready->hz);
    link_put_u32(out, ready->page_size);
    put_cpus(out, cpus, n_cpus);
}

int link_get_ready(const struct link_frame *frame, struct link_ready *ret)
{
    struct link_body body = body_of(frame);
    struct link_ready ready;

    ready.n_events = link_get_u32(&body);
    ready.clock = link_get_text(&body);
    ready.hz = link_get_u64(&body);
    ready.page_size = link_get_u32(&body);
    ready.cpus = get_cpus(&body);
    if (ended(&body) < 0 || ready.page_size < 64 || ready.page_size > LINK_BODY_MAX - 64)
        return -EBADMSG;
    *ret = ready;
    return 0;
}

int link_get_time(const struct link_frame *frame, uint64_t *ret_time)
{
    if (frame->size != 8)
        return -EBADMSG;
    *ret_time = load_le64(frame->body);
    return 0;
}

void link_put_data(struct link_out *out, const struct link_data *data)
{
    link_put_u32(out, data->cpu);
    link_put_u32(out, data->n_pages);
    link_put_u64(out, data->first);
}

struct link_out link_data_around(uint8_t *pages, const struct link_data *data)
{
    struct link_out out = link_begin(pages - LINK_DATA_ROOM, LINK_DATA_ROOM + data->size);

    link_put_data(&out, data);
    out.len += data->size;
    return out;
}

int link_get_data(const struct link_frame *frame, struct link_data *ret)
{
    struct link_body body = body_of(frame);
    struct link_data data;

    data.cpu = get_cpu(&body);
    data.n_pages = link_get_u32(&body);
    data.first = link_get_u64(&body);
    data.pages = body.next;
    data.size = link_body_left(&body);
    if (body.bad || data.n_pages == 0 || data.size == 0 || data.size % data.n_pages != 0 ||
        data.first > UINT64_MAX - data.n_pages)
        return -EBADMSG;
    *ret = data;
    return 0;
}

void link_put_status(struct link_out *out, const struct link_status *status)
{
    link_put_u64(out, status->time);
    link_put_u32(out, status->n_cpus);
}

void link_put_status_cpu(struct link_out *out, const struct link_status_cpu *cpu)
{
    link_put_u32(out, cpu->cpu);
    link_put_u8(out, cpu->online);
    link_put_u64(out, cpu->pages_read);
    link_put_u64(out, cpu->pages_sent);
    link_put_u64(out, cpu->bytes_queued);
    link_put_u64(out, cpu->times_full);
    link_put_u64(out, cpu->entries);
    link_put_u64(out, cpu->overrun);
    link_put_u64(out, cpu->dropped);
    link_put_u64(out, cpu->commit_overrun);
    link_put_u64(out, cpu->read_events);
}

struct link_status_cpu link_status_at(const struct link_status *status, uint32_t i)
{
    const uint8_t *p = status->cpus + i * STATUS_CPU_SIZE;

    return (struct link_status_cpu){
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

int link_get_status(const struct link_frame *frame, struct link_status *ret)
{
    struct link_body body = body_of(frame);
    struct link_status status;

    status.time = link_get_u64(&body);
    status.cpus = get_list(&body, LINK_CPUS_MAX, STATUS_CPU_SIZE, &status.n_cpus);
    for (uint32_t i = 0; i < status.n_cpus; i++)
        if (link_status_at(&status, i).cpu >= LINK_CPUS_MAX ||
            status.cpus[i * STATUS_CPU_SIZE + 4] > 1)
            return -EBADMSG;
    if (ended(&body) < 0)
        return -EBADMSG;
    *ret = status;
    return 0;
}

void link_put_ping(struct link_out *out, const struct link_ping *ping)
{
    link_put_u64(out, ping->token);
    link_put_u64(out, ping->host_time);
}

static struct link_ping get_ping(struct link_body *body)
{
    struct link_ping ping;

    ping.token = link_get_u64(body);
    ping.host_time = link_get_u64(body);
    return ping;
}

int link_get_ping(const struct link_frame *frame, struct link_ping *ret)
{
    struct link_body body = body_of(frame);
    struct link_ping ping = get_ping(&body);

    if (ended(&body) < 0)
        return -EBADMSG;
    *ret = ping;
    return 0;
}

void link_put_pong(struct link_out *out, const struct link_pong *pong)
{
    link_put_ping(out, &pong->ping);
    link_put_u64(out, pong->came);
    link_put_u64(out, pong->sent);
    link_put_u64(out, pong->monotonic_raw);
    link_put_u64(out, pong->realtime);
}

int link_get_pong(const struct link_frame *frame, struct link_pong *ret)
{
    struct link_body body = body_of(frame);
    struct link_pong pong;

    pong.ping = get_ping(&body);
    pong.came = link_get_u64(&body);
    pong.sent = link_get_u64(&body);
    pong.monotonic_raw = link_get_u64(&body);
    pong.realtime = link_get_u64(&body);
    if (ended(&body) < 0)
        return -EBADMSG;
    *ret = pong;
    return 0;
}

void link_put_failed(struct link_out *out, const struct link_failed *failed)
{
    link_put_u32(out, (uint32_t)failed->error);
    link_put_text(out, failed->what);
    link_put_text(out, failed->hint);
}

int link_get_failed(const struct link_frame *frame, struct link_failed *ret)
{
    struct link_body body = body_of(frame);
    struct link_failed failed;

    failed.error = (int32_t)link_get_u32(&body);
    failed.what = link_get_text(&body);
    failed.hint = link_get_text(&body);
    if (ended(&body) < 0 || failed.error < 0 || failed.error > 4095)
        return -EBADMSG;
    *ret = failed;
    return 0;
}

void link_put_resume(struct link_out *out, const struct link_resume *resume)
{
    link_put(out, resume->session, sizeof resume->session);
    link_put_u32(out, resume->n_cpus);
}

void link_put_resume_cpu(struct link_out *out, uint32_t cpu, uint64_t next_page)
{
    link_put_u32(out, cpu);
    link_put_u64(out, next_page);
}

void link_resume_at(const struct link_resume *resume, uint32_t i, uint32_t *ret_cpu,
                    uint64_t *ret_next_page)
{
    const uint8_t *p = resume->cpus + i * RESUME_CPU_SIZE;

    *ret_cpu = load_le32(p);
    *ret_next_page = load_le64(p + 4);
}

int link_get_resume(const struct link_frame *frame, struct link_resume *ret)
{
    struct link_body body = body_of(frame);
    struct link_resume resume;

    link_get_bytes(&body, resume.session, sizeof resume.session);
    resume.cpus = get_list(&body, LINK_CPUS_MAX, RESUME_CPU_SIZE, &resume.n_cpus);
    for (uint32_t i = 0; i < resume.n_cpus; i++)
        if (load_le32(resume.cpus + i * RESUME_CPU_SIZE) >= LINK_CPUS_MAX)
            return -EBADMSG;
    if (ended(&body) < 0)
        return -EBADMSG;
    *ret = resume;
    return 0;
}

int link_get_nothing(const struct link_frame *frame)
{
    return frame->size == 0 ? 0 : -EBADMSG;
}
