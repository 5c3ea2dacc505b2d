/* style.h - colours and forms of curves and pages, in light and dark, as CSS. */
#ifndef DUO_STYLE_H
#define DUO_STYLE_H

/* Colours, and the classes of a panel of curves. */
extern const char duo_style_curves[];
/* The page around them. */
extern const char duo_style_page[];

#endif
