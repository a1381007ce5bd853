/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "event/xen_vcpu.h"

static void test_names(void **state)
{
    static const struct {
        const char *name;
        int32_t vcpu;
    } names[] = {
        {"d0v0", 0},
        {"d1v2", 1 << 16 | 2},
        {"d32766v65535", 32766 << 16 | 65535},
        {"idlev3", XEN_IDLE_DOMAIN << 16 | 3},
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct text text = TEXT_IN_MEMORY;
        int32_t vcpu = -7;

        xen_vcpu_put(NULL, names[i].vcpu, &text);
        text_put_char(&text, '\0');
        assert_string_equal(text.start, names[i].name);
        text_done(&text);
        assert_int_equal(xen_vcpu_parse(names[i].name, strlen(names[i].name), &vcpu), 0);
        assert_int_equal(vcpu, names[i].vcpu);
    }
}

static void test_no_names(void **state)
{
    static const char *const names[] = {
        "",         "d",        "dv",   "d0",    "d0v",    "v0",   "d0v0 ", "d0v-1",        "d-1v0",
        "d32768v0", "d0v65536", "idle", "idlev", "idlex0", "x0v0", "d0x0",  "d4294967296v0"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int32_t vcpu = -7;

        assert_int_equal(xen_vcpu_parse(names[i], strlen(names[i]), &vcpu), -EINVAL);
        assert_int_equal(vcpu, -7);
    }
    /* No byte behind its length is looked at. */
    for (size_t len = 0; len < 4; len++) {
        int32_t vcpu;

        assert_int_equal(xen_vcpu_parse("d1v2", len, &vcpu), -EINVAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_no_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
