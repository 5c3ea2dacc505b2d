/* profile_paths.c - where the files of this machine's profiles are. */
#define _GNU_SOURCE
#include "choice/profile_paths.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    return length > 0 && (size_t)length < size;
}

bool duo_profile_user_path(const char *gpu, char *path, size_t size)
{
    char folder[PATH], name[DUO_PROFILE_NAME];
    if (!user_folder(folder, sizeof folder)) return false;
    const int length = snprintf(path, size, "%s/profiles/%s", folder, duo_profile_name(gpu, name));
    return length > 0 && (size_t)length < size;
}

/* ---- Searching ---- */

typedef struct file {
    char name[DUO_PROFILE_NAME];
    struct timespec changed;
} file;

/* Is `a` younger, or of the same age with a name that comes first? */
static bool before(const file *a, const file *b)
{
    if (a->changed.tv_sec != b->changed.tv_sec) return a->changed.tv_sec > b->changed.tv_sec;
    if (a->changed.tv_nsec != b->changed.tv_nsec) return a->changed.tv_nsec > b->changed.tv_nsec;
    return strcmp(a->name, b->name) < 0;
}

/* Is the entry of a folder a profile of this CPU? Then it is in *found. */
static bool is_ours(int folder, const char *entry, file *found)
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
static bool next_file(const char *folder, const file *last, file *next)
{
    bool any = false;
    DIR *const directory = opendir(folder);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        file found;
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
    file last, next;
    for (const file *from = NULL; next_file(profiles, from, &next); from = &last) {
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
