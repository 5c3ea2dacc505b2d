/* run_static.c - is a program file linked statically (run_static.h)? */
#define _GNU_SOURCE
#include "bench/tool/run_static.h"

#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Opens the file that execvp would run; NULL: there is none. */
static FILE *open_program(const char *program)
{
    const char *folder = getenv("PATH");
    if (strchr(program, '/') != NULL || folder == NULL) return fopen(program, "rbe");
    while (true) {
        const char *const end = strchrnul(folder, ':');
        char path[PATH_MAX];
        const int length = snprintf(path, sizeof path, "%.*s%s%s", (int)(end - folder), folder,
                                    end > folder ? "/" : "", program);
        if (length < PATH_MAX && access(path, X_OK) == 0) return fopen(path, "rbe");
        if (*end == '\0') return NULL;
        folder = end + 1;
    }
}

bool duo_tool_program_is_static(const char *program)
{
    Elf64_Ehdr head;
    Elf64_Phdr part;
    FILE *const file = open_program(program);
    if (file == NULL) return false;
    bool is_static = fread(&head, sizeof head, 1, file) == 1 &&
                     memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
                     head.e_ident[EI_CLASS] == ELFCLASS64;
    for (int i = 0; is_static && i < head.e_phnum; i++) {
        const long place = (long)head.e_phoff + (long)i * head.e_phentsize;
        is_static = fseek(file, place, SEEK_SET) == 0 && fread(&part, sizeof part, 1, file) == 1 &&
                    part.p_type != PT_INTERP;
    }
    fclose(file);
    return is_static;
}
