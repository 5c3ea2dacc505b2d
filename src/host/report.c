/* report.c - lines, events and notes of a context (report.h). */
#include "host/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_LINE = 1024 };

void duo_report_line(const duo_report *report, const char *line)
{
    if (report->log != NULL) {
        report->log(report->log_user, line);
        return;
    }
    char text[LONGEST_LINE + 1];
    const size_t length = strnlen(line, LONGEST_LINE - 1);
    memcpy(text, line, length);
    text[length] = '\n';
    /* One write, so that lines of several threads do not mix. A failure cannot be reported. */
    const ssize_t wrote = write(STDERR_FILENO, text, length + 1);
    (void)wrote;
}

void duo_report_event(const duo_report *report, const char *text)
{
    if (report->verbose < 2 && report->log == NULL) return;
    char line[LONGEST_LINE];
    (void)snprintf(line, sizeof line, "duoblas: event: %s", text);
    duo_report_line(report, line);
}

void duo_report_note(duo_report *report, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(report->note, sizeof report->note, format, arguments);
    va_end(arguments);
    (void)snprintf(report->detail, sizeof report->detail, "%s", report->note);
    duo_report_event(report, report->note);
}
