/*
 * private_library.h - a shared library as an instance of our own.
 *
 * The loader tells libraries apart by file and by name, so all users of a library in a process
 * share its settings and its threads. A copy of the file, without the name that is stored in it, is
 * another library to the loader: nobody else sees its settings, and nobody who asks for the library
 * by name gets this copy.
 */
#ifndef DUO_PRIVATE_LIBRARY_H
#define DUO_PRIVATE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* The file that dlopen(name) would open or has opened already. False: none is found without opening
 * it, though the loader may find one in its cache. */
bool duo_library_file(const char *name, char *path, size_t size);

/* False: it is a path of what cannot be a library. To open a FIFO takes for ever, to read through a
 * huge sparse file nearly. */
bool duo_library_may_be(const char *name);

/* Does the file contain this text? */
bool duo_library_mentions(const char *path, const char *text);

/*
 * RTLD_DEEPBIND, by which a library finds its own functions before the program's of the same names;
 * 0 where malloc is not the C library's. Then a deeply bound library would free what another malloc
 * has given; and sanitizers, which bring a malloc, end the process where they see that flag.
 */
int duo_library_deep(void);

/*
 * Opens a copy of the file with dlopen's flags. While the library starts, these variables
 * (NAME=value, NULL after the last) are added to the environment. The copy takes as much memory as
 * the file has bytes; it is sealed, and its descriptor is none of the standard streams'. NULL, and
 * why: the system refuses, or the process's limit of file sizes does.
 */
void *duo_private_library_open(const char *path, int flags, const char *const variables[],
                               char *why, size_t why_size);
/* Ends what was opened, and gives its memory back. */
void duo_private_library_close(void *handle);

#endif
