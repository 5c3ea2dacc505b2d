/* available.c - see available.h */
#include "bench/measure/available.h"

#include <stdio.h>

double duo_available_bytes(void)
{
    double available = 1e300;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        long long kilobytes;
        if (sscanf(line, "MemAvailable: %lld", &kilobytes) == 1)
            available = 1024.0 * (double)kilobytes;
    }
    if (file != NULL) fclose(file);
    double limit = 1e300, used = 0.0; /* of a container */
    if ((file = fopen("/sys/fs/cgroup/memory.max", "r")) != NULL) {
        if (fscanf(file, "%lf", &limit) != 1) limit = 1e300;
        fclose(file);
    }
    if ((file = fopen("/sys/fs/cgroup/memory.current", "r")) != NULL) {
        if (fscanf(file, "%lf", &used) != 1) used = 0.0;
        fclose(file);
    }
    return limit - used < available ? limit - used : available;
}
