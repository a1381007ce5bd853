/* SPDX-License-Identifier: MIT */
#include "event/xen_vcpu.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

#define VCPU_MAX 0xffff
#define DOMAIN_MAX 0x7fff /* so that the number is not negative */

void xen_vcpu_put(const struct origin *origin, int32_t vcpu, struct text *text)
{
    uint32_t domain = (uint32_t)vcpu >> 16;

    (void)origin;
    if (domain == XEN_IDLE_DOMAIN) {
        text_put_literal(text, "idlev");
    } else {
        text_put_char(text, 'd');
        text_put_u64(text, domain);
        text_put_char(text, 'v');
    }
    text_put_u64(text, (uint32_t)vcpu & VCPU_MAX);
}

/* Reads digits from *AT on, up to END. */
static int parse_digits(const char **at, const char *end, uint32_t max, uint32_t *ret)
{
    const char *p = *at;
    uint32_t value = 0;

    for (; p < end && *p >= '0' && *p <= '9' && value <= max; p++)
        value = value * 10 + (uint32_t)(*p - '0');
    if (p == *at || value > max)
        return -EINVAL;
    *at = p;
    *ret = value;
    return 0;
}

int xen_vcpu_parse(const char *name, size_t len, int32_t *ret_vcpu)
{
    static const char idle[] = "idle";
    const char *p = name, *end = name + len;
    uint32_t domain = XEN_IDLE_DOMAIN, vcpu;

    if (len > strlen(idle) && memcmp(name, idle, strlen(idle)) == 0)
        p += strlen(idle);
    else if (len == 0 || *p++ != 'd' || parse_digits(&p, end, DOMAIN_MAX, &domain) < 0)
        return -EINVAL;
    if (p == end || *p++ != 'v' || parse_digits(&p, end, VCPU_MAX, &vcpu) < 0 || p != end)
        return -EINVAL;
    *ret_vcpu = (int32_t)(domain << 16 | vcpu);
    return 0;
}
