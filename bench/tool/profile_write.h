/* profile_write.h - profiles, written: the library only reads them. */
#ifndef DUO_TOOL_PROFILE_WRITE_H
#define DUO_TOOL_PROFILE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "choice/profile.h"

/* Writes the text. Characters of a name that have a meaning in the format become commas. */
void duo_profile_print(const duo_profile *profile, FILE *file);

/* Makes the folders on the way to a path. False: one is missing, and errno says why. */
bool duo_profile_make_folders(const char *path);

/* Writes the file whole or not at all: a temporary file beside it is flushed, then renamed. The
 * folders on the way to it are made. */
bool duo_profile_write(const duo_profile *profile, const char *path, char *why, size_t why_size);

#endif
