/* quota.h - the CPUs that a container's quota allows. */
#ifndef DUO_QUOTA_H
#define DUO_QUOTA_H

/* The number of CPUs, rounded up; 0: there is no quota. root: "", or a folder that stands for / in
 * tests. */
int duo_quota_cpus(const char *root);

#endif
