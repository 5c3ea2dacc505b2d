/* profile_files.h - the files of this machine's profiles: where they are, and reading them. */
#ifndef DUO_PROFILE_FILES_H
#define DUO_PROFILE_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "choice/profile.h"

/* ---- Where they are ---- */

enum { DUO_PROFILE_NAME = 300 };

/* The file's name for this CPU and a GPU ("none"): letters and digits of both, as in
 * "amd-epyc-9v84-family-25-model-17-stepping-1_nvidia-h100.ini". Machines may share a home, so each
 * kind of machine has a file of its own. */
const char *duo_profile_name(const char *gpu, char name[DUO_PROFILE_NAME]);

/* The place of the user's profile for this CPU and a GPU: $XDG_CONFIG_HOME/duoblas/profiles/NAME,
 * default ~/.config. False: there is no home, or the process may not trust its environment
 * (AT_SECURE). */
bool duo_profile_user_path(const char *gpu, char *path, size_t size);

/*
 * Calls `take` for the files that may serve, best first, until one is taken: the user's own, the
 * user's profile.ini of earlier versions, and the system's in $XDG_CONFIG_DIRS (default /etc/xdg),
 * each below duoblas/profiles/. With a GPU only files for this CPU and that GPU. With NULL, while
 * no GPU was looked at, files for this CPU and any GPU, in each folder the newest first. Returns
 * whether one was taken.
 */
typedef bool (*duo_profile_take)(const char *path, const char *whose, void *user);
bool duo_profile_search(const char *gpu, duo_profile_take take, void *user);

/* ---- Reading one ---- */

/*
 * Reads a profile from a file. It must be a regular file and not a link, of at most 1 MiB, owned by
 * root or this user and not writable by others, and its text must be right (duo_profile_parse). On
 * failure returns false with the reason in `why`.
 */
bool duo_profile_read(const char *path, duo_profile *profile, char *why, size_t why_size);

/* Was the profile measured on this CPU? */
bool duo_profile_of_this_cpu(const duo_profile *profile, char *why, size_t why_size);

/* Was it also measured by this major and minor version of the library? Its GPU part is checked when
 * a GPU is opened (duo_profile_check_gpu). */
bool duo_profile_fits(const duo_profile *profile, char *why, size_t why_size);

#endif
