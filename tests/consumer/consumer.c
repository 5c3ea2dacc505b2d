/*
 * consumer.c - a C program that uses an installed DuoBLAS: two operations with known results.
 */
#include <duoblas.h>
#include <stdio.h>

int main(void)
{
    const float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
    float c[4] = {-1, -1, -1, -1}, dot = -1;
    const duo_status product = duo_sgemm(NULL, DUO_ROW_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 2, 2, 2,
                                         1.0f, a, 2, b, 2, 0.0f, c, 2);
    const duo_status inner = duo_sdot(NULL, 4, a, 1, b, 1, &dot);
    const int ok = product == DUO_OK && inner == DUO_OK && c[0] == 19 && c[1] == 22 && c[2] == 43 &&
                   c[3] == 50 && dot == 70 && duo_version() == DUO_VERSION;
    printf("C: sgemm %s, sdot %s, %s\n", duo_status_string(product), duo_status_string(inner),
           ok ? "right" : "wrong");
    return ok ? 0 : 1;
}
