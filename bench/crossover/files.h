/* files.h - the files that a crossover leaves, and where. */
#ifndef DUO_CROSSOVER_FILES_H
#define DUO_CROSSOVER_FILES_H

#include "bench/crossover/crossover.h"
#include "choice/profile.h"

typedef struct duo_files {
    const char *profile;       /* NULL: the user's own */
    bool named;                /* the profile, by --profile */
    char figures[4096];        /* beside the profile: figures.h */
    const char *csv, *plot;    /* NULL: beside the profile, if there is one */
    const char *json, *report; /* NULL: none */
    bool no_profile;           /* nor anything beside it */
    bool no_files;             /* none but the profile and those that are named */
    bool json_alone;           /* on stdout, and nothing else there */
} duo_files;

/* A file beside a profile: PROFILE and the ending, for PROFILE.ini and for PROFILE. False: the path
 * is too long. */
bool duo_files_beside(const char *profile, const char *ending, char *path, size_t size);

/* Can a plot have this name? */
bool duo_files_is_svg(const char *path);

/* Could those that are named be written? False, and said on stderr, if not. For before a long
 * measurement. */
bool duo_files_possible(const duo_files *files);

/* Finds out where the profile goes, once it is known which GPU is here. False, and said on stderr:
 * there is no such place. */
bool duo_files_find_profile(duo_files *files, const duo_crossover *x);

/* Makes the profile's folder. False, and said on stderr: the profile could not be written there.
 * For before a long measurement. */
bool duo_files_profile_possible(const duo_files *files);

/* Writes all, and says where. On a noisy machine the profile goes to PROFILE.noisy, and what stands
 * beside it to PROFILE.noisy.csv and so on: only an idle machine's is put where programs look for
 * it. False, and said: that is so, or one could not be written. */
bool duo_files_write(const duo_crossover *x, const duo_files *files, const duo_profile *profile);

#endif
