/* SPDX-License-Identifier: MIT */
/* What is read in the XML of a domain of libvirt: the socket of a port, in whole documents and in torn ones. */

#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "control/libvirt_xml.h"

#define AGENT "org.strata.agent"

static const char domain[] =
    "<domain type='qemu' id='1'>\n"
    "  <name>web</name>\n"
    "  <devices>\n"
    "    <disk type='file'><source file='/a'/><target dev='vda' bus='virtio'/></disk>\n"
    "    <channel type='unix'>\n"
    "      <source mode='bind' path='/run/other'/>\n"
    "      <target type='virtio' name='org.qemu.guest_agent.0' state='disconnected'/>\n"
    "    </channel>\n"
    "    <!-- <channel><source path='/no'/><target name='org.strata.agent'/></channel> -->\n"
    "    <channel type='unix'>\n"
    "      <source mode='bind' path='/run/a &gt; &amp;&apos;b&quot;'/>\n"
    "      <target type='virtio' name='org.strata.agent' state='disconnected'/>\n"
    "      <alias name='channel1'/>\n"
    "    </channel>\n"
    "  </devices>\n"
    "</domain>\n";

static void test_port(void **state)
{
    char *path = NULL, *id = NULL;

    (void)state;
    assert_int_equal(libvirt_xml_port(domain, AGENT, &path, &id), 1);
    assert_string_equal(path, "/run/a > &'b\"");
    assert_string_equal(id, "channel1");
    free(path);
    free(id);
    id = NULL;
    assert_int_equal(libvirt_xml_port(domain, "org.qemu.guest_agent.0", &path, &id), 1);
    assert_string_equal(path, "/run/other");
    free(path);
    assert_int_equal(libvirt_xml_port(domain, "org.qemu", &path, &id), 0);
}

/* A channel without a path, a path of another device, and what is no XML. */
static void test_none(void **state)
{
    static const char *const texts[] = {
        "",
        "<",
        "<channel",
        "<channel/><source path='/a'/><target name='org.strata.agent'/></channel>",
        "<channel><source mode='bind'/><target name='org.strata.agent'/></channel>",
        "<source path='/a'/><target name='org.strata.agent'/>",
        "<channel><source path=/a/><target name='org.strata.agent'/></channel>",
        "<channel><source path='/a><target name='org.strata.agent'/></channel>",
        "<channel><source xpath='/a'/><target name='org.strata.agent'/></channel>",
        "<!-- <channel><source path='/a'/><target name='org.strata.agent'/></channel>",
    };

    static const char other[] = "<channel><source path='/a'/></channel>"
                                "<channel><target name='org.strata.agent'/></channel>";
    char *none = NULL, *id = NULL;

    (void)state;
    assert_int_equal(libvirt_xml_port(other, AGENT, &none, &id), 0);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char *path = NULL;

        assert_int_equal(libvirt_xml_port(texts[i], AGENT, &path, &id), 0);
        assert_null(path);
    }
}

/* However it is torn, nothing after the end is read. */
static void test_torn(void **state)
{
    const char *end = strstr(domain, "</channel>\n  </devices>") + strlen("</channel>");

    (void)state;
    for (size_t n = 0; n < sizeof domain; n++) {
        char *torn = strndup(domain, n), *path = NULL, *id = NULL;

        assert_non_null(torn);
        assert_int_equal(libvirt_xml_port(torn, AGENT, &path, &id), domain + n >= end);
        free(path);
        free(id);
        free(torn);
    }
}

/* What is written is read again. */
static void test_channel(void **state)
{
    char *xml = libvirt_xml_channel(NULL, AGENT), *path = NULL, *id = NULL;

    (void)state;
    assert_string_equal(xml, "<channel type='unix'><source mode='bind'/>"
                             "<target type='virtio' name='org.strata.agent'/></channel>");
    free(xml);
    xml = libvirt_xml_channel("/run/<a>'&\"/b", AGENT);
    assert_int_equal(libvirt_xml_port(xml, AGENT, &path, &id), 1);
    assert_string_equal(path, "/run/<a>'&\"/b");
    assert_null(id);
    free(path);
    free(xml);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_port),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_torn),
        cmocka_unit_test(test_channel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
