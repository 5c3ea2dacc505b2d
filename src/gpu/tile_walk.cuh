/*
 * tile_walk.cuh - the order in which blocks take the tiles of C.
 *
 * Tiles that run at the same time should be near each other in C, so that the L2 cache serves most
 * of their loads: the walk takes groups of kTilesTogether rows of tiles, each group column by
 * column.
 */
#ifndef DUO_TILE_WALK_CUH
#define DUO_TILE_WALK_CUH

constexpr int kTilesTogether = 16;

/*
 * Where tile t of the walk is in a C of rows x columns tiles, with groups of Together rows; rows
 * and columns may change places. Together * columns must fit into an int. Number: int or unsigned,
 * which divides faster.
 */
template <int Together, class Number>
static __device__ __forceinline__ void place_of_tile(int rows, int columns, Number t, int *row,
                                                     int *column)
{
    const int per_group = Together * columns; /* fewer in the last one */
    const int group = t / per_group, within = t % per_group;
    const int group_rows = min(Together, rows - group * Together);
    *row = group * Together + within % group_rows;
    *column = within / group_rows;
}

#endif
