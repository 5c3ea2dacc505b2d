/* files.h - the files that a crossover writes, and their places. */
#ifndef DUO_CROSSOVER_FILES_H
#define DUO_CROSSOVER_FILES_H

#include "bench/crossover/crossover.h"
#include "choice/profile.h"

typedef struct duo_files {
    const char *profile;                  /* NULL: the user's own */
    bool named;                           /* --profile names it */
    char figures[4096];                   /* beside the profile; see figures.h */
    const char *csv, *plot;               /* NULL: beside the profile, if there is one */
    const char *json, *report, *markdown; /* NULL: none */
    bool no_profile;                      /* and no files beside it */
    bool no_files;                        /* only the profile and named files */
    bool json_alone;                      /* stdout has only the JSON */
} duo_files;

/* The path of a file beside a profile: PROFILE and the ending, for a profile PROFILE.ini or
 * PROFILE. False: the path is too long. */
bool duo_files_beside(const char *profile, const char *ending, char *path, size_t size);

/* Is this a name for a plot? */
bool duo_files_is_svg(const char *path);

/* Can the named files be written? To be asked before a long measurement. False: no, which was said
 * on stderr. */
bool duo_files_possible(const duo_files *files);

/* Finds the place of the profile; the GPU is known by now. False: there is none, which was said on
 * stderr. */
bool duo_files_find_profile(duo_files *files, const duo_crossover *x);

/* Makes the profile's folder, before a long measurement. False: the profile could not be written
 * there, which was said on stderr. */
bool duo_files_profile_possible(const duo_files *files);

/* Writes all files, and prints their names. On a noisy machine the profile becomes PROFILE.noisy,
 * and files beside it PROFILE.noisy.csv and so on: programs find only an idle machine's profile.
 * False, after a message: the machine was noisy, or a file could not be written. */
bool duo_files_write(const duo_crossover *x, const duo_files *files, const duo_profile *profile);

#endif
