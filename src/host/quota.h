/* quota.h - the CPUs that a container's quota allows. */
#ifndef DUO_QUOTA_H
#define DUO_QUOTA_H

/* Rounded up; 0: no quota. `root` is "" but in tests. */
int duo_quota_cpus(const char *root);

#endif
