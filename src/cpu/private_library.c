/* private_library.c - opens copies of shared libraries (private_library.h). */
#define _GNU_SOURCE
#include "cpu/private_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/elf.h"

/* No library is larger, but a sparse file may seem to be. OpenBLAS has 40 MB, MKL's largest 100. */
static const off_t kLargest = 1 << 30;

/* ---- Where it is ---- */

static bool exists(char *path, size_t size, const char *folder, const char *name)
{
    const int length = snprintf(path, size, "%s/%s", folder, name);
    return length > 0 && (size_t)length < size && access(path, R_OK) == 0;
}

/* Looks in the folders that the loader searches, but not in the loader's cache. */
static bool search_folders(const char *name, char *path, size_t size)
{
    Dl_serinfo asked;
    bool found = false;
    void *const program = dlopen(NULL, RTLD_LAZY);
    if (program == NULL) return false;
    if (dlinfo(program, RTLD_DI_SERINFOSIZE, &asked) == 0) {
        Dl_serinfo *const all = malloc(asked.dls_size);
        if (all != NULL && dlinfo(program, RTLD_DI_SERINFOSIZE, all) == 0 &&
            dlinfo(program, RTLD_DI_SERINFO, all) == 0)
            for (unsigned i = 0; i < all->dls_cnt && !found; i++)
                found = exists(path, size, all->dls_serpath[i].dls_name, name);
        free(all);
    }
    (void)dlclose(program);
    return found;
}

bool duo_library_file(const char *name, char *path, size_t size)
{
    if (strchr(name, '/') != NULL)
        return (size_t)snprintf(path, size, "%s", name) < size && access(path, R_OK) == 0;
    struct link_map *map;
    void *const loaded = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (loaded == NULL) return search_folders(name, path, size);
    const bool known = dlinfo(loaded, RTLD_DI_LINKMAP, &map) == 0 &&
                       (size_t)snprintf(path, size, "%s", map->l_name) < size;
    (void)dlclose(loaded);
    return known;
}

bool duo_library_may_be(const char *name)
{
    struct stat status;
    if (strchr(name, '/') == NULL || stat(name, &status) != 0) return true;
    return S_ISREG(status.st_mode) && status.st_size <= kLargest;
}

/* In pieces: a process with too little memory to map the whole file needs the answer most. */
bool duo_library_mentions(const char *path, const char *text)
{
    enum { PIECE = 16 << 10 };
    char piece[PIECE];
    const size_t length = strlen(text);
    struct stat status;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool found = false;
    if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_size <= kLargest) {
        size_t kept = 0; /* the end of the piece before, in which the text may begin */
        ssize_t more;
        while (!found && (more = read(file, piece + kept, sizeof piece - kept)) > 0) {
            const size_t bytes = kept + (size_t)more;
            found = memmem(piece, bytes, text, length) != NULL;
            kept = bytes < length ? bytes : length - 1;
            memmove(piece, piece + bytes - kept, kept);
        }
    }
    if (file >= 0) (void)close(file);
    return found;
}

/* ---- The copy ---- */

/* With the name in the file (DT_SONAME) the loader would give our copy to others. The entry becomes
 * one that the loader ignores. */
static bool take_name_away(int file)
{
    duo_elf all;
    int count = 0;
    if (!duo_elf_map(&all, file, true)) return false;
    const ElfW(Phdr) *const segment = duo_elf_segments(&all, &count);
    bool good = segment != NULL;
    for (int i = 0; good && i < count; i++) {
        if (segment[i].p_type != PT_DYNAMIC) continue;
        ElfW(Dyn) *const entry = duo_elf_part(&all, segment[i].p_offset, segment[i].p_filesz);
        good = entry != NULL;
        for (size_t e = 0; good && e < segment[i].p_filesz / sizeof *entry; e++)
            if (entry[e].d_tag == DT_SONAME) entry[e].d_tag = DT_CHECKSUM;
    }
    duo_elf_unmap(&all);
    return good;
}

/* The same file under a number that is no standard stream's, in case those are closed. */
static int beyond_standard(int file)
{
    if (file < 0 || file > STDERR_FILENO) return file;
    const int higher = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    (void)close(file);
    return higher;
}

/* A file in memory obeys the limit of file sizes: exceeding it ends the process by a signal. */
static bool within_limit(off_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           (rlim_t)bytes <= limit.rlim_cur;
}

/* The mapped file cannot be changed through any descriptor. Linux 5.1 seals future writing at once;
 * sealing all writing takes 0.15 s after a transfer of this size. */
static bool seal(int file)
{
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    return fcntl(file, F_ADD_SEALS, seals | F_SEAL_FUTURE_WRITE) == 0 ||
           fcntl(file, F_ADD_SEALS, seals | F_SEAL_WRITE) == 0;
}

/* Copies the file to one in memory, without its name, and returns the descriptor; -1: errno says
 * why. */
static int copy_of(const char *path)
{
    struct stat status;
    const int from = beyond_standard(open(path, O_RDONLY | O_CLOEXEC));
    if (from < 0) return -1;
    const char *const slash = strrchr(path, '/');
    char name[64];
    snprintf(name, sizeof name, "duoblas-%.50s", slash != NULL ? slash + 1 : path);
    const int to = beyond_standard(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    bool good = to >= 0 && fstat(from, &status) == 0;
    if (good && !within_limit(status.st_size)) {
        errno = EFBIG;
        good = false;
    }
    off_t done = 0;
    while (good && done < status.st_size)
        good = sendfile(to, from, &done, (size_t)(status.st_size - done)) > 0;
    const int problem = errno;
    (void)close(from);
    if (good && take_name_away(to) && seal(to)) return to;
    if (to >= 0) (void)close(to);
    errno = good ? ENOEXEC : problem;
    return -1;
}

/* ---- Its environment ---- */

/*
 * While the library starts, environ is another array, with more variables. A thread that reads a
 * variable meanwhile finds it in either array; a variable that a thread sets meanwhile is kept.
 * setenv would not do: it may free what other threads are reading.
 */
static void *open_with(const char *path, int flags, const char *const variables[])
{
    char **const before = environ;
    size_t own = 0, more = 0;
    while (before != NULL && before[own] != NULL) own++;
    while (variables[more] != NULL) more++;
    char **const with = more > 0 ? calloc(own + more + 2, sizeof *with) : NULL;
    if (with == NULL) return dlopen(path, flags);
    static char **kept; /* all arrays made so far, linked behind their ends, so they are no leaks */
    with[own + more + 1] = (char *)kept;
    kept = with;
    for (size_t i = 0; i < more; i++)
        with[i] = (char *)(size_t)variables[i]; /* the first one counts */
    for (size_t i = 0; i < own; i++) with[more + i] = before[i];
    environ = with;
    void *const handle = dlopen(path, flags);
    if (environ == with) {
        for (size_t i = 0; i < own; i++) before[i] = with[more + i];
        environ = before; /* the other array stays: a thread may be reading it */
        return handle;
    }
    /* A thread has added a variable, so environ is a copy by setenv: takes our variables out. */
    char **to = environ;
    for (char **from = environ; from != NULL && *from != NULL; from++) {
        bool ours = false;
        for (size_t i = 0; i < more; i++) ours |= *from == with[i];
        if (!ours) *to++ = *from;
    }
    if (to != NULL) *to = NULL;
    return handle;
}

/* The loader knows the copy by this path. So the descriptor stays open as long as the library, and
 * no other file gets its number. */
static const char kPath[] = "/proc/self/fd/%d";

void *duo_private_library_open(const char *path, int flags, const char *const variables[],
                               char *why, size_t why_size)
{
    const int file = copy_of(path);
    if (file < 0) {
        snprintf(why, why_size, "%.200s cannot be copied: %s", path, strerror(errno));
        return NULL;
    }
    char copy[64];
    snprintf(copy, sizeof copy, kPath, file);
    void *const handle = open_with(copy, flags, variables);
    if (handle == NULL) {
        snprintf(why, why_size, "%.250s", dlerror());
        (void)close(file);
    }
    return handle;
}

void duo_private_library_close(void *handle)
{
    struct link_map *map;
    int file = -1;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || sscanf(map->l_name, kPath, &file) != 1)
        file = -1;
    (void)dlclose(handle);
    if (file >= 0) (void)close(file);
}

int duo_library_deep(void)
{
    Dl_info memory, system;
    void *const allocate = dlsym(RTLD_DEFAULT, "malloc");
    void *const version = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    const bool same = allocate != NULL && version != NULL && dladdr(allocate, &memory) != 0 &&
                      dladdr(version, &system) != 0 && memory.dli_fbase == system.dli_fbase;
    return same ? RTLD_DEEPBIND : 0;
}

/* ---- Programs without a loader ---- */

/* The program itself is the first object. */
static int has_linker(struct dl_phdr_info *object, size_t size, void *found)
{
    (void)size;
    *(bool *)found = duo_elf_is_dynamic(object->dlpi_phdr, object->dlpi_phnum);
    return 1; /* look at no other object */
}

bool duo_program_is_static(void)
{
    bool found = false;
    (void)dl_iterate_phdr(has_linker, &found);
    return !found;
}
