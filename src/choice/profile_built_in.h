/* profile_built_in.h - the profiles that come with the library. */
#ifndef DUO_PROFILE_BUILT_IN_H
#define DUO_PROFILE_BUILT_IN_H

#include "choice/profile.h"

/* A built-in profile by name: "h100", "h200" or "generic". NULL: there is none of this name. */
const duo_profile *duo_profile_built_in(const char *name);

/* ---- For the choice, which has the profile lock (profile_in_use.c) ---- */

/* The profile for the CPU part: this host's, with an empty `why_not`; or else the generic one, with
 * times for this host's kernels, and `why_not` says why none is this host's. */
const duo_profile *duo_built_in_of_host(char *why_not, size_t size);

/* May duo_built_in_of_host return this profile? */
bool duo_built_in_serves_hosts(const duo_profile *profile);

/* The profile of this GPU; for an unknown GPU the H100's. Not before duo_built_in_of_host. */
const duo_profile *duo_built_in_of_gpu(const char *gpu);

#endif
