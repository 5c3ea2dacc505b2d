/* html.h - text and tables of a page. */
#ifndef DUO_HTML_H
#define DUO_HTML_H

#include <stdbool.h>
#include <stdio.h>

#include "bench/crossover/crossover.h"

/* Text with what is markup in HTML and SVG made harmless. */
void duo_html_text(const char *text, FILE *file);
/* <tag>text</tag> */
void duo_html_element(const char *tag, const char *text, FILE *file);

/* The head of a page up to <main>; and its end. */
void duo_html_begin(const char *title, FILE *file);
void duo_html_end(FILE *file);

/* A table that scrolls where the page is narrow, begins with the titles of its columns. */
void duo_html_title(const char *text, bool first, FILE *file);
void duo_html_titles_end(FILE *file);
/* All of them; they end with NULL. */
void duo_html_table_begin(const char *const *titles, FILE *file);
void duo_html_row_begin(const char *title, FILE *file);
void duo_html_cell(const char *text, bool predicted, FILE *file);
void duo_html_row_end(FILE *file);
void duo_html_table_end(FILE *file);

/* ---- report_sizes.c: from what size on the GPU is faster ---- */

/* In one call; where arrays are sent once and used often; as GPU-BLOB defines it. */
void duo_report_sizes(const duo_crossover *x, FILE *file);

#endif
