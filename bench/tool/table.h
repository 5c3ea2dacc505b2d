/*
 * table.h - rows of figures as a table for people, as CSV, as a table of HTML or Markdown, or as
 * JSON.
 *
 * One function prints a row, cell by cell. A cell has its name in CSV and JSON, its title elsewhere
 * (NULL: no column), its width as text (negative: flush left), and its value. While `titles` is
 * set, the function prints the names or titles, else the values. An unknown value is NAN or
 * negative: it is empty in CSV, null in JSON, and "-" elsewhere.
 */
#ifndef DUO_TABLE_H
#define DUO_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum duo_form {
    DUO_AS_TEXT,
    DUO_AS_CSV,
    DUO_AS_HTML,
    DUO_AS_MARKDOWN,
    DUO_AS_JSON
} duo_form;

typedef struct duo_table {
    duo_form form;
    FILE *file;
    bool titles;
    bool dense;   /* text has one blank between columns, not two, and narrower times */
    void *object; /* JSON: the cJSON that takes the next row */
    int cells;    /* in the row so far */
    bool guess;   /* the next cell is predicted, marked by ~ */
    char line[1024];
    size_t length;
} duo_table;

duo_table duo_table_open(bool csv); /* on stdout, as text or CSV; titles first */

void duo_cell_word(duo_table *table, const char *name, const char *title, int width,
                   const char *word);
void duo_cell_count(duo_table *table, const char *name, const char *title, int width,
                    int64_t count);
void duo_cell_seconds(duo_table *table, const char *name, const char *title, double seconds);
/* decimals: in text; negative: three significant digits */
void duo_cell_number(duo_table *table, const char *name, const char *title, int width, int decimals,
                     double number);
/* Ends the row. */
void duo_row_end(duo_table *table);
/* Ends the table after its last row. */
void duo_table_close(duo_table *table);

#endif
