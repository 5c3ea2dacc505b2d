/*
 * profiles.h - profile files in the test's own folder: a good one, its text, and checks for damaged
 * ones.
 */
#ifndef DUO_TESTS_PROFILES_H
#define DUO_TESTS_PROFILES_H

#include <stdbool.h>
#include <stddef.h>

#include "choice/profile.h"

/* The path of a file in the test's folder; the string lives until the 64th call after this one. */
const char *in_folder(const char *name);
int entries(void); /* files in the test's folder */
void write_bytes(const char *path, const void *bytes, size_t count);
char *read_text(const char *path); /* to be freed */

/* A profile of this machine, with every number different. */
const duo_profile *good_profile(void);
char *good_text(void); /* the text of its file, good.ini in the folder; to be freed */
void check_equal(const duo_profile *got, const duo_profile *want);

/* The text with the first `from` replaced; to be freed. */
char *replaced(const char *text, const char *from, const char *to);

/* Can the cost model use every number in it? */
bool sane(const duo_profile *p);

#endif
