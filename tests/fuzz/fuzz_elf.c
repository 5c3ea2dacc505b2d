/*
 * fuzz_elf.c - the readers of ELF files against any bytes: the segments by which `duoblas run`
 * knows a static program, and the names by which the drop-in tells why no call comes.
 */
#define _GNU_SOURCE
#include "blas/unreached.c"

#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    object o = {.program = true};
    int count = 0;
    char *const bytes = malloc(size > 0 ? size : 1); /* aligned, and of its own length */
    require(bytes != NULL, "memory");
    if (size > 0) memcpy(bytes, data, size);
    const duo_elf f = {bytes, size};
    (void)duo_elf_is_dynamic(duo_elf_segments(&f, &count), count);
    read_tables(&o, &f);
    require(memchr(o.asks, '\0', sizeof o.asks) != NULL, "a name ends");
    require(memchr(o.has, '\0', sizeof o.has) != NULL, "a name ends");
    free(bytes);
    return 0;
}
