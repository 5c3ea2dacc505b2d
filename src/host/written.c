/* written.c - written pages (written.h). */
#define _GNU_SOURCE
#include "host/written.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/fork.h"

/* ---- The system's interface, which older headers do not have ---- */

typedef struct api {
    uint64_t api, features, ioctls;
} api;

typedef struct registering {
    uint64_t start, bytes, mode, ioctls;
} registering;

typedef struct range {
    uint64_t start, bytes;
} range;

typedef struct scan {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, category_inverted,
        category_mask, category_anyof_mask, return_mask;
} scan;

typedef struct page_region {
    uint64_t start, end, categories;
} page_region;

#define API        _IOWR(0xAA, 0x3F, api)
#define REGISTER   _IOWR(0xAA, 0x00, registering)
#define UNREGISTER _IOR(0xAA, 0x01, range)
#define SCAN       _IOWR('f', 16, scan)

enum { API_VERSION = 0xAA, USER_MODE_ONLY = 1, MODE_WRITE_PROTECT = 2 };
/* Pages that are not there yet are protected, too; and writes are only noted. */
enum { WP_UNPOPULATED = 1 << 13, WP_ASYNC = 1 << 15 };
enum { PROTECT_MATCHING = 1, ONLY_WATCHED = 2, IS_WRITTEN = 2 };

/* ---- The descriptors, which a child process must not use: they are of the parent's memory ---- */

static int faults = -1, pages = -1;
static bool refused;

static bool open_both(const char **why)
{
    if (faults >= 0 && pages >= 0) return true;
    *why = "the system has no write protection that notes writes (userfaultfd, PAGEMAP_SCAN)";
    if (refused) return false;
    faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | USER_MODE_ONLY);
    refused = faults >= 0 || (errno != EMFILE && errno != ENFILE && errno != ENOMEM);
    if (faults < 0) return false;
    api wanted = {.api = API_VERSION, .features = WP_ASYNC | WP_UNPOPULATED};
    if (ioctl(faults, API, &wanted) == 0) pages = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (pages < 0) {
        close(faults);
        faults = -1;
        return false;
    }
    refused = false;
    return true;
}

static void in_child(void)
{
    if (faults >= 0) close(faults);
    if (pages >= 0) close(pages);
    faults = pages = -1;
    refused = true;
}

static __attribute__((constructor)) void watch_forks(void)
{
    static duo_fork_handler handler = {.run = in_child};
    duo_fork_in_child(&handler);
}

/* ---- Who could write unseen ---- */

/* The mapping that holds [low, high), if it is private, anonymous and may be written. */
static bool find_mapping(uintptr_t low, uintptr_t high, uintptr_t *start, uintptr_t *end)
{
    FILE *const maps = fopen("/proc/self/maps", "re");
    bool good = false;
    char line[PATH_MAX + 128];
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        unsigned long long from, to, offset, inode;
        char mode[8], device[32], name[64] = "";
        if (sscanf(line, "%llx-%llx %7s %llx %31s %llu %63s", &from, &to, mode, &offset, device,
                   &inode, name) < 6)
            break;
        if (to <= low) continue;
        good = from <= low && high <= to && strncmp(mode, "rw", 2) == 0 && mode[3] == 'p' &&
               inode == 0 &&
               (name[0] != '[' || strcmp(name, "[heap]") == 0 || strncmp(name, "[anon:", 6) == 0);
        *start = (uintptr_t)from;
        *end = (uintptr_t)to;
        break;
    }
    if (maps != NULL) fclose(maps);
    return good;
}

/* Is memory of the process pinned, as for RDMA and io_uring's registered buffers? True also if the
 * system does not tell. */
static bool pinned(void)
{
    FILE *const file = fopen("/proc/self/status", "re");
    char line[256];
    long kilobytes = -1;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmPin: %ld", &kilobytes) == 1) break;
    if (file != NULL) fclose(file);
    return kilobytes != 0;
}

/* Files that write to no memory of the process by themselves. NVIDIA's driver counts: the memory
 * that it has pinned is asked for apart. */
static bool harmless(const char *name)
{
    static const char *const devices[] = {"null",   "zero", "full",    "random", "urandom",
                                          "tty",    "pts/", "ptmx",    "shm/",   "nvidia",
                                          "mqueue", "log",  "console", NULL};
    if (strstr(name, "userfaultfd") != NULL) return false;
    if (strncmp(name, "/dev/", 5) != 0) return true;
    for (int i = 0; devices[i] != NULL; i++)
        if (strncmp(name + 5, devices[i], strlen(devices[i])) == 0) return true;
    return false;
}

static bool any_odd_file(void)
{
    DIR *const folder = opendir("/proc/self/fd");
    if (folder == NULL) return true;
    bool odd = false;
    const struct dirent *entry;
    while (!odd && (entry = readdir(folder)) != NULL) {
        char name[256];
        const ssize_t length = readlinkat(dirfd(folder), entry->d_name, name, sizeof name - 1);
        if (length < 0) continue;
        name[length] = '\0';
        odd = atoi(entry->d_name) != faults && !harmless(name);
    }
    closedir(folder);
    return odd;
}

/* Libraries that give memory to network cards, and watch it themselves. Their mappings tell: to ask
 * the dynamic linker would wait for other threads that load libraries. */
static bool any_odd_library(void)
{
    static const char *const names[] = {"/libfabric.so", "/libucp.so", "/libxpmem.so"};
    FILE *const maps = fopen("/proc/self/maps", "re");
    bool odd = maps == NULL;
    char line[PATH_MAX + 128];
    while (!odd && fgets(line, sizeof line, maps) != NULL)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            odd |= strstr(line, names[i]) != NULL;
    if (maps != NULL) fclose(maps);
    return odd;
}

/* Could anybody write unseen? */
static bool anybody_unseen(const char **why)
{
    *why = "the process has pinned memory";
    if (pinned()) return true;
    *why = "the process uses a device, or a library, that may write to memory by itself";
    return any_odd_file() || any_odd_library();
}

/* ---- Watching ---- */

/* The written pages of [low, high): some, or none; negative: not all of it is watched. They may be
 * protected again. */
static int look(uintptr_t low, uintptr_t high, bool protect)
{
    int some = 0;
    while (low < high) {
        page_region found[64];
        scan asked = {.size = sizeof asked,
                      .flags = ONLY_WATCHED | (protect ? PROTECT_MATCHING : 0),
                      .start = low,
                      .end = high,
                      .vec = (uintptr_t)found,
                      .vec_len = sizeof found / sizeof found[0],
                      .category_mask = IS_WRITTEN,
                      .return_mask = IS_WRITTEN};
        const int regions = ioctl(pages, SCAN, &asked);
        if (regions < 0 || asked.walk_end <= low) return -1;
        if (regions > 0) some = 1;
        if (some && !protect) return some;
        low = (uintptr_t)asked.walk_end;
    }
    return some;
}

bool duo_written_watch(void *memory, size_t bytes, const char **why)
{
    const uintptr_t low = (uintptr_t)memory, high = low + bytes;
    uintptr_t start, end;
    if (!open_both(why)) return false;
    *why = "it is not in one private anonymous mapping";
    if (!find_mapping(low, high, &start, &end)) return false;
    /* The whole mapping: a part would become a mapping of its own, which a program could meet. */
    registering r = {.start = start, .bytes = end - start, .mode = MODE_WRITE_PROTECT};
    *why = "the system does not watch it";
    if (ioctl(faults, REGISTER, &r) != 0) return false;
    /* Protected first: whatever pins memory from here on is noted as a write. */
    if (look(low, high, true) >= 0 && !anybody_unseen(why)) return true;
    /* As the program had it: it may want to watch the mapping itself. */
    (void)ioctl(faults, UNREGISTER, &(range){start, end - start});
    return false;
}

bool duo_written_possible(const char **why)
{
    const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    *why = "there is no memory";
    void *const memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    const bool possible = duo_written_watch(memory, bytes, why);
    (void)munmap(memory, bytes);
    return possible;
}

bool duo_written_since(const void *memory, size_t bytes)
{
    return pages < 0 || look((uintptr_t)memory, (uintptr_t)memory + bytes, false) != 0;
}
