/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/macro.h"
#include "format/ctf/type.h"

enum ctf_role ctf_role_of(const char *name)
{
    static const struct {
        const char *name;
        enum ctf_role role;
    } roles[] = {
        {"magic", CTF_ROLE_MAGIC},
        {"uuid", CTF_ROLE_UUID},
        {"stream_id", CTF_ROLE_STREAM_ID},
        {"timestamp_begin", CTF_ROLE_BEGIN},
        {"timestamp_end", CTF_ROLE_END},
        {"content_size", CTF_ROLE_CONTENT_SIZE},
        {"packet_size", CTF_ROLE_PACKET_SIZE},
        {"packet_seq_num", CTF_ROLE_SEQUENCE},
        {"events_discarded", CTF_ROLE_DISCARDED},
        {"cpu_id", CTF_ROLE_CPU},
        {"id", CTF_ROLE_ID},
        {"timestamp", CTF_ROLE_TIMESTAMP},
        {"tid", CTF_ROLE_TID},
        {"vtid", CTF_ROLE_TID},
        {"pid", CTF_ROLE_PID},
        {"vpid", CTF_ROLE_PID},
        {"thread_name", CTF_ROLE_TASK_NAME},
        {"procname", CTF_ROLE_TASK_NAME},
        {"vcpu", CTF_ROLE_VCPU},
    };

    for (size_t i = 0; i < ARRAY_SIZE(roles); i++)
        if (strcmp(roles[i].name, name) == 0)
            return roles[i].role;
    return CTF_ROLE_NONE;
}
