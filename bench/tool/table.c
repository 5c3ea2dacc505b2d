/* table.c - see table.h */
#include "bench/tool/table.h"

#include <cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench/crossover/html.h"
#include "bench/tool/text.h"

enum { SECONDS_WIDTH = 9 };

duo_table duo_table_open(bool csv)
{
    return (duo_table){.form = csv ? DUO_AS_CSV : DUO_AS_TEXT, .file = stdout, .titles = true};
}

/* ---- Cells as text ---- */

static void put_text(duo_table *t, int width, const char *text)
{
    const char *const before = !t->dense ? "  " : t->cells > 0 ? " " : "";
    const size_t begin = t->length, room = sizeof t->line - begin;
    t->length += (size_t)snprintf(t->line + begin, room, "%s%*s", before, width, text);
    if (t->length >= sizeof t->line) t->length = sizeof t->line - 1;
    const size_t blanks = strspn(t->line + begin, " ");
    if (t->guess && blanks > 0) t->line[begin + blanks - 1] = '~';
}

static void put_csv(const duo_table *t, const char *text)
{
    const char *const quote = strchr(text, ',') != NULL ? "\"" : "";
    fprintf(t->file, "%s%s%s%s", t->cells > 0 ? "," : "", quote, text, quote);
}

static void put_html(const duo_table *t, const char *text)
{
    if (t->cells == 0 && !t->titles)
        duo_html_row_begin(text, t->file);
    else if (t->titles)
        duo_html_title(text, t->cells == 0, t->file);
    else
        duo_html_cell(text, t->guess, t->file);
}

static void put_markdown(const duo_table *t, const char *text)
{
    fprintf(t->file, "%s%s%s |", t->cells == 0 ? "| " : " ", t->guess ? "~" : "", text);
}

/* Prints a cell as text, CSV, HTML or Markdown: its title if these are due, else `text`; nothing if
 * this form lacks the column. */
static void put(duo_table *t, const char *name, const char *title, int width, const char *text)
{
    const char *const shown = t->form == DUO_AS_CSV ? name : title;
    if (shown == NULL || t->form == DUO_AS_JSON) return;
    if (t->titles) text = shown;
    if (t->form == DUO_AS_TEXT) put_text(t, width, text);
    if (t->form == DUO_AS_CSV) put_csv(t, text);
    if (t->form == DUO_AS_HTML) put_html(t, text);
    if (t->form == DUO_AS_MARKDOWN) put_markdown(t, text);
    t->cells++;
    t->guess = false;
}

/* ---- Cells ---- */

static bool in_json(const duo_table *t, const char *name)
{
    return t->form == DUO_AS_JSON && name != NULL;
}

static void put_json(duo_table *t, const char *name, double number)
{
    if (isfinite(number))
        (void)cJSON_AddNumberToObject(t->object, name, number);
    else
        (void)cJSON_AddNullToObject(t->object, name);
}

void duo_cell_word(duo_table *t, const char *name, const char *title, int width, const char *word)
{
    if (word == NULL) word = "";
    if (in_json(t, name)) (void)cJSON_AddStringToObject(t->object, name, word);
    put(t, name, title, width, word);
}

void duo_cell_count(duo_table *t, const char *name, const char *title, int width, int64_t count)
{
    char text[DUO_TEXT] = "-";
    if (in_json(t, name)) put_json(t, name, count < 0 ? (double)NAN : (double)count);
    if (count >= 0) snprintf(text, sizeof text, "%" PRId64, count);
    put(t, name, title, width, count < 0 && t->form == DUO_AS_CSV ? "" : text);
}

/* The number as text for CSV. */
static const char *csv_text(const char *format, double number, char text[DUO_TEXT])
{
    text[0] = '\0';
    if (isfinite(number)) snprintf(text, DUO_TEXT, format, number);
    return text;
}

/* Nine characters in text; eight in dense text, which cuts a blank. */
static const char *seconds_text(const duo_table *t, double seconds, char text[DUO_TEXT])
{
    if (t->form != DUO_AS_TEXT) return duo_text_time(seconds, text);
    return duo_text_seconds(seconds, text) + (t->dense && text[0] == ' ');
}

void duo_cell_seconds(duo_table *t, const char *name, const char *title, double seconds)
{
    char text[DUO_TEXT];
    if (in_json(t, name)) put_json(t, name, seconds);
    if (t->form == DUO_AS_CSV)
        put(t, name, title, 0, csv_text("%.4e", seconds, text));
    else
        put(t, name, title, SECONDS_WIDTH - t->dense, seconds_text(t, seconds, text));
}

void duo_cell_number(duo_table *t, const char *name, const char *title, int width, int decimals,
                     double number)
{
    char text[DUO_TEXT] = "-";
    if (in_json(t, name)) put_json(t, name, number);
    if (t->form == DUO_AS_CSV) {
        put(t, name, title, 0, csv_text("%.5g", number, text));
        return;
    }
    if (!isnan(number) && decimals < 0) snprintf(text, sizeof text, "%.3g", number);
    if (!isnan(number) && decimals >= 0) snprintf(text, sizeof text, "%.*f", decimals, number);
    put(t, name, title, width, text);
}

/* ---- Rows ---- */

static void end_markdown(const duo_table *t)
{
    fprintf(t->file, "\n");
    for (int i = 0; i < t->cells && t->titles; i++) fprintf(t->file, i == 0 ? "|---|" : "---:|");
    if (t->titles) fprintf(t->file, "\n");
}

void duo_row_end(duo_table *t)
{
    while (t->length > 0 && t->line[t->length - 1] == ' ') t->length--; /* cut trailing blanks */
    if (t->form == DUO_AS_TEXT) fprintf(t->file, "%.*s\n", (int)t->length, t->line);
    if (t->form == DUO_AS_CSV) fprintf(t->file, "\n");
    if (t->form == DUO_AS_HTML) (t->titles ? duo_html_titles_end : duo_html_row_end)(t->file);
    if (t->form == DUO_AS_MARKDOWN) end_markdown(t);
    t->cells = 0;
    t->length = 0;
    t->titles = false;
}

void duo_table_close(duo_table *t)
{
    if (t->form == DUO_AS_HTML) duo_html_table_end(t->file);
}
