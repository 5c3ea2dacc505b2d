/* static_program.c - does the program name a dynamic linker (static_program.h)? */
#define _GNU_SOURCE
#include "cpu/static_program.h"

#include <link.h>

/* The program itself is the first object. If it has a dynamic linker, it names that. */
static int has_interpreter(struct dl_phdr_info *object, size_t size, void *found)
{
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_INTERP) *(bool *)found = true;
    return 1; /* look at no other object */
}

bool duo_program_is_static(void)
{
    bool found = false;
    (void)dl_iterate_phdr(has_interpreter, &found);
    return !found;
}
