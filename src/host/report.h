/*
 * report.h - a context's messages: lines for its log, the note of the last call, the text of the
 * last failure.
 */
#ifndef DUO_REPORT_H
#define DUO_REPORT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct duo_report {
    int verbose; /* DUOBLAS_VERBOSE. 1: a line for every call; 2: events, too */
    void (*log)(void *user, const char *line); /* of duo_set_log; NULL: lines go to stderr */
    void *log_user;
    char note[160];   /* what went differently in the last call (duo_explain_last); or "" */
    char detail[256]; /* the last failure, for duo_error_detail */
} duo_report;

/* Does anyone want a line for every call? */
static inline bool duo_report_wanted(const duo_report *report)
{
    return report->verbose > 0 || report->log != NULL;
}

/* Writes a line to the log, or else to stderr. The line has no newline. */
void duo_report_line(const duo_report *report, const char *line);

/* Writes an event to the log, or to stderr if DUOBLAS_VERBOSE is 2. */
void duo_report_event(const duo_report *report, const char *text);

/* Writes an event that also becomes the note and the detail. */
void duo_report_note(duo_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
