/* sized.c - structures that begin with their size (sized.h). */
#include "host/sized.h"

#include <string.h>

static size_t size_of(const void *structure)
{
    size_t size;
    memcpy(&size, structure, sizeof size);
    return size;
}

void duo_sized_give(void *to, const void *known, size_t known_size)
{
    const size_t size = size_of(to);
    memcpy(to, known, size < known_size ? size : known_size);
    memcpy(to, &size, sizeof size);
}

duo_status duo_sized_take(void *known, size_t known_size, size_t least, const void *from)
{
    const size_t size = size_of(from);
    if (size < least) return DUO_ERR_SIZE;
    for (size_t i = known_size; i < size; i++)
        if (((const char *)from)[i] != 0) return DUO_ERR_UNSUPPORTED;
    const size_t taken = size < known_size ? size : known_size;
    memcpy(known, from, taken);
    memset((char *)known + taken, 0, known_size - taken);
    memcpy(known, &known_size, sizeof known_size);
    return DUO_OK;
}
