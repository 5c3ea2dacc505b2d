/*
 * first_call.c - one product of plain host arrays. NULL is the thread's default context: nothing is
 * set up and nothing is torn down. Run it with DUOBLAS_VERBOSE=1 to see which side it ran on, and
 * why.
 */
#include <duoblas.h>
#include <stdio.h>

int main(void)
{
    static float a[500 * 500], b[500 * 500], c[500 * 500]; /* column-major */
    for (int i = 0; i < 500 * 500; i++) a[i] = b[i] = 1;
    duo_status status = duo_sgemm(NULL, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 500, 500, 500, 1,
                                  a, 500, b, 500, 0, c, 500);
    printf("%s: c[0] = %g\n", duo_status_string(status), c[0]);
    return status == DUO_OK && c[0] == 500 ? 0 : 1;
}
