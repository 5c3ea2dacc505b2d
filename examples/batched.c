/*
 * batched.c - a thousand small products in one call.
 *
 * Each of 1000 systems has a 3 x 3 rotation and 40 points; all points are turned. The points are
 * kept on the device, if there is one, where the whole batch is one launch.
 */
#include <duoblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SYSTEMS = 1000, AXES = 3, POINTS = 40, MATRIX = AXES * AXES, CLOUD = AXES * POINTS };

static void check(duo_status status)
{
    if (status == DUO_OK) return;
    fprintf(stderr, "%s\n", duo_status_string(status));
    exit(1);
}

int main(void)
{
    static float turn[SYSTEMS * MATRIX], points[SYSTEMS * CLOUD], turned[SYSTEMS * CLOUD];
    for (int s = 0; s < SYSTEMS; s++) { /* about the third axis, by s thousandths */
        float *const m = turn + s * MATRIX;
        const float angle = 0.001f * (float)s;
        m[0] = m[4] = cosf(angle);
        m[1] = sinf(angle);
        m[3] = -m[1];
        m[8] = 1.0f;
        for (int i = 0; i < CLOUD; i++) points[s * CLOUD + i] = (float)((s + i) % 7);
    }
    check(duo_keep(NULL, points, sizeof points));
    check(duo_keep(NULL, turned, sizeof turned));
    check(duo_keep(NULL, turn, sizeof turn));
    check(duo_sgemm_strided_batched(NULL, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, AXES, POINTS,
                                    AXES, 1.0f, turn, AXES, MATRIX, points, AXES, CLOUD, 0.0f,
                                    turned, AXES, CLOUD, SYSTEMS));
    check(duo_fetch(NULL, turned, sizeof turned));
    double before = 0.0, after = 0.0; /* turning changes no length */
    for (int i = 0; i < SYSTEMS * CLOUD; i++) {
        before += (double)points[i] * (double)points[i];
        after += (double)turned[i] * (double)turned[i];
    }
    printf("%d systems turned: squares of all lengths %.4f before, %.4f after\n", SYSTEMS, before,
           after);
    check(duo_release(NULL, turn));
    check(duo_release(NULL, turned));
    check(duo_release(NULL, points));
    return fabs(after / before - 1.0) < 1e-6 ? 0 : 1;
}
