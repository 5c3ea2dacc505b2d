/* output.c - see output.h */
#define _GNU_SOURCE
#include "bench/tool/output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool complain(const char *path, const char *why)
{
    fprintf(stderr, "duoblas: cannot write %s: %s\n", path, why);
    return false;
}

bool duo_output_possible(const char *path)
{
    char copy[4096];
    struct stat status;
    if ((size_t)snprintf(copy, sizeof copy, "%s", path) >= sizeof copy)
        return complain(path, "the path is too long");
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return complain(path, "not a regular file");
    if (access(dirname(copy), W_OK | X_OK) != 0) return complain(path, strerror(errno));
    return true;
}

bool duo_output_open(duo_output *output, const char *path)
{
    output->file = NULL;
    const int length = snprintf(output->path, sizeof output->path, "%s", path);
    if (length < 0 || (size_t)length + 24 >= sizeof output->path)
        return complain(path, "the path is too long");
    snprintf(output->temporary, sizeof output->temporary, "%.4000s.%ld.tmp", path, (long)getpid());
    const int number =
        open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    output->file = number < 0 ? NULL : fdopen(number, "w");
    if (output->file != NULL) return true;
    const int problem = errno;
    if (number >= 0) {
        close(number);
        (void)unlink(output->temporary);
    }
    return complain(path, strerror(problem));
}

bool duo_output_close(duo_output *output, bool good)
{
    const bool whole = fflush(output->file) == 0 && !ferror(output->file);
    const bool closed = fclose(output->file) == 0;
    if (good && whole && closed && rename(output->temporary, output->path) == 0) return true;
    const int problem = errno;
    (void)unlink(output->temporary);
    return complain(output->path, good ? strerror(problem) : "it could not be made");
}
