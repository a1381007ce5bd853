/* SPDX-License-Identifier: MIT */
#include "runtime/sinks/ctf_process.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/process/program.h"

void ctf_metadata_of_process(struct ctf_metadata *metadata)
{
    metadata->clock_kind = trace_clock_kind();
    metadata->program = program_name();
    metadata->pid = getpid();
}

int ctf_metadata_text(const struct ctf_metadata *metadata, uint32_t n_classes, char **ret,
                      size_t *ret_len)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);

    if (!f)
        return -ENOMEM;
    ctf_metadata_put_start(f, metadata);
    registry_lock();
    for (uint32_t id = 1; id <= n_classes; id++)
        ctf_metadata_put_class(f, class_by_id(id));
    registry_unlock();
    if (fclose(f) != 0 || !text) { /* glibc leaves no text where memory is out, and returns 0 */
        free(text);
        return -ENOMEM;
    }
    *ret = text;
    *ret_len = len;
    return 0;
}
