/* html.h - text and tables of a page. */
#ifndef DUO_HTML_H
#define DUO_HTML_H

#include <stdbool.h>
#include <stdio.h>

#include "bench/crossover/crossover.h"

/* Prints text with the markup characters of HTML and SVG escaped. */
void duo_html_text(const char *text, FILE *file);
/* <tag>text</tag> */
void duo_html_element(const char *tag, const char *text, FILE *file);

/* The head of a page up to <main>, and the end of the page. */
void duo_html_begin(const char *title, FILE *file);
void duo_html_end(FILE *file);

/* A title of a column. The first one begins the table, which scrolls on a narrow page. */
void duo_html_title(const char *text, bool first, FILE *file);
void duo_html_titles_end(FILE *file);
/* Begins a table with all its titles; they end with NULL. */
void duo_html_table_begin(const char *const *titles, FILE *file);
void duo_html_row_begin(const char *title, FILE *file);
void duo_html_cell(const char *text, bool predicted, FILE *file);
void duo_html_row_end(FILE *file);
void duo_html_table_end(FILE *file);

#endif
