/* static_program.h - is this program linked statically, without a dynamic linker? */
#ifndef DUO_STATIC_PROGRAM_H
#define DUO_STATIC_PROGRAM_H

#include <stdbool.h>

bool duo_program_is_static(void);

#endif
