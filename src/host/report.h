/*
 * report.h - what a context has to tell: lines for its log, the note of the last call, the text of
 * the last failure.
 */
#ifndef DUO_REPORT_H
#define DUO_REPORT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct duo_report {
    int verbose; /* DUOBLAS_VERBOSE: 1 a line for every call, 2 events too */
    void (*log)(void *user, const char *line);
    void *log_user;
    char note[160];   /* what went differently in the last call, for duo_explain_last; or "" */
    char detail[256]; /* for duo_error_detail */
} duo_report;

/* Does anyone want a line for every call? */
static inline bool duo_report_wanted(const duo_report *report)
{
    return report->verbose > 0 || report->log != NULL;
}

/* A line without newline: to the log, or else to stderr. */
void duo_report_line(const duo_report *report, const char *line);

/* An event, for the log, or at DUOBLAS_VERBOSE=2 for stderr. */
void duo_report_event(const duo_report *report, const char *text);

/* An event that becomes the note and the detail, too. */
void duo_report_note(duo_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
