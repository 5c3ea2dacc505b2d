/* profile_text.h - the text of a profile file, read and written. */
#ifndef DUO_PROFILE_TEXT_H
#define DUO_PROFILE_TEXT_H

#include <stdio.h>

#include "choice/profile.h"

/* The format that is written; that before it, which does not say how each operation was measured,
 * is read as well. */
enum { DUO_PROFILE_FORMAT = 4 };

/*
 * Reads a profile from a string. Every line must be right: known, given once, in its range; in a
 * curve sizes grow and seconds do not fall; a section is whole. What is read is finite, and what
 * duo_profile_print makes of it is read as the same. On failure returns false with the reason in
 * `why`.
 */
bool duo_profile_parse(const char *text, duo_profile *profile, char *why, size_t why_size);

/* Writes the text. Characters of a name that have a meaning in the format become commas. */
void duo_profile_print(const duo_profile *profile, FILE *file);

#endif
