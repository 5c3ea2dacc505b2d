/* html.c - see html.h */
#include "bench/crossover/html.h"

#include "bench/crossover/panel.h"

void duo_html_text(const char *text, FILE *file)
{
    for (; *text != '\0'; text++)
        if (*text == '&')
            fputs("&amp;", file);
        else if (*text == '<')
            fputs("&lt;", file);
        else if (*text == '>')
            fputs("&gt;", file);
        else
            fputc(*text, file);
}

void duo_html_element(const char *tag, const char *text, FILE *file)
{
    fprintf(file, "<%s>", tag);
    duo_html_text(text, file);
    fprintf(file, "</%s>\n", tag);
}

void duo_html_begin(const char *title, FILE *file)
{
    fprintf(file, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    duo_html_element("title", title, file);
    fprintf(file, "<style>\n%s%s</style>\n</head>\n<body>\n<main>\n", duo_style_curves,
            duo_style_page);
}

void duo_html_end(FILE *file) { fprintf(file, "</main>\n</body>\n</html>\n"); }

void duo_html_title(const char *text, bool first, FILE *file)
{
    if (first)
        fprintf(
            file,
            "<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
            "aria-label=\"table; it scrolls sideways if the page is narrow\"><table>\n<thead><tr>");
    fprintf(file, "<th scope=\"col\">");
    duo_html_text(text, file);
    fprintf(file, "</th>");
}

void duo_html_titles_end(FILE *file) { fprintf(file, "</tr></thead>\n<tbody>\n"); }

void duo_html_table_begin(const char *const *titles, FILE *file)
{
    for (int i = 0; titles[i] != NULL; i++) duo_html_title(titles[i], i == 0, file);
    duo_html_titles_end(file);
}

void duo_html_row_begin(const char *title, FILE *file)
{
    fprintf(file, "<tr><th scope=\"row\">");
    duo_html_text(title, file);
    fprintf(file, "</th>");
}

void duo_html_cell(const char *text, bool predicted, FILE *file)
{
    fprintf(file, predicted ? "<td class=\"guess\">~" : "<td>");
    duo_html_text(text, file);
    fprintf(file, "</td>");
}

void duo_html_row_end(FILE *file) { fprintf(file, "</tr>\n"); }

void duo_html_table_end(FILE *file) { fprintf(file, "</tbody>\n</table></div>\n"); }
