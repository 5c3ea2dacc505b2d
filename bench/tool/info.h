/* info.h - facts of this machine: as text in info.c, for programs in info_json.c. */
#ifndef DUO_INFO_H
#define DUO_INFO_H

#include <stdbool.h>

/* The variables that change what the library does; ends with NULL. */
extern const char *const duo_info_variables[];

/* Prints all as JSON; docs/dispatch.md has the keys. False, and said on stderr: no memory. */
bool duo_info_json(void);

#endif
