/* profile_file.h - profiles as files. */
#ifndef DUO_PROFILE_FILE_H
#define DUO_PROFILE_FILE_H

#include "choice/profile.h"

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

/* Makes the folders on the way to a path. False: one is missing, and errno says why. */
bool duo_profile_make_folders(const char *path);

/* Writes the file whole or not at all: a temporary file beside it is flushed, then renamed. The
 * folders on the way to it are made. */
bool duo_profile_write(const duo_profile *profile, const char *path, char *why, size_t why_size);

#endif
