/*
 * private_library.h - a shared library as an instance of our own.
 *
 * The loader tells libraries apart by file and by name, so all users of a library in a process
 * share its settings and its threads. A copy of the file, without the name that is stored in it, is
 * another library to the loader: others do not see its settings, and do not get this copy when they
 * ask for the library by name.
 */
#ifndef DUO_PRIVATE_LIBRARY_H
#define DUO_PRIVATE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* The file that dlopen(name) would open or has opened already. False: none is found without opening
 * it, though the loader may find one in its cache. */
bool duo_library_file(const char *name, char *path, size_t size);

/* False: the path cannot be a library's. Opening a FIFO takes for ever, reading a huge sparse file
 * nearly so. */
bool duo_library_may_be(const char *name);

/* Does the file contain this text? */
bool duo_library_mentions(const char *path, const char *text);

/*
 * RTLD_DEEPBIND: a library finds its own functions before the program's with the same names. 0 if
 * malloc is not the C library's: then a deeply bound library would free memory of another malloc;
 * and sanitizers, which bring a malloc, end the process if they see that flag.
 */
int duo_library_deep(void);

/*
 * Opens a copy of the file with dlopen's flags. While the library starts, these variables
 * (NAME=value, NULL after the last) are added to the environment. The copy takes as much memory as
 * the file has bytes; it is sealed, and its descriptor is no standard stream's. NULL, and why: the
 * system or the process's limit of file sizes refuses it.
 */
void *duo_private_library_open(const char *path, int flags, const char *const variables[],
                               char *why, size_t why_size);
/* Closes the library, and gives its memory back. */
void duo_private_library_close(void *handle);

/* Is this program linked statically, without a dynamic linker? */
bool duo_program_is_static(void);

#endif
