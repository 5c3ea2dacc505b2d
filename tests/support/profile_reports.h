/*
 * profile_reports.h - which profile is in use in a child of the test, since it is decided once.
 */
#ifndef DUO_TESTS_PROFILE_REPORTS_H
#define DUO_TESTS_PROFILE_REPORTS_H

/* In the child: prints it, with where its parts come from; 0, if it is whole and serves a call. */
int report_profile(void);

/* Does the child with these settings use what is expected, for a reason that contains `why`? Its
 * task is "in_use", at which the test calls report_profile. */
void check_in_use(const char *const *settings, const char *origin, const char *why);

#endif
