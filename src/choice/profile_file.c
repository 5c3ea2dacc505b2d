/* profile_file.c - profiles as files. */
#define _GNU_SOURCE
#include "choice/profile_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "choice/profile_parse.h"
#include "choice/profile_print.h"
#include "host/machine.h"

enum { LARGEST_FILE_BYTES = 1 << 20 };

/* ---- Reading ---- */

/* Why the file cannot be trusted; NULL: it can. */
static const char *distrusted(int file, struct stat *status)
{
    if (fstat(file, status) != 0) return strerror(errno);
    if (!S_ISREG(status->st_mode)) return "not a regular file";
    if (status->st_size > LARGEST_FILE_BYTES) return "too large";
    if (status->st_uid != 0 && status->st_uid != geteuid()) return "owned by somebody else";
    if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others may write to it";
    return NULL;
}

/* Fills the text, which has room for size + 1; false: the file is shorter, or no text. */
static bool read_whole(int file, char *text, size_t size)
{
    size_t length = 0;
    for (ssize_t got; length < size; length += (size_t)got) {
        got = read(file, text + length, size - length);
        if (got <= 0) break;
    }
    text[length] = '\0';
    return length == size && strlen(text) == size;
}

bool duo_profile_read(const char *path, duo_profile *profile, char *why, size_t why_size)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) {
        snprintf(why, why_size, "%s", strerror(errno));
        return false;
    }
    struct stat status;
    const char *problem = distrusted(file, &status);
    char *const text = problem == NULL ? malloc((size_t)status.st_size + 1) : NULL;
    if (problem == NULL && text == NULL) problem = "out of memory";
    if (problem == NULL && !read_whole(file, text, (size_t)status.st_size))
        problem = "not a text file";
    close(file);
    if (problem != NULL) snprintf(why, why_size, "%s", problem);
    const bool good = problem == NULL && duo_profile_parse(text, profile, why, why_size);
    if (good) snprintf(profile->origin, sizeof profile->origin, "%s", path);
    free(text);
    return good;
}

bool duo_profile_of_this_cpu(const duo_profile *profile, char *why, size_t why_size)
{
    if (strcmp(profile->cpu, duo_machine_cpu()) != 0 ||
        strcmp(profile->cpu_id, duo_machine_cpu_id()) != 0) {
        snprintf(why, why_size, "measured on another CPU (%s, %s)", profile->cpu, profile->cpu_id);
        return false;
    }
    return true;
}

bool duo_profile_fits(const duo_profile *profile, char *why, size_t why_size)
{
    char version[32];
    snprintf(version, sizeof version, "%d.%d.", DUO_VERSION_MAJOR, DUO_VERSION_MINOR);
    if (strncmp(profile->version, version, strlen(version)) != 0) {
        snprintf(why, why_size, "made by version %s", profile->version);
        return false;
    }
    return duo_profile_of_this_cpu(profile, why, why_size);
}

/* ---- Writing ---- */

static bool make_folder(const char *path)
{
    struct stat status;
    if (mkdir(path, 0700) == 0) return true;
    const int why = errno;
    const bool there = stat(path, &status) == 0;
    errno = there ? ENOTDIR : why;
    return there && S_ISDIR(status.st_mode);
}

bool duo_profile_make_folders(const char *path)
{
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = folder + strspn(folder, "/");
    while ((slash = strchr(slash, '/')) != NULL) {
        *slash = '\0';
        if (!make_folder(folder)) return false;
        *slash++ = '/';
    }
    return true;
}

bool duo_profile_write(const duo_profile *profile, const char *path, char *why, size_t why_size)
{
    char temporary[4096];
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid()) >=
        sizeof temporary) {
        snprintf(why, why_size, "the path is too long");
        return false;
    }
    const bool there = duo_profile_make_folders(path);
    const int number =
        there ? open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644) : -1;
    FILE *const file = number < 0 ? NULL : fdopen(number, "w");
    if (file == NULL) {
        snprintf(why, why_size, "%s", strerror(errno));
        if (number >= 0) close(number);
        return false;
    }
    duo_profile_print(profile, file);
    bool good =
        fflush(file) == 0 && ferror(file) == 0 && fchmod(number, 0644) == 0 && fsync(number) == 0;
    good = fclose(file) == 0 && good;
    good = good && rename(temporary, path) == 0;
    if (!good) {
        snprintf(why, why_size, "%s", strerror(errno));
        (void)unlink(temporary);
    }
    return good;
}
