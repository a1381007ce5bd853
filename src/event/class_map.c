/* SPDX-License-Identifier: MIT */
#include "event/class_map.h"

#include <stdlib.h>
#include <string.h>

int class_map_enlarge(void *ref_array, unsigned *n, unsigned index, size_t size)
{
    size_t more = MAX((size_t)index + 1, (size_t)*n * 2);
    char *bigger;
    void *array;

    memcpy(&array, ref_array, sizeof array);
    bigger = realloc(array, more * size);
    if (!bigger)
        return -ENOMEM;
    memset(bigger + *n * size, 0, (more - *n) * size);
    memcpy(ref_array, &bigger, sizeof bigger);
    *n = (unsigned)more;
    return 0;
}
