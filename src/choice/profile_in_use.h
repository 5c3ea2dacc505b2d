/* profile_in_use.h - the profile that serves this process, and why; the built-in ones. */
#ifndef DUO_PROFILE_IN_USE_H
#define DUO_PROFILE_IN_USE_H

#include "choice/profile.h"

/*
 * The profile in use: the file named by DUOBLAS_PROFILE, else the first file that fits among the
 * user's and the system's (profile_files.h), else a built-in profile. It is loaded once and never
 * NULL; when a GPU is opened, a file for this CPU and that GPU takes its place. duo_profile_why
 * tells in one line how it was chosen, and which of its parts come from elsewhere.
 *
 * If a file fits (duo_profile_fits), all of it is used. Figures of several threads are scaled to
 * any other number of threads. Missing parts come from the built-in profile of this host, if there
 * is one: with this host's CPU and number of threads. Otherwise they come from the generic profile,
 * and only the GPU part of the other built-in profiles is used.
 */
const duo_profile *duo_profile_in_use(void);
const char *duo_profile_why(void);

/* The part of the profile in use that was measured on this machine as it is now; nothing is
 * borrowed. NULL: the profile in use is a built-in one. */
const duo_profile *duo_profile_measured(void);

/* A GPU of this name was opened. If the profile in use is for another GPU, a file for this one
 * takes its place, or at least it gets the GPU part of the built-in profile for this GPU. */
void duo_profile_check_gpu(const char *gpu);

/* For tests: forget the profile in use, so that the next call loads one again; or use this one. */
void duo_profile_reset(void);
void duo_profile_use(const duo_profile *profile);

/* ---- Built-in profiles ---- */

/* A built-in profile by name: "h100", "h200" or "generic". NULL: there is none of this name. */
const duo_profile *duo_profile_built_in(const char *name);

#endif
