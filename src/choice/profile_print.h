/* profile_print.h - the text of a profile file, written. */
#ifndef DUO_PROFILE_PRINT_H
#define DUO_PROFILE_PRINT_H

#include <stdio.h>

#include "choice/profile.h"

/* Writes the text. Characters of a name that have a meaning in the format become commas. */
void duo_profile_print(const duo_profile *profile, FILE *file);

#endif
