/* profile_files.c - where the files of this machine's profiles are, and reading them. */
#define _GNU_SOURCE
#include "choice/profile_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "choice/profile_text.h"
#include "host/machine.h"

enum { PATH = 4096 };

/* ---- Names ---- */

/* Appends the text's letters, in lower case, and digits; anything between them becomes one '-'. */
static void append(char name[DUO_PROFILE_NAME], const char *text)
{
    size_t used = strlen(name);
    for (; *text != '\0' && used + 2 < DUO_PROFILE_NAME - strlen(".ini"); text++) {
        const unsigned char c = (unsigned char)*text;
        if (c < 128 && isalnum(c))
            name[used++] = (char)tolower(c);
        else if (used > 0 && isalnum((unsigned char)name[used - 1]))
            name[used++] = '-';
    }
    while (used > 0 && name[used - 1] == '-') used--;
    name[used] = '\0';
}

/* The beginning of the names of this CPU's profiles. */
static const char *cpu_name(char name[DUO_PROFILE_NAME])
{
    name[0] = '\0';
    append(name, duo_machine_cpu());
    strcat(name, "-");
    append(name, duo_machine_cpu_id());
    return strcat(name, "_");
}

const char *duo_profile_name(const char *gpu, char name[DUO_PROFILE_NAME])
{
    append((char *)cpu_name(name), gpu);
    return strcat(name, ".ini");
}

/* ---- Folders ---- */

/* The user's folder, DUOBLAS below it. */
static bool user_folder(char *path, size_t size)
{
    const char *const config = secure_getenv("XDG_CONFIG_HOME");
    const char *const home = secure_getenv("HOME");
    int length = -1;
    if (config != NULL && config[0] == '/')
        length = snprintf(path, size, "%s/duoblas", config);
    else if (home != NULL && home[0] == '/')
        length = snprintf(path, size, "%s/.config/duoblas", home);
    return (size_t)length < size; /* -1 counts as too long */
}

bool duo_profile_user_path(const char *gpu, char *path, size_t size)
{
    char folder[PATH], name[DUO_PROFILE_NAME];
    if (!user_folder(folder, sizeof folder)) return false;
    const int length = snprintf(path, size, "%s/profiles/%s", folder, duo_profile_name(gpu, name));
    return (size_t)length < size;
}

/* ---- Searching ---- */

typedef struct candidate {
    char name[DUO_PROFILE_NAME];
    struct timespec changed;
} candidate;

/* Is `a` younger, or of the same age with a name that comes first? */
static bool before(const candidate *a, const candidate *b)
{
    if (a->changed.tv_sec != b->changed.tv_sec) return a->changed.tv_sec > b->changed.tv_sec;
    if (a->changed.tv_nsec != b->changed.tv_nsec) return a->changed.tv_nsec > b->changed.tv_nsec;
    return strcmp(a->name, b->name) < 0;
}

/* Is the entry of a folder a profile of this CPU? Then it is in *found. */
static bool is_ours(int folder, const char *entry, candidate *found)
{
    char cpu[DUO_PROFILE_NAME];
    struct stat status;
    const size_t length = strlen(entry);
    (void)cpu_name(cpu);
    if (length >= sizeof found->name || length < 4 || strcmp(entry + length - 4, ".ini") != 0 ||
        strncmp(entry, cpu, strlen(cpu)) != 0 || fstatat(folder, entry, &status, 0) != 0)
        return false;
    memcpy(found->name, entry, length + 1);
    found->changed = status.st_mtim;
    return true;
}

/* The first file in the folder behind `last`; NULL: the first of all. */
static bool next_file(const char *folder, const candidate *last, candidate *next)
{
    bool any = false;
    DIR *const directory = opendir(folder);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        candidate found;
        if (!is_ours(dirfd(directory), entry->d_name, &found) ||
            (last != NULL && !before(last, &found)) || (any && !before(&found, next)))
            continue;
        *next = found;
        any = true;
    }
    if (directory != NULL) closedir(directory);
    return any;
}

static bool take_below(const char *folder, const char *name, const char *whose,
                       duo_profile_take take, void *user)
{
    char path[PATH + 2 * DUO_PROFILE_NAME];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return take(path, whose, user);
}

static bool search_folder(const char *folder, const char *gpu, const char *whose,
                          duo_profile_take take, void *user)
{
    char profiles[PATH + 16], name[DUO_PROFILE_NAME];
    snprintf(profiles, sizeof profiles, "%s/profiles", folder);
    if (gpu != NULL) return take_below(profiles, duo_profile_name(gpu, name), whose, take, user);
    candidate last, next;
    for (const candidate *from = NULL; next_file(profiles, from, &next); from = &last) {
        if (take_below(profiles, next.name, whose, take, user)) return true;
        last = next;
    }
    return false;
}

static bool search_system(const char *gpu, duo_profile_take take, void *user)
{
    const char *dirs = secure_getenv("XDG_CONFIG_DIRS");
    if (dirs == NULL || dirs[0] == '\0') dirs = "/etc/xdg";
    for (size_t length; *dirs != '\0'; dirs += length + (dirs[length] == ':')) {
        char folder[PATH];
        length = strcspn(dirs, ":");
        if (dirs[0] != '/' || length + sizeof "/duoblas" > sizeof folder) continue;
        snprintf(folder, sizeof folder, "%.*s/duoblas", (int)length, dirs);
        if (search_folder(folder, gpu, "the system's, measured on this CPU", take, user))
            return true;
    }
    return false;
}

bool duo_profile_search(const char *gpu, duo_profile_take take, void *user)
{
    static const char own[] = "the user's own, measured here";
    char folder[PATH];
    if (user_folder(folder, sizeof folder) &&
        (search_folder(folder, gpu, own, take, user) ||
         (gpu == NULL && take_below(folder, "profile.ini", own, take, user))))
        return true;
    return search_system(gpu, take, user);
}

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
