/* quota.c - the CPUs that a container's quota allows: control groups, versions 1 and 2. */
#include "host/quota.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* quota / period, rounded up; 0: there is no quota. */
static int cpus_of(long long quota, long long period)
{
    if (quota <= 0 || period <= 0) return 0;
    const long long cpus = (quota - 1) / period + 1;
    return cpus > 1 << 20 ? 0 : (int)cpus;
}

static bool read_line(const char *path, char *line, int size)
{
    FILE *const file = fopen(path, "re");
    if (file == NULL) return false;
    const bool got = fgets(line, size, file) != NULL;
    fclose(file);
    return got;
}

/* The quota of one folder of the control-group tree: version 2 first, then version 1. */
static int quota_of_folder(const char *root, const char *folder)
{
    char path[1024], line[128];
    long long quota, period;
    snprintf(path, sizeof path, "%s/sys/fs/cgroup%s/cpu.max", root, folder);
    if (read_line(path, line, sizeof line))
        return sscanf(line, "%lld %lld", &quota, &period) == 2 ? cpus_of(quota, period) : 0;
    snprintf(path, sizeof path, "%s/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us", root, folder);
    if (!read_line(path, line, sizeof line) || sscanf(line, "%lld", &quota) != 1) return 0;
    snprintf(path, sizeof path, "%s/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", root, folder);
    if (!read_line(path, line, sizeof line) || sscanf(line, "%lld", &period) != 1) return 0;
    return cpus_of(quota, period);
}

static int smaller_quota(int a, int b) { return a == 0 || (b != 0 && b < a) ? b : a; }

int duo_quota_cpus(const char *root)
{
    /* In a container the process's own group may be mounted as the root of the tree; elsewhere it
     * is at the path that /proc names. The smallest limit from there up to the root holds. */
    int quota = quota_of_folder(root, "");
    char path[512], line[600];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *const file = fopen(path, "re");
    if (file == NULL) return quota;
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        const char *const controllers = strchr(line, ':');
        const char *const second = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (second == NULL) continue;
        const bool version2 = second == controllers + 1;
        if (!version2 && strstr(controllers, "cpu") == NULL) continue;
        char folder[512];
        snprintf(folder, sizeof folder, "%.500s", second + 1);
        for (char *end = strrchr(folder, '/'); end != NULL && folder[1] != '\0';
             end = strrchr(folder, '/')) {
            quota = smaller_quota(quota, quota_of_folder(root, folder));
            *end = '\0';
        }
    }
    fclose(file);
    return quota;
}
