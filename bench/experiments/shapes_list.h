/* shapes_list.h - the shapes that `duoblas bench shapes` goes through. */
#ifndef DUO_SHAPES_LIST_H
#define DUO_SHAPES_LIST_H

#include <stdint.h>

enum { DUO_SHAPES = 60 };
extern const int64_t duo_shapes[DUO_SHAPES][3]; /* m, n, k */

#endif
