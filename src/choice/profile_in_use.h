/* profile_in_use.h - which profile serves this process, and why. */
#ifndef DUO_PROFILE_IN_USE_H
#define DUO_PROFILE_IN_USE_H

#include "choice/profile.h"

/*
 * The profile in use: DUOBLAS_PROFILE, else the user's own ($XDG_CONFIG_HOME/duoblas/profile.ini,
 * default ~/.config), else a built-in one. Loaded once; never NULL. `why`: one line on how it was
 * chosen, and which of its parts come from elsewhere.
 *
 * Of a file whose signature fits (duo_profile_fits) all is used but the curves of sgemm through
 * another inner BLAS, or through other kernels of it. Figures of several threads hold for any
 * number: they are scaled. What is missing, or is not used, is that of the built-in profile of this
 * host, if there is one: its CPU, inner BLAS, kernels and number of threads are the same. Else it
 * is the generic one's, and of the other built-in profiles the GPU part alone is used.
 */
const duo_profile *duo_profile_in_use(void);
const char *duo_profile_why(void);

/* What the profile in use has that was measured on this machine, as it now is: nothing borrowed.
 * NULL: it is a built-in one. */
const duo_profile *duo_profile_measured(void);

/* The default path of the user's profile in `path`; false where there is none (no home, AT_SECURE).
 */
bool duo_profile_user_path(char *path, size_t size);

/* A GPU of this name was opened: where the profile in use is of another GPU, its GPU part is
 * replaced by that of the built-in profile for this one. */
void duo_profile_check_gpu(const char *gpu);

/* Built-in by name: "h100", "h200" or "generic". NULL: no such. */
const duo_profile *duo_profile_built_in(const char *name);

/* For tests: forget the profile in use, so that the next call loads again; or use this one. */
void duo_profile_reset(void);
void duo_profile_use(const duo_profile *profile);

#endif
