/* profile_parse.h - the text of a profile file, read. */
#ifndef DUO_PROFILE_PARSE_H
#define DUO_PROFILE_PARSE_H

#include "choice/profile.h"

/*
 * Reads a profile from a string. Every line must be right: known, given once, in its range; in a
 * curve sizes grow and seconds do not fall; a section is whole. All values are finite, and survive
 * duo_profile_print and reading again. On failure returns false with the reason in `why`.
 */
bool duo_profile_parse(const char *text, duo_profile *profile, char *why, size_t why_size);

#endif
