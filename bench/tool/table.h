/*
 * table.h - rows of figures as a table that people read, as CSV, as a table of HTML, or as JSON.
 *
 * One function has the columns of a row, in their order: each with its name in CSV and JSON, its
 * title elsewhere (NULL: it is not there), its width as text (negative: flush left), and its value.
 * Called while `titles` is set it prints the names, else the values. What is not known is NAN or
 * negative: it is empty in CSV, null in JSON, and "-" elsewhere.
 */
#ifndef DUO_TABLE_H
#define DUO_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum duo_form { DUO_AS_TEXT, DUO_AS_CSV, DUO_AS_HTML, DUO_AS_JSON } duo_form;

typedef struct duo_table {
    duo_form form;
    FILE *file;
    bool titles;
    bool dense;   /* one blank between columns of text, not two */
    void *object; /* of JSON, which takes the next row: a cJSON */
    int cells;    /* of the row, so far */
    bool guess;   /* the next cell is predicted: ~ */
    char line[1024];
    size_t length;
} duo_table;

duo_table duo_table_open(bool csv); /* on stdout, as text or CSV; it begins with titles */

void duo_cell_word(duo_table *table, const char *name, const char *title, int width,
                   const char *word);
void duo_cell_count(duo_table *table, const char *name, const char *title, int width,
                    int64_t count);
void duo_cell_seconds(duo_table *table, const char *name, const char *title, double seconds);
/* decimals: of the text, which has three digits where they are negative */
void duo_cell_number(duo_table *table, const char *name, const char *title, int width, int decimals,
                     double number);
/* The row ends. */
void duo_row_end(duo_table *table);
/* All rows have been printed, which HTML wants to know. */
void duo_table_close(duo_table *table);

#endif
