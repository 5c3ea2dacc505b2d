/*
 * route_pieces.c - a reduction that sends vectors from host memory piece by piece. They are long,
 * or larger than the memory that may be taken on the device. Each passes through a workspace of one
 * piece; vectors that are on the device, or kept there, are read in place. The sum has the bits of
 * the documented order, at any memory cap.
 *
 * A piece is 2^p whole blocks, from a multiple of its length on, so its sum is a node of the
 * documented tree of blocks (numerics.md). The GPU leaves the nodes unrounded in device
 * memory; the host adds them, and rounds once.
 *
 * One queue does all in order: the next piece overwrites the one that was summed. The host runs
 * ahead of the queue; it packs into pinned stages or queues direct copies. The link rests while a
 * piece is summed. That costs little: a GPU reads its memory some 50 times as fast as the link
 * sends.
 */
#include <math.h>
#include <stdlib.h>

#include "call/execution.h"
#include "choice/costs.h"
#include "cpu/kernels.h"
#include "data/place.h"
#include "data/residency.h"
#include "data/transfer.h"
#include "gpu/backend/devices.h"

/* Most elements of a piece, a power of two: sending them by PCIe 5 takes 0.6 ms, and a launch is
 * short beside that. */
enum { LONGEST_PIECE = 1 << 23 };

/* Is the operand read from host memory? Otherwise it has a place on a device. */
static bool is_sent(const duo_operand *o)
{
    return o->read && !duo_operand_kept(o) && o->residence != DUO_AT_DEVICE;
}

/* ---- Workspace ---- */

static int64_t pieces_of(const duo_call *call, int64_t length)
{
    return call->n / length + (call->n % length != 0);
}

/* Bytes of workspace for vector i in pieces of this length: one piece, if it is sent. */
static double piece_bytes(const duo_call *call, int64_t length, int i)
{
    if (!is_sent(&call->operand[i])) return 0.0;
    return 4.0 * (double)(call->n < length ? call->n : length);
}

/* Bytes of the nodes of all pieces; they wait for the host in the result's workspace. */
static double node_bytes(const duo_call *call, int64_t length)
{
    return (double)pieces_of(call, length) * (double)sizeof(double);
}

/* How many of these bytes are missing in the workspace of operand i. */
static double missing(const duo_resources *res, int i, double bytes)
{
    return fmax(0.0, bytes - (double)res->workspace[i].bytes);
}

/* Bytes that a device copy of the operand's array takes. */
static double copy_bytes(const duo_operand *o)
{
    duo_residency_lock();
    const duo_region *const region = duo_residency_of(o);
    const double bytes = region != NULL ? (double)duo_region_bytes(region) : 0.0;
    duo_residency_unlock();
    return bytes;
}

bool duo_reduction_streams(const duo_resources *res, const duo_call *call)
{
    if (call->operation == DUO_SGEMM) return false;
    double bytes = 0.0;
    bool any = false;
    for (int i = DUO_X; i <= DUO_Y; i++) {
        const duo_operand *const o = &call->operand[i];
        if (is_sent(o))
            bytes += missing(res, i, duo_operand_bytes(o));
        else if (o->read && !o->on_device)
            bytes += copy_bytes(o);
        any |= is_sent(o);
    }
    return any && (call->n > LONGEST_PIECE || bytes > duo_device_room(res->device));
}

/*
 * The longest piece that there is room for if earlier calls' workspace is freed. There must be room
 * for two vectors, even if one is sent: so sums and inner products in turn do not free each other's
 * workspace.
 */
static int64_t longest_piece(const duo_resources *res, const duo_call *call)
{
    double room = duo_device_room(res->device);
    for (int i = 0; i < DUO_OPERANDS; i++) room += (double)res->workspace[i].bytes;
    int64_t length = LONGEST_PIECE;
    while (length > DUO_LEAST_PIECE && 2.0 * 4.0 * (double)length + node_bytes(call, length) > room)
        length /= 2;
    return length;
}

/* Makes the workspace for the longest pieces that the device has room for: *length elements. */
static duo_status make_workspace(duo_resources *res, const duo_call *call, int64_t *length)
{
    duo_status status = DUO_ERR_MEMORY;
    int64_t next = longest_piece(res, call);
    for (; status == DUO_ERR_MEMORY && next >= DUO_LEAST_PIECE; next /= 2) {
        const double bytes[DUO_OPERANDS] = {piece_bytes(call, next, DUO_X),
                                            piece_bytes(call, next, DUO_Y), node_bytes(call, next)};
        double more = 0.0;
        for (int i = 0; i < DUO_OPERANDS; i++) more += missing(res, i, bytes[i]);
        if (more > duo_device_room(res->device)) duo_resources_free_workspace(res);
        status = DUO_OK;
        for (int i = 0; i < DUO_OPERANDS && status == DUO_OK; i++)
            status =
                duo_resources_grow(res, res->queue_device, &res->workspace[i], (size_t)bytes[i]);
        *length = next;
    }
    return status;
}

/* ---- Pieces ---- */

/* Places the vectors that are not sent. If a sent vector runs over the end of a kept array, makes
 * the array's host copy current. */
static duo_outcome place(duo_resources *res, duo_algorithm_id algorithm, const duo_call *call,
                         duo_call *local)
{
    duo_call there = *call;
    there.operand[DUO_RESULT].written = false;
    for (int i = DUO_X; i <= DUO_Y; i++)
        if (is_sent(&call->operand[i])) there.operand[i].read = false;
    duo_outcome outcome = duo_place_on_device(res, algorithm, &there, local);
    for (int i = DUO_X; i <= DUO_Y && outcome == DUO_OK; i++)
        if (is_sent(&call->operand[i]) && call->operand[i].crosses)
            outcome = duo_place_bring_home(res, local, i);
    return outcome;
}

/* Queues one piece: `count` elements from `first` on; their sum goes to *node on the device. */
static duo_status queue_piece(duo_resources *res, duo_algorithm_id algorithm, const duo_call *call,
                              const duo_call *local, int64_t first, int64_t count, double *node)
{
    duo_call piece = *local;
    piece.n = count;
    piece.unrounded = node;
    for (int i = DUO_X; i <= DUO_Y; i++) {
        const duo_operand *const from = &call->operand[i];
        duo_operand *const o = &piece.operand[i];
        if (!from->read) continue;
        o->read = true;
        o->columns = count;
        o->address += first * o->ld;
        if (!is_sent(from)) continue;
        const float *const host = o->address;
        o->address = res->workspace[i].address;
        o->ld = 1;
        const duo_status status = duo_upload(res, o->address, o->ld, host, from->ld, 1, count,
                                             from->residence == DUO_AT_PINNED);
        if (status != DUO_OK) return status;
    }
    const duo_status status = duo_backend_current()->launch(res->queue, algorithm, &piece, NULL, 0);
    return status == DUO_OK ? DUO_OK : duo_resources_failed(res, status, "launch");
}

/* Queues every piece. *queued: was any? */
static duo_status queue_pieces(duo_resources *res, duo_algorithm_id algorithm, const duo_call *call,
                               const duo_call *local, int64_t length, bool *queued)
{
    double *node = res->workspace[DUO_RESULT].address;
    for (int64_t first = 0; first < call->n; first += length) {
        const int64_t count = call->n - first < length ? call->n - first : length;
        const duo_status status = queue_piece(res, algorithm, call, local, first, count, node++);
        if (status != DUO_OK) return status;
        *queued = true;
    }
    return DUO_OK;
}

/* ---- The result ---- */

/* Waits for the nodes, and adds them. */
static duo_status take_sum(duo_resources *res, int64_t pieces, float *sum)
{
    double *const node = malloc((size_t)pieces * sizeof *node);
    if (node == NULL) return DUO_ERR_MEMORY;
    const duo_status status = duo_download_bytes(res, node, res->workspace[DUO_RESULT].address,
                                                 (size_t)pieces * sizeof *node, false);
    if (status == DUO_OK) *sum = duo_lanes_add_pieces(node, pieces);
    free(node);
    return status;
}

/* Writes the result where the user wants it, as a CPU algorithm would. */
static duo_outcome store(duo_resources *res, const duo_call *call, float sum)
{
    duo_call result = *call, local;
    const duo_operand *const o = &call->operand[DUO_RESULT];
    if (o->residence != DUO_AT_DEVICE && !o->on_device)
        return duo_place_result(res, o, sum) == DUO_OK ? DUO_OK : DUO_DECLINED;
    result.operand[DUO_X].read = result.operand[DUO_Y].read = false;
    duo_status status = duo_place_on_host(res, &result, &local);
    if (status == DUO_OK) {
        *local.operand[DUO_RESULT].address = sum;
        status = duo_place_from_host(res, &result, &local);
    }
    duo_place_end(res, &result, &local);
    return status == DUO_OK ? DUO_OK : DUO_DECLINED;
}

static duo_outcome run(duo_resources *res, duo_algorithm_id algorithm, const duo_call *call,
                       duo_call *local)
{
    int64_t length = 0;
    bool queued = false;
    float sum = 0.0f;
    const duo_outcome placed = place(res, algorithm, call, local);
    duo_status status = placed == DUO_OK ? make_workspace(res, call, &length) : DUO_ERR_DEVICE;
    if (status == DUO_OK) status = queue_pieces(res, algorithm, call, local, length, &queued);
    duo_place_queued(res, call, local, queued);
    if (status == DUO_OK) status = take_sum(res, pieces_of(call, length), &sum);
    if (status != DUO_OK) return DUO_DECLINED;
    res->reading_host = false; /* every piece was summed, so every operand has been read */
    return store(res, call, sum);
}

duo_outcome duo_run_pieces(duo_execution *e, duo_choice *choice)
{
    duo_resources *const res = &e->ctx->resources;
    duo_call local;
    res->on_gpu = true;
    const duo_outcome outcome = run(res, choice->algorithm->id, e->call, &local);
    res->on_gpu = false;
    duo_place_end(res, e->call, &local);
    return outcome;
}
