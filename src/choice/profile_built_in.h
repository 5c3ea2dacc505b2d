/* profile_built_in.h - the profiles that come with the library. */
#ifndef DUO_PROFILE_BUILT_IN_H
#define DUO_PROFILE_BUILT_IN_H

#include "choice/profile.h"

/* A built-in profile by name: "h100", "h200" or "generic". NULL: there is none of this name. */
const duo_profile *duo_profile_built_in(const char *name);

/* ---- For the choice, which has the profile lock (profile_in_use.c) ---- */

/* The one whose CPU part is used: that of this host, and `why_not` is empty; or else the generic
 * one, with times for this host's kernels, and `why_not` says why none is of this host. */
const duo_profile *duo_built_in_of_host(char *why_not, size_t size);

/* Is it one that duo_built_in_of_host may return? */
bool duo_built_in_serves_hosts(const duo_profile *profile);

/* The one of this GPU; the H100's for any other GPU. Not before duo_built_in_of_host. */
const duo_profile *duo_built_in_of_gpu(const char *gpu);

#endif
