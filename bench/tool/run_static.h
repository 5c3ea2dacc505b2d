/* run_static.h - can a library be preloaded into a program? */
#ifndef DUO_TOOL_RUN_STATIC_H
#define DUO_TOOL_RUN_STATIC_H

#include <stdbool.h>

/* Is the program, found as execvp finds it, one that names no dynamic linker? False for scripts,
 * and where it cannot be read. */
bool duo_tool_program_is_static(const char *program);

#endif
