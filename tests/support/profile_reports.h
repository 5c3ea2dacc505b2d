/*
 * profile_reports.h - which profile is in use in a child of the test; a process decides it only
 * once.
 */
#ifndef DUO_TESTS_PROFILE_REPORTS_H
#define DUO_TESTS_PROFILE_REPORTS_H

/* In the child: prints the profile and the origin of its parts; 0 if it is whole and serves a
 * call. */
int report_profile(void);

/* Checks that the child with these settings uses the profile of `origin`, for a reason that
 * contains `why`. For its task, "in_use", the test calls report_profile. */
void check_in_use(const char *const *settings, const char *origin, const char *why);

#endif
