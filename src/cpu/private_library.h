/*
 * private_library.h - a shared library as an instance of our own.
 *
 * The loader knows libraries by file and by name, so that all users of one in a process share its
 * settings and its threads. A copy of the file without a name is another library to it: what is set
 * there nobody else sees, and nobody who asks for the library by name is given ours.
 */
#ifndef DUO_PRIVATE_LIBRARY_H
#define DUO_PRIVATE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* The file that dlopen(name) would open, or has opened already; false: none, as far as can be told
 * without opening it. */
bool duo_library_file(const char *name, char *path, size_t size);

/* Does the file hold this text? */
bool duo_library_mentions(const char *path, const char *text);

/*
 * Opens a copy of the file, with dlopen's flags and with these variables (NAME=value, NULL after
 * the last) added to the environment while it starts. The copy is in memory, as large as the file.
 * NULL, and why, where the system does not let us.
 */
void *duo_private_library_open(const char *path, int flags, const char *const variables[],
                               char *why, size_t why_size);

#endif
