! duoblas.f90 - DuoBLAS in Fortran 2018: a thin layer over duoblas.h, which is the manual.
!
!     use duoblas
!     real :: a(m, k), b(k, n), c(m, n)
!     type(duo_context) :: ctx              ! not created: the thread's default context
!     call duo_sgemm(ctx, a, b, c)          ! C := A B
!     print *, duo_ssum(ctx, c(:, 1))
!
! Module     Files .mod belong to one compiler, so this source is installed: compile it with the
!            program, and link libduoblas. docs/guide/languages.md has the commands.
! Names      are those of duoblas.h, without its graphs. Each C function that is wrapped can also be
!            called as c_duo_NAME, with C's arguments and status: for addresses (c_ptr), other
!            kinds of elements, and results on the device.
! Arrays     are passed as they are, sections too: sizes, leading dimensions and increments are the
!            array's, and nothing is copied. One index of a matrix runs without gaps (else
!            DUO_ERR_LD). Memory of duo_malloc is a pointer that only calls may follow.
! Batches    are arrays of rank 3; the last index tells which matrix. Procedures that allocate, copy
!            and keep arrays take them as vectors: real, pointer :: x(:); x(1:size(c)) => c
! Errors     status, if present, gets the status; else a status other than DUO_OK ends the program
!            by error stop, with the name of the call, its text, and the shapes that do not fit.
! Functions  that return a sum wait for all work of a context that was created (duo_synchronize).
!            If they fail they return a NaN.
!
! The rules of duoblas.h for overlap, residence, threads and numerics hold. Since 1.0.
!
! SPDX-License-Identifier: BSD-3-Clause
module duoblas
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int32, int64
    use, intrinsic :: ieee_arithmetic, only: ieee_value, ieee_quiet_nan
    implicit none
    private

    ! ---- Constants ----

    integer(c_int), parameter, public :: &
        DUO_OK = 0, DUO_ERR_NULL = -1, DUO_ERR_SIZE = -2, DUO_ERR_LD = -3, DUO_ERR_ENUM = -4, &
        DUO_ERR_CONTEXT = -5, DUO_ERR_FOREIGN = -6, DUO_ERR_MEMORY = -7, DUO_ERR_DEVICE = -8, &
        DUO_ERR_LOST = -9, DUO_ERR_UNSUPPORTED = -10, DUO_ERR_RANGE = -11, DUO_ERR_EVENT = -12, &
        DUO_ERR_GRAPH = -13, DUO_ERR_NODE = -14, DUO_ERR_CYCLE = -15, DUO_ERR_BUILT = -16, &
        DUO_ERR_HIDDEN = -17, DUO_ERR_SHAPE = -18, DUO_ERR_CAPTURE = -19, &
        DUO_ERR_WRONG = -20
    integer(c_int), parameter, public :: DUO_ROW_MAJOR = 101, DUO_COL_MAJOR = 102
    integer(c_int), parameter, public :: &
        DUO_NO_TRANS = 111, DUO_TRANS = 112, DUO_CONJ_TRANS = 113
    integer(c_int), parameter, public :: DUO_PATH_AUTO = 0, DUO_PATH_CPU = 1, DUO_PATH_GPU = 2
    integer(c_int), parameter, public :: &
        DUO_MATH_ACCURATE = 0, DUO_MATH_IEEE = 1, DUO_MATH_TF32 = 2, DUO_MATH_FLOAT64 = 3
    integer(c_int), parameter, public :: DUO_SIDE_CPU = 0, DUO_SIDE_GPU = 1
    integer(c_int), parameter, public :: &
        DUO_AT_UNUSED = 0, DUO_AT_PAGEABLE = 1, DUO_AT_PINNED = 2, DUO_AT_KEPT = 3, &
        DUO_AT_STALE = 4, DUO_AT_DEVICE = 5, DUO_AT_REMEMBERED = 6
    integer(c_int), parameter, public :: DUO_REMEMBER_NONE = 0, DUO_REMEMBER_BYTES = 1, &
        DUO_REMEMBER_PAGES = 2
    integer(c_int), parameter, public :: DUO_OPEN_FIRST = 0, DUO_OPEN_BACKGROUND = 1
    integer(c_int), parameter, public :: DUO_PRIORITY_NORMAL = 0, DUO_PRIORITY_HIGH = 1
    integer, parameter, public :: DUO_CANDIDATES = 32

    ! ---- Types ----

    ! Before duo_create: the calling thread's default context. After duo_destroy: none, every call
    ! returns DUO_ERR_CONTEXT. A copy is the same context.
    type, public :: duo_context
        type(c_ptr) :: handle = c_null_ptr
    end type duo_context

    type, public :: duo_event
        type(c_ptr) :: handle = c_null_ptr
    end type duo_event

    ! As in duoblas.h; duo_text makes strings of the texts.
    type, bind(c), public :: duo_candidate
        type(c_ptr) :: algorithm
        integer(c_int) :: side, accepts, threads
        real(c_double) :: predicted_seconds
    end type duo_candidate

    type, bind(c), public :: duo_parts
        real(c_double) :: transfer_seconds, launch_seconds, compute_seconds
    end type duo_parts

    type, bind(c), public :: duo_decision
        integer(c_size_t) :: size
        type(c_ptr) :: operation
        integer(c_int64_t) :: m, n, k
        integer(c_int) :: residence(3)
        integer(c_int) :: side
        type(c_ptr) :: algorithm
        integer(c_int) :: threads
        real(c_double) :: predicted_seconds, seconds
        integer(c_int) :: candidates
        type(duo_candidate) :: candidate(DUO_CANDIDATES)
        character(kind=c_char) :: note(160)
        integer(c_int) :: ran ! counts from 0, as in C
        real(c_double) :: profile_seconds
        integer(c_int) :: gpu
        real(c_double) :: gpu_seconds, open_seconds, checked_bytes, spared_seconds
        type(duo_parts) :: parts(DUO_CANDIDATES)
        character(kind=c_char) :: reason(320)
        integer(c_int64_t) :: count
        type(c_ptr) :: route(DUO_CANDIDATES)
    end type duo_decision

    ! A destroyed context points here: to memory without the mark of a live one.
    integer(c_int64_t), target :: gone(8) = 0

    ! Where a matrix is, or the first of a batch, and how it is stored.
    type :: operand
        type(c_ptr) :: address = c_null_ptr
        integer(c_int) :: layout = DUO_COL_MAJOR
        integer(c_int64_t) :: rows, columns, ld, stride = 0, count = 1
    end type operand

    ! code: DUO_OK, or why there is no such product.
    type :: matrix_product
        integer(c_int) :: code
        integer(c_int) :: layout, transa, transb
        integer(c_int64_t) :: m, n, k, k_of_b
        real(c_float) :: alpha, beta
        type(operand) :: a, b, c
    end type matrix_product

    ! ---- Procedures ----

    public :: duo_create, duo_destroy, duo_set_path, duo_set_math, duo_set_threads, &
        duo_get_threads, duo_set_adapt, duo_set_async, duo_set_device, duo_set_devices, &
        duo_set_stream, duo_set_priority, duo_set_open, duo_set_remember, duo_set_verify, &
        duo_get_verified, duo_warm_up, duo_synchronize, duo_trim
    public :: duo_event_create, duo_event_destroy, duo_event_record, duo_event_wait, &
        duo_event_synchronize, duo_event_query
    public :: duo_device_count, duo_sgemm, duo_sgemm_batched, duo_sasum, duo_ssum, duo_sdot
    public :: duo_malloc, duo_free, duo_malloc_host, duo_free_host, duo_copy
    public :: duo_keep, duo_changed, duo_fetch, duo_release, duo_prepare
    public :: duo_explain_last, duo_status_string, duo_error_detail, duo_version, duo_text

    public :: c_duo_create, c_duo_destroy, c_duo_set_path, c_duo_set_math, c_duo_set_threads, &
        c_duo_get_threads, c_duo_set_adapt, c_duo_set_async, c_duo_set_device, &
        c_duo_set_devices, c_duo_set_stream, c_duo_set_priority, c_duo_set_open, &
        c_duo_set_remember, c_duo_set_verify, c_duo_get_verified, c_duo_warm_up, &
        c_duo_synchronize, c_duo_trim
    public :: c_duo_event_create, c_duo_event_destroy, c_duo_event_record, c_duo_event_wait, &
        c_duo_event_synchronize, c_duo_event_query
    public :: c_duo_device_count, c_duo_sgemm, c_duo_sgemm_batched, c_duo_sgemm_grouped, &
        c_duo_sgemm_strided_batched, &
        c_duo_sasum, c_duo_ssum, c_duo_sdot
    public :: c_duo_malloc, c_duo_free, c_duo_malloc_host, c_duo_free_host, c_duo_copy
    public :: c_duo_keep, c_duo_changed, c_duo_fetch, c_duo_release, c_duo_prepare
    public :: c_duo_explain_last, c_duo_status_string, c_duo_error_detail

    ! Batches a, b and c; a or b may also be a matrix that serves all products.
    interface duo_sgemm_batched
        module procedure batch_by_batch, matrix_by_batch, batch_by_matrix
    end interface duo_sgemm_batched

    ! Vectors and matrices of floats on the device, not set: (ctx, x, n) and (ctx, x, m, n), with
    ! sizes of 32 bits or all of 64.
    interface duo_malloc
        module procedure malloc_vector, malloc_matrix, malloc_vector_64, malloc_matrix_64
    end interface duo_malloc

    ! In pinned host memory.
    interface duo_malloc_host
        module procedure malloc_host_vector, malloc_host_matrix, malloc_host_vector_64, &
            malloc_host_matrix_64
    end interface duo_malloc_host

    ! Afterwards x points to nothing.
    interface duo_free
        module procedure free_vector, free_matrix
    end interface duo_free

    interface duo_free_host
        module procedure free_host_vector, free_host_matrix
    end interface duo_free_host

    ! All of a vector or matrix to another of as many elements, or DUO_ERR_SIZE. These procedures,
    ! and those below, take arrays without gaps, or return DUO_ERR_LD.
    interface duo_copy
        module procedure copy_vector, copy_matrix
    end interface duo_copy

    ! The array has to stay where it is until duo_release: it has the attribute target or pointer,
    ! and may be an argument with intent(in). No expression is taken.
    interface duo_keep
        module procedure keep_vector, keep_matrix
    end interface duo_keep

    interface duo_changed
        module procedure changed_vector, changed_matrix
    end interface duo_changed

    interface duo_fetch
        module procedure fetch_vector, fetch_matrix
    end interface duo_fetch

    interface duo_release
        module procedure release_vector, release_matrix
    end interface duo_release

    ! on=.false. ends the promise.
    interface duo_prepare
        module procedure prepare_vector, prepare_matrix
    end interface duo_prepare

    interface duo_text
        module procedure text_at, text_of
    end interface duo_text

    ! ---- The C functions ----

    interface
        function c_duo_create(ctx) bind(c, name="duo_create") result(status)
            import
            type(c_ptr), intent(out) :: ctx
            integer(c_int) :: status
        end function
        function c_duo_destroy(ctx) bind(c, name="duo_destroy") result(status)
            import
            type(c_ptr), value :: ctx
            integer(c_int) :: status
        end function
        function c_duo_set_path(ctx, path) bind(c, name="duo_set_path") result(status)
            import
            type(c_ptr), value :: ctx
            integer(c_int), value :: path
            integer(c_int) :: status
        end function
        function c_duo_set_math(ctx, math) bind(c, name="duo_set_math") result(status)
            import
            type(c_ptr), value :: ctx
            integer(c_int), value :: math
            integer(c_int) :: status
        end function
        function c_duo_set_threads(ctx, threads) bind(c, name="duo_set_threads") result(status)
            import
            type(c_ptr), value :: ctx
            integer(c_int), value :: threads
            integer(c_int) :: status
        end function
        function c_duo_get_threads(ctx, threads) bind(c, name="duo_get_threads") result(status)
            import
            type(c_ptr), value :: ctx
            integer(c_int), intent(out) :: threads
            integer(c_int) :: status
        end function
        function c_duo_set_adapt(ctx, on) bind(c, name="duo_set_adapt") result(status)
            import
            type(c_ptr), value :: ctx
            integer(c_int), value :: on
            integer(c_int) :: status
        end function
        function c_duo_set_verify(ctx, rate, seed) bind(c, name="duo_set_verify") result(status)
            import
            type(c_ptr), value :: ctx
            real(c_double), value :: rate
            integer(c_int64_t), value :: seed
            integer(c_int) :: status
        end function
        function c_duo_get_verified(checked, wrong) bind(c, name="duo_get_verified") &
            result(status)
            import
            integer(c_int64_t), intent(out) :: checked, wrong
            integer(c_int) :: status
        end function
        function c_duo_set_open(ctx, open) bind(c, name="duo_set_open") result(status)
            import
            type(c_ptr), value :: ctx
            integer(c_int), value :: open
            integer(c_int) :: status
        end function
        function c_duo_set_remember(ctx, remember) bind(c, name="duo_set_remember") result(status)
            import
            type(c_ptr), value :: ctx
            integer(c_int), value :: remember
            integer(c_int) :: status
        end function
        function c_duo_set_async(ctx, on) bind(c, name="duo_set_async") result(status)
            import
            type(c_ptr), value :: ctx
            integer(c_int), value :: on
            integer(c_int) :: status
        end function
        function c_duo_set_device(ctx, device) bind(c, name="duo_set_device") result(status)
            import
            type(c_ptr), value :: ctx
            integer(c_int), value :: device
            integer(c_int) :: status
        end function
        function c_duo_set_devices(ctx, devices, count) bind(c, name="duo_set_devices") &
            result(status)
            import
            type(c_ptr), value :: ctx
            integer(c_int), intent(in) :: devices(*)
            integer(c_int), value :: count
            integer(c_int) :: status
        end function
        function c_duo_set_stream(ctx, cuda_stream) bind(c, name="duo_set_stream") result(status)
            import
            type(c_ptr), value :: ctx, cuda_stream
            integer(c_int) :: status
        end function
        function c_duo_set_priority(ctx, priority) bind(c, name="duo_set_priority") result(status)
            import
            type(c_ptr), value :: ctx
            integer(c_int), value :: priority
            integer(c_int) :: status
        end function
        function c_duo_warm_up(ctx) bind(c, name="duo_warm_up") result(status)
            import
            type(c_ptr), value :: ctx
            integer(c_int) :: status
        end function
        function c_duo_synchronize(ctx) bind(c, name="duo_synchronize") result(status)
            import
            type(c_ptr), value :: ctx
            integer(c_int) :: status
        end function
        function c_duo_trim(ctx) bind(c, name="duo_trim") result(status)
            import
            type(c_ptr), value :: ctx
            integer(c_int) :: status
        end function

        function c_duo_event_create(event) bind(c, name="duo_event_create") result(status)
            import
            type(c_ptr), intent(out) :: event
            integer(c_int) :: status
        end function
        function c_duo_event_destroy(event) bind(c, name="duo_event_destroy") result(status)
            import
            type(c_ptr), value :: event
            integer(c_int) :: status
        end function
        function c_duo_event_record(ctx, event) bind(c, name="duo_event_record") result(status)
            import
            type(c_ptr), value :: ctx, event
            integer(c_int) :: status
        end function
        function c_duo_event_wait(ctx, event) bind(c, name="duo_event_wait") result(status)
            import
            type(c_ptr), value :: ctx, event
            integer(c_int) :: status
        end function
        function c_duo_event_synchronize(event) bind(c, name="duo_event_synchronize") &
            result(status)
            import
            type(c_ptr), value :: event
            integer(c_int) :: status
        end function
        function c_duo_event_query(event, done) bind(c, name="duo_event_query") result(status)
            import
            type(c_ptr), value :: event
            integer(c_int), intent(out) :: done
            integer(c_int) :: status
        end function

        function c_duo_device_count(count) bind(c, name="duo_device_count") result(status)
            import
            integer(c_int), intent(out) :: count
            integer(c_int) :: status
        end function

        function c_duo_sgemm(ctx, layout, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, &
            c, ldc) bind(c, name="duo_sgemm") result(status)
            import
            type(c_ptr), value :: ctx, a, b, c
            integer(c_int), value :: layout, transa, transb
            integer(c_int64_t), value :: m, n, k, lda, ldb, ldc
            real(c_float), value :: alpha, beta
            integer(c_int) :: status
        end function
        function c_duo_sgemm_batched(ctx, layout, transa, transb, m, n, k, alpha, a, lda, b, ldb, &
            beta, c, ldc, count) bind(c, name="duo_sgemm_batched") result(status)
            import
            type(c_ptr), value :: ctx
            type(c_ptr), intent(in) :: a(*), b(*), c(*)
            integer(c_int), value :: layout, transa, transb
            integer(c_int64_t), value :: m, n, k, lda, ldb, ldc, count
            real(c_float), value :: alpha, beta
            integer(c_int) :: status
        end function
        function c_duo_sgemm_grouped(ctx, layout, group_count, transa, transb, m, n, k, alpha, a, &
            lda, b, ldb, beta, c, ldc, group_size) bind(c, name="duo_sgemm_grouped") result(status)
            import
            type(c_ptr), value :: ctx
            integer(c_int), value :: layout
            integer(c_int64_t), value :: group_count
            integer(c_int), intent(in) :: transa(*), transb(*)
            integer(c_int64_t), intent(in) :: m(*), n(*), k(*), lda(*), ldb(*), ldc(*)
            integer(c_int64_t), intent(in) :: group_size(*)
            real(c_float), intent(in) :: alpha(*), beta(*)
            type(c_ptr), intent(in) :: a(*), b(*), c(*)
            integer(c_int) :: status
        end function
        function c_duo_sgemm_strided_batched(ctx, layout, transa, transb, m, n, k, alpha, a, lda, &
            stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, count) &
            bind(c, name="duo_sgemm_strided_batched") result(status)
            import
            type(c_ptr), value :: ctx, a, b, c
            integer(c_int), value :: layout, transa, transb
            integer(c_int64_t), value :: m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, count
            real(c_float), value :: alpha, beta
            integer(c_int) :: status
        end function
        function c_duo_sasum(ctx, n, x, incx, total) bind(c, name="duo_sasum") result(status)
            import
            type(c_ptr), value :: ctx, x, total
            integer(c_int64_t), value :: n, incx
            integer(c_int) :: status
        end function
        function c_duo_ssum(ctx, n, x, incx, total) bind(c, name="duo_ssum") result(status)
            import
            type(c_ptr), value :: ctx, x, total
            integer(c_int64_t), value :: n, incx
            integer(c_int) :: status
        end function
        function c_duo_sdot(ctx, n, x, incx, y, incy, total) bind(c, name="duo_sdot") &
            result(status)
            import
            type(c_ptr), value :: ctx, x, y, total
            integer(c_int64_t), value :: n, incx, incy
            integer(c_int) :: status
        end function

        function c_duo_malloc(ctx, bytes, address) bind(c, name="duo_malloc") result(status)
            import
            type(c_ptr), value :: ctx
            integer(c_size_t), value :: bytes
            type(c_ptr), intent(out) :: address
            integer(c_int) :: status
        end function
        function c_duo_free(ctx, address) bind(c, name="duo_free") result(status)
            import
            type(c_ptr), value :: ctx, address
            integer(c_int) :: status
        end function
        function c_duo_malloc_host(ctx, bytes, address) bind(c, name="duo_malloc_host") &
            result(status)
            import
            type(c_ptr), value :: ctx
            integer(c_size_t), value :: bytes
            type(c_ptr), intent(out) :: address
            integer(c_int) :: status
        end function
        function c_duo_free_host(ctx, address) bind(c, name="duo_free_host") result(status)
            import
            type(c_ptr), value :: ctx, address
            integer(c_int) :: status
        end function
        function c_duo_copy(ctx, dst, src, bytes) bind(c, name="duo_copy") result(status)
            import
            type(c_ptr), value :: ctx, dst, src
            integer(c_size_t), value :: bytes
            integer(c_int) :: status
        end function

        function c_duo_keep(ctx, host, bytes) bind(c, name="duo_keep") result(status)
            import
            type(c_ptr), value :: ctx, host
            integer(c_size_t), value :: bytes
            integer(c_int) :: status
        end function
        function c_duo_changed(ctx, host, bytes) bind(c, name="duo_changed") result(status)
            import
            type(c_ptr), value :: ctx, host
            integer(c_size_t), value :: bytes
            integer(c_int) :: status
        end function
        function c_duo_fetch(ctx, host, bytes) bind(c, name="duo_fetch") result(status)
            import
            type(c_ptr), value :: ctx, host
            integer(c_size_t), value :: bytes
            integer(c_int) :: status
        end function
        function c_duo_release(ctx, host) bind(c, name="duo_release") result(status)
            import
            type(c_ptr), value :: ctx, host
            integer(c_int) :: status
        end function
        function c_duo_prepare(ctx, address, bytes) bind(c, name="duo_prepare") result(status)
            import
            type(c_ptr), value :: ctx, address
            integer(c_size_t), value :: bytes
            integer(c_int) :: status
        end function

        function c_duo_explain_last(ctx, decision) bind(c, name="duo_explain_last") &
            result(status)
            import
            type(c_ptr), value :: ctx
            type(duo_decision), intent(inout) :: decision
            integer(c_int) :: status
        end function
        function c_duo_status_string(code) bind(c, name="duo_status_string") result(text)
            import
            integer(c_int), value :: code
            type(c_ptr) :: text
        end function
        function c_duo_error_detail(ctx) bind(c, name="duo_error_detail") result(text)
            import
            type(c_ptr), value :: ctx
            type(c_ptr) :: text
        end function
        function duo_version() bind(c, name="duo_version") result(version)
            import
            integer(c_int) :: version
        end function
    end interface

contains

    ! ---- Errors and texts ----

    ! The end of each call. `why` says more than the status does, or is "".
    subroutine settle(call, code, status, why)
        character(*), intent(in) :: call
        integer(c_int), intent(in) :: code
        integer(c_int), intent(out), optional :: status
        character(*), intent(in), optional :: why
        character(:), allocatable :: text
        if (present(status)) then
            status = code
        else if (code /= DUO_OK) then
            text = duo_status_string(code)
            if (code == DUO_ERR_LD) text = "an array has gaps that it may not have"
            if (present(why)) text = text // why
            text = call // ": " // text
            error stop text
        end if
    end subroutine

    function duo_status_string(code) result(text)
        integer(c_int), intent(in) :: code
        character(:), allocatable :: text
        text = text_at(c_duo_status_string(code))
    end function

    function duo_error_detail(ctx) result(text)
        type(duo_context), intent(in) :: ctx
        character(:), allocatable :: text
        text = text_at(c_duo_error_detail(ctx%handle))
    end function

    ! The text that begins at an address; "" where there is none.
    function text_at(address) result(text)
        type(c_ptr), intent(in) :: address
        character(:), allocatable :: text
        character(kind=c_char), pointer :: bytes(:)
        integer :: length
        text = ""
        if (.not. c_associated(address)) return
        length = 0
        do
            call c_f_pointer(address, bytes, [length + 1])
            if (bytes(length + 1) == c_null_char) exit
            length = length + 1
        end do
        text = text_of(bytes)
    end function

    ! The text that an array holds.
    function text_of(bytes) result(text)
        character(kind=c_char), intent(in) :: bytes(:)
        character(:), allocatable :: text
        integer :: i
        text = ""
        do i = 1, size(bytes)
            if (bytes(i) == c_null_char) exit
            text = text // bytes(i)
        end do
    end function

    ! ---- Contexts ----

    subroutine duo_create(ctx, status)
        type(duo_context), intent(out) :: ctx
        integer(c_int), intent(out), optional :: status
        call settle("duo_create", c_duo_create(ctx%handle), status)
    end subroutine

    subroutine duo_destroy(ctx, status)
        type(duo_context), intent(inout) :: ctx
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: handle
        handle = ctx%handle
        if (c_associated(handle)) ctx%handle = c_loc(gone)
        call settle("duo_destroy", c_duo_destroy(handle), status)
    end subroutine

    subroutine duo_set_path(ctx, path, status)
        type(duo_context), intent(in) :: ctx
        integer(c_int), intent(in) :: path
        integer(c_int), intent(out), optional :: status
        call settle("duo_set_path", c_duo_set_path(ctx%handle, path), status)
    end subroutine

    subroutine duo_set_math(ctx, math, status)
        type(duo_context), intent(in) :: ctx
        integer(c_int), intent(in) :: math
        integer(c_int), intent(out), optional :: status
        call settle("duo_set_math", c_duo_set_math(ctx%handle, math), status)
    end subroutine

    subroutine duo_set_threads(ctx, threads, status)
        type(duo_context), intent(in) :: ctx
        integer(c_int), intent(in) :: threads
        integer(c_int), intent(out), optional :: status
        call settle("duo_set_threads", c_duo_set_threads(ctx%handle, threads), status)
    end subroutine

    subroutine duo_get_threads(ctx, threads, status)
        type(duo_context), intent(in) :: ctx
        integer(c_int), intent(out) :: threads
        integer(c_int), intent(out), optional :: status
        call settle("duo_get_threads", c_duo_get_threads(ctx%handle, threads), status)
    end subroutine

    subroutine duo_set_adapt(ctx, on, status)
        type(duo_context), intent(in) :: ctx
        logical, intent(in) :: on
        integer(c_int), intent(out), optional :: status
        call settle("duo_set_adapt", &
            c_duo_set_adapt(ctx%handle, merge(1_c_int, 0_c_int, on)), status)
    end subroutine

    subroutine duo_set_verify(ctx, rate, seed, status)
        type(duo_context), intent(in) :: ctx
        real(c_double), intent(in) :: rate
        integer(c_int64_t), intent(in), optional :: seed
        integer(c_int), intent(out), optional :: status
        integer(c_int64_t) :: given
        given = 0
        if (present(seed)) given = seed
        call settle("duo_set_verify", c_duo_set_verify(ctx%handle, rate, given), status)
    end subroutine

    subroutine duo_get_verified(checked, wrong, status)
        integer(c_int64_t), intent(out) :: checked, wrong
        integer(c_int), intent(out), optional :: status
        call settle("duo_get_verified", c_duo_get_verified(checked, wrong), status)
    end subroutine

    subroutine duo_set_open(ctx, open, status)
        type(duo_context), intent(in) :: ctx
        integer(c_int), intent(in) :: open
        integer(c_int), intent(out), optional :: status
        call settle("duo_set_open", c_duo_set_open(ctx%handle, open), status)
    end subroutine

    subroutine duo_set_remember(ctx, remember, status)
        type(duo_context), intent(in) :: ctx
        integer(c_int), intent(in) :: remember
        integer(c_int), intent(out), optional :: status
        call settle("duo_set_remember", c_duo_set_remember(ctx%handle, remember), status)
    end subroutine

    subroutine duo_set_async(ctx, on, status)
        type(duo_context), intent(in) :: ctx
        logical, intent(in) :: on
        integer(c_int), intent(out), optional :: status
        call settle("duo_set_async", &
            c_duo_set_async(ctx%handle, merge(1_c_int, 0_c_int, on)), status)
    end subroutine

    subroutine duo_set_device(ctx, device, status)
        type(duo_context), intent(in) :: ctx
        integer(c_int), intent(in) :: device
        integer(c_int), intent(out), optional :: status
        call settle("duo_set_device", c_duo_set_device(ctx%handle, device), status)
    end subroutine

    subroutine duo_set_devices(ctx, devices, status)
        type(duo_context), intent(in) :: ctx
        integer(c_int), intent(in) :: devices(:)
        integer(c_int), intent(out), optional :: status
        call settle("duo_set_devices", &
            c_duo_set_devices(ctx%handle, devices, size(devices, kind=c_int)), status)
    end subroutine

    subroutine duo_set_stream(ctx, cuda_stream, status)
        type(duo_context), intent(in) :: ctx
        type(c_ptr), intent(in) :: cuda_stream
        integer(c_int), intent(out), optional :: status
        call settle("duo_set_stream", c_duo_set_stream(ctx%handle, cuda_stream), status)
    end subroutine

    subroutine duo_set_priority(ctx, priority, status)
        type(duo_context), intent(in) :: ctx
        integer(c_int), intent(in) :: priority
        integer(c_int), intent(out), optional :: status
        call settle("duo_set_priority", c_duo_set_priority(ctx%handle, priority), status)
    end subroutine

    subroutine duo_warm_up(ctx, status)
        type(duo_context), intent(in) :: ctx
        integer(c_int), intent(out), optional :: status
        call settle("duo_warm_up", c_duo_warm_up(ctx%handle), status)
    end subroutine

    subroutine duo_synchronize(ctx, status)
        type(duo_context), intent(in) :: ctx
        integer(c_int), intent(out), optional :: status
        call settle("duo_synchronize", c_duo_synchronize(ctx%handle), status)
    end subroutine

    subroutine duo_trim(ctx, status)
        type(duo_context), intent(in) :: ctx
        integer(c_int), intent(out), optional :: status
        call settle("duo_trim", c_duo_trim(ctx%handle), status)
    end subroutine

    ! ---- Events ----

    subroutine duo_event_create(event, status)
        type(duo_event), intent(out) :: event
        integer(c_int), intent(out), optional :: status
        call settle("duo_event_create", c_duo_event_create(event%handle), status)
    end subroutine

    subroutine duo_event_destroy(event, status)
        type(duo_event), intent(inout) :: event
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: handle
        handle = event%handle
        event%handle = c_null_ptr
        call settle("duo_event_destroy", c_duo_event_destroy(handle), status)
    end subroutine

    subroutine duo_event_record(ctx, event, status)
        type(duo_context), intent(in) :: ctx
        type(duo_event), intent(in) :: event
        integer(c_int), intent(out), optional :: status
        call settle("duo_event_record", c_duo_event_record(ctx%handle, event%handle), status)
    end subroutine

    subroutine duo_event_wait(ctx, event, status)
        type(duo_context), intent(in) :: ctx
        type(duo_event), intent(in) :: event
        integer(c_int), intent(out), optional :: status
        call settle("duo_event_wait", c_duo_event_wait(ctx%handle, event%handle), status)
    end subroutine

    subroutine duo_event_synchronize(event, status)
        type(duo_event), intent(in) :: event
        integer(c_int), intent(out), optional :: status
        call settle("duo_event_synchronize", c_duo_event_synchronize(event%handle), status)
    end subroutine

    subroutine duo_event_query(event, done, status)
        type(duo_event), intent(in) :: event
        logical, intent(out) :: done
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: code, reached
        reached = 0
        code = c_duo_event_query(event%handle, reached)
        done = reached /= 0
        call settle("duo_event_query", code, status)
    end subroutine

    ! ---- Devices ----

    subroutine duo_device_count(count, status)
        integer(c_int), intent(out) :: count
        integer(c_int), intent(out), optional :: status
        call settle("duo_device_count", c_duo_device_count(count), status)
    end subroutine

    ! ---- Where arrays are ----

    ! Elements from one address to another.
    function distance(from, to)
        type(c_ptr), intent(in) :: from, to
        integer(c_int64_t) :: distance
        integer(c_intptr_t), parameter :: float_bytes = storage_size(1.0_c_float) / 8
        distance = (transfer(to, 0_c_intptr_t) - transfer(from, 0_c_intptr_t)) / float_bytes
    end function

    ! Row-major: a transpose, which compilers pass without copying, or columns with gaps between
    ! their elements. ld = 0, which every product refuses: both indices have gaps.
    function matrix_operand(x) result(at)
        real(c_float), intent(in), target :: x(:, :)
        type(operand) :: at
        integer(c_int64_t) :: down, across
        at = empty_operand(shape(x, c_int64_t))
        if (size(x, kind=c_int64_t) == 0) return
        at%address = c_loc(x(1, 1))
        down = 1
        across = at%ld
        if (at%rows > 1) down = distance(at%address, c_loc(x(2, 1)))
        if (at%columns > 1) across = distance(at%address, c_loc(x(1, 2)))
        at%ld = across
        if (down == 1) return
        at%ld = 0
        if (across /= 1 .and. at%columns > 1) return
        at%ld = down
        at%layout = DUO_ROW_MAJOR
    end function

    ! A batch of one matrix has stride 0: it serves all products.
    function batch_operand(x) result(at)
        real(c_float), intent(in), target :: x(:, :, :)
        type(operand) :: at
        at = empty_operand(shape(x, c_int64_t))
        if (size(x, 3, c_int64_t) > 0) at = matrix_operand(x(:, :, 1))
        at%count = size(x, 3, c_int64_t)
        if (c_associated(at%address) .and. at%count > 1) &
            at%stride = distance(at%address, c_loc(x(1, 1, 2)))
    end function

    function empty_operand(extents) result(at)
        integer(c_int64_t), intent(in) :: extents(:)
        type(operand) :: at
        at = operand(rows=extents(1), columns=extents(2), ld=max(1_c_int64_t, extents(1)))
    end function

    ! By one of the constants, or by the first letter of a text, as in BLAS. 0: by neither.
    function op_of(trans) result(op)
        class(*), intent(in), optional :: trans
        integer(c_int), parameter :: ops(3) = [DUO_NO_TRANS, DUO_TRANS, DUO_CONJ_TRANS]
        integer(c_int) :: op
        integer :: letter
        op = DUO_NO_TRANS
        if (.not. present(trans)) return
        op = 0
        letter = 0
        select type (trans)
        type is (integer(c_int))
            if (any(trans == ops)) op = trans
        type is (character(*))
            if (len(trans) > 0) letter = index("NTCntc", trans(1:1))
            if (letter > 0) op = ops(mod(letter - 1, 3) + 1)
        end select
    end function

    ! op, or the opposite for a matrix that is read in the other layout.
    function op_as_read(op, as_stored) result(read)
        integer(c_int), intent(in) :: op
        logical, intent(in) :: as_stored
        integer(c_int) :: read
        read = op
        if (as_stored) return
        if (op == DUO_NO_TRANS) read = DUO_TRANS
        if (op == DUO_TRANS .or. op == DUO_CONJ_TRANS) read = DUO_NO_TRANS
    end function

    ! Lowest address and increment of a vector, as BLAS takes them.
    subroutine place_vector(x, address, inc)
        real(c_float), intent(in), target :: x(:)
        type(c_ptr), intent(out) :: address
        integer(c_int64_t), intent(out) :: inc
        address = c_null_ptr
        inc = 1
        if (size(x, kind=c_int64_t) == 0) return
        address = c_loc(x(1))
        if (size(x, kind=c_int64_t) > 1) inc = distance(address, c_loc(x(2)))
        if (inc < 0) address = c_loc(x(size(x, kind=c_int64_t)))
    end subroutine

    ! Address and bytes of a whole array. DUO_ERR_NULL: a pointer to nothing; DUO_ERR_LD: it has
    ! gaps.
    subroutine whole_vector(x, address, bytes, code)
        real(c_float), pointer, intent(in) :: x(:)
        type(c_ptr), intent(out) :: address
        integer(c_size_t), intent(out) :: bytes
        integer(c_int), intent(out) :: code
        address = c_null_ptr
        bytes = 0
        code = DUO_ERR_NULL
        if (.not. associated(x)) return
        bytes = size(x, kind=c_size_t) * (storage_size(1.0_c_float) / 8)
        code = DUO_ERR_LD
        if (.not. is_contiguous(x)) return
        address = c_loc(x)
        code = DUO_OK
    end subroutine

    subroutine whole_matrix(x, address, bytes, code)
        real(c_float), pointer, intent(in) :: x(:, :)
        type(c_ptr), intent(out) :: address
        integer(c_size_t), intent(out) :: bytes
        integer(c_int), intent(out) :: code
        address = c_null_ptr
        bytes = 0
        code = DUO_ERR_NULL
        if (.not. associated(x)) return
        bytes = size(x, kind=c_size_t) * (storage_size(1.0_c_float) / 8)
        code = DUO_ERR_LD
        if (.not. is_contiguous(x)) return
        address = c_loc(x)
        code = DUO_OK
    end subroutine

    ! ---- Operations ----

    ! All in the layout of C: an A or B of the other layout becomes its own transpose.
    function product_of(a, b, c, alpha, beta, transa, transb) result(p)
        type(operand), intent(in) :: a, b, c
        real(c_float), intent(in), optional :: alpha, beta
        class(*), intent(in), optional :: transa, transb
        type(matrix_product) :: p
        integer(c_int64_t) :: of_a(2), of_b(2)
        integer(c_int) :: op_a, op_b
        op_a = op_of(transa)
        op_b = op_of(transb)
        p%alpha = 1
        p%beta = 0
        if (present(alpha)) p%alpha = alpha
        if (present(beta)) p%beta = beta
        of_a = [a%rows, a%columns]
        of_b = [b%rows, b%columns]
        if (op_a /= DUO_NO_TRANS) of_a = of_a(2:1:-1)
        if (op_b /= DUO_NO_TRANS) of_b = of_b(2:1:-1)
        p%m = of_a(1)
        p%n = of_b(2)
        p%k = of_a(2)
        p%k_of_b = of_b(1)
        p%code = DUO_OK
        if (any([p%m, p%n, p%k] /= [c%rows, c%columns, p%k_of_b]) .or. &
            all(a%count /= [1_c_int64_t, c%count]) .or. all(b%count /= [1_c_int64_t, c%count])) &
            p%code = DUO_ERR_SIZE
        if (op_a == 0 .or. op_b == 0) p%code = DUO_ERR_ENUM
        p%layout = c%layout
        p%transa = op_as_read(op_a, a%layout == c%layout)
        p%transb = op_as_read(op_b, b%layout == c%layout)
        p%a = a
        p%b = b
        p%c = c
    end function

    ! The text for arrays of two sizes; "" if they have one.
    function sizes_of(first, second) result(text)
        integer(c_int64_t), intent(in) :: first, second
        character(:), allocatable :: text
        character(60) :: line
        text = ""
        if (first == second) return
        write (line, "(a, i0, a, i0, a)") " (", first, " and ", second, " elements)"
        text = trim(line)
    end function

    ! The text for shapes that do not fit.
    function shapes_of(p) result(text)
        type(matrix_product), intent(in) :: p
        character(:), allocatable :: text
        character(200) :: line
        text = ""
        if (p%code /= DUO_ERR_SIZE) return
        write (line, "(4(a, i0, a, i0))") " (op(A) ", p%m, " x ", p%k, ", op(B) ", p%k_of_b, &
            " x ", p%n, ", C ", p%c%rows, " x ", p%c%columns
        text = trim(line)
        if (p%c%count /= 1 .or. p%a%count /= 1 .or. p%b%count /= 1) then
            write (line, "(3(a, i0))") "; A ", p%a%count, ", B ", p%b%count, ", C ", p%c%count
            text = text // trim(line) // " matrices"
        end if
        text = text // ")"
    end function

    ! C := alpha op(A) op(B) + beta C. transa and transb tell op: DUO_NO_TRANS, DUO_TRANS or
    ! DUO_CONJ_TRANS, or BLAS's 'N', 'T' or 'C'; others are DUO_ERR_ENUM. An absent alpha is 1, an
    ! absent beta 0. Shapes that do not fit are DUO_ERR_SIZE.
    subroutine duo_sgemm(ctx, a, b, c, alpha, beta, transa, transb, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), intent(in), target :: a(:, :), b(:, :)
        real(c_float), intent(inout), target :: c(:, :)
        real(c_float), intent(in), optional :: alpha, beta
        class(*), intent(in), optional :: transa, transb
        integer(c_int), intent(out), optional :: status
        type(matrix_product) :: p
        integer(c_int) :: code
        p = product_of(matrix_operand(a), matrix_operand(b), matrix_operand(c), alpha, beta, &
            transa, transb)
        code = p%code
        if (code == DUO_OK) code = c_duo_sgemm(ctx%handle, p%layout, p%transa, p%transb, p%m, &
            p%n, p%k, p%alpha, p%a%address, p%a%ld, p%b%address, p%b%ld, p%beta, p%c%address, &
            p%c%ld)
        call settle("duo_sgemm", code, status, shapes_of(p))
    end subroutine

    ! For each i, c(:, :, i) as by duo_sgemm of a(:, :, i) and b(:, :, i). A and B have as many
    ! matrices as C, or one for all products: rank 2, or a last extent of 1. Else DUO_ERR_SIZE.
    subroutine batch_by_batch(ctx, a, b, c, alpha, beta, transa, transb, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), intent(in), target :: a(:, :, :), b(:, :, :)
        real(c_float), intent(inout), target :: c(:, :, :)
        real(c_float), intent(in), optional :: alpha, beta
        class(*), intent(in), optional :: transa, transb
        integer(c_int), intent(out), optional :: status
        call multiply_batch(ctx, product_of(batch_operand(a), batch_operand(b), &
            batch_operand(c), alpha, beta, transa, transb), status)
    end subroutine

    subroutine matrix_by_batch(ctx, a, b, c, alpha, beta, transa, transb, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), intent(in), target :: a(:, :), b(:, :, :)
        real(c_float), intent(inout), target :: c(:, :, :)
        real(c_float), intent(in), optional :: alpha, beta
        class(*), intent(in), optional :: transa, transb
        integer(c_int), intent(out), optional :: status
        call multiply_batch(ctx, product_of(matrix_operand(a), batch_operand(b), &
            batch_operand(c), alpha, beta, transa, transb), status)
    end subroutine

    subroutine batch_by_matrix(ctx, a, b, c, alpha, beta, transa, transb, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), intent(in), target :: a(:, :, :), b(:, :)
        real(c_float), intent(inout), target :: c(:, :, :)
        real(c_float), intent(in), optional :: alpha, beta
        class(*), intent(in), optional :: transa, transb
        integer(c_int), intent(out), optional :: status
        call multiply_batch(ctx, product_of(batch_operand(a), matrix_operand(b), &
            batch_operand(c), alpha, beta, transa, transb), status)
    end subroutine

    subroutine multiply_batch(ctx, p, status)
        type(duo_context), intent(in) :: ctx
        type(matrix_product), intent(in) :: p
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: code
        code = p%code
        if (code == DUO_OK) code = c_duo_sgemm_strided_batched(ctx%handle, p%layout, p%transa, &
            p%transb, p%m, p%n, p%k, p%alpha, p%a%address, p%a%ld, p%a%stride, p%b%address, &
            p%b%ld, p%b%stride, p%beta, p%c%address, p%c%ld, p%c%stride, p%c%count)
        call settle("duo_sgemm_batched", code, status, shapes_of(p))
    end subroutine

    ! The sum of |x(i)|. A section that runs backwards is summed forwards.
    function duo_sasum(ctx, x, status) result(total)
        type(duo_context), intent(in) :: ctx
        real(c_float), intent(in), target :: x(:)
        integer(c_int), intent(out), optional :: status
        real(c_float) :: total
        type(c_ptr) :: at_x
        integer(c_int64_t) :: incx
        integer(c_int) :: code
        real(c_float), pointer :: there
        call make_room(there, code)
        call place_vector(x, at_x, incx)
        if (code == DUO_OK) code = c_duo_sasum(ctx%handle, size(x, kind=c_int64_t), at_x, &
            abs(incx), c_loc(there))
        call await(ctx, "duo_sasum", code, there, total, status)
    end function

    ! The sum of x(i), likewise.
    function duo_ssum(ctx, x, status) result(total)
        type(duo_context), intent(in) :: ctx
        real(c_float), intent(in), target :: x(:)
        integer(c_int), intent(out), optional :: status
        real(c_float) :: total
        type(c_ptr) :: at_x
        integer(c_int64_t) :: incx
        integer(c_int) :: code
        real(c_float), pointer :: there
        call make_room(there, code)
        call place_vector(x, at_x, incx)
        if (code == DUO_OK) code = c_duo_ssum(ctx%handle, size(x, kind=c_int64_t), at_x, &
            abs(incx), c_loc(there))
        call await(ctx, "duo_ssum", code, there, total, status)
    end function

    ! The sum of x(i) y(i). Vectors of different sizes are DUO_ERR_SIZE.
    function duo_sdot(ctx, x, y, status) result(total)
        type(duo_context), intent(in) :: ctx
        real(c_float), intent(in), target :: x(:), y(:)
        integer(c_int), intent(out), optional :: status
        real(c_float) :: total
        type(c_ptr) :: at_x, at_y
        integer(c_int64_t) :: incx, incy
        integer(c_int) :: code
        real(c_float), pointer :: there
        call make_room(there, code)
        call place_vector(x, at_x, incx)
        call place_vector(y, at_y, incy)
        if (size(x, kind=c_int64_t) /= size(y, kind=c_int64_t)) code = DUO_ERR_SIZE
        if (code == DUO_OK) code = c_duo_sdot(ctx%handle, size(x, kind=c_int64_t), at_x, incx, &
            at_y, incy, c_loc(there))
        call await(ctx, "duo_sdot", code, there, total, status, &
            sizes_of(size(x, kind=c_int64_t), size(y, kind=c_int64_t)))
    end function

    ! Room for a result. Without memory the program goes on, with a status.
    subroutine make_room(there, code)
        real(c_float), pointer, intent(out) :: there
        integer(c_int), intent(out) :: code
        integer :: failed
        allocate (there, stat=failed)
        code = DUO_OK
        if (failed == 0) return
        nullify (there)
        code = DUO_ERR_MEMORY
    end subroutine

    ! The result of a call, once it is there. A context may still write it when the call has
    ! returned (duo_set_async); if waiting for it fails, its memory has to stay.
    subroutine await(ctx, call, code, there, total, status, why)
        type(duo_context), intent(in) :: ctx
        character(*), intent(in) :: call
        integer(c_int), intent(in) :: code
        real(c_float), pointer, intent(inout) :: there
        real(c_float), intent(out) :: total
        integer(c_int), intent(out), optional :: status
        character(*), intent(in), optional :: why
        integer :: ignored
        integer(c_int) :: waited
        waited = DUO_OK
        total = ieee_value(1.0_c_float, ieee_quiet_nan)
        if (code == DUO_OK .and. c_associated(ctx%handle)) waited = c_duo_synchronize(ctx%handle)
        if (code == DUO_OK .and. waited == DUO_OK) total = there
        if (waited == DUO_OK .and. associated(there)) deallocate (there, stat=ignored)
        call settle(call, merge(code, waited, code /= DUO_OK), status, why)
    end subroutine

    ! ---- Memory ----

    ! Bytes of m x n floats; on overflow more than any memory has.
    function bytes_of(m, n) result(bytes)
        integer(int64), intent(in) :: m, n
        integer(c_size_t) :: bytes
        bytes = 0
        if (m <= 0 .or. n <= 0) return
        bytes = huge(bytes)
        if (m <= huge(bytes) / n / 4) bytes = m * n * 4
    end function

    subroutine malloc_vector(ctx, x, n, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(out) :: x(:)
        integer(int32), intent(in) :: n
        integer(c_int), intent(out), optional :: status
        call malloc_vector_64(ctx, x, int(n, int64), status)
    end subroutine

    subroutine malloc_vector_64(ctx, x, n, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(out) :: x(:)
        integer(int64), intent(in) :: n
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: address
        integer(c_int) :: code
        code = c_duo_malloc(ctx%handle, bytes_of(n, 1_int64), address)
        nullify (x)
        if (code == DUO_OK) call c_f_pointer(address, x, [max(n, 0_int64)])
        call settle("duo_malloc", code, status)
    end subroutine

    subroutine malloc_matrix(ctx, x, m, n, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(out) :: x(:, :)
        integer(int32), intent(in) :: m, n
        integer(c_int), intent(out), optional :: status
        call malloc_matrix_64(ctx, x, int(m, int64), int(n, int64), status)
    end subroutine

    subroutine malloc_matrix_64(ctx, x, m, n, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(out) :: x(:, :)
        integer(int64), intent(in) :: m, n
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: address
        integer(c_int) :: code
        code = c_duo_malloc(ctx%handle, bytes_of(m, n), address)
        nullify (x)
        if (code == DUO_OK) call c_f_pointer(address, x, max([m, n], 0_int64))
        call settle("duo_malloc", code, status)
    end subroutine

    subroutine malloc_host_vector(ctx, x, n, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(out) :: x(:)
        integer(int32), intent(in) :: n
        integer(c_int), intent(out), optional :: status
        call malloc_host_vector_64(ctx, x, int(n, int64), status)
    end subroutine

    subroutine malloc_host_vector_64(ctx, x, n, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(out) :: x(:)
        integer(int64), intent(in) :: n
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: address
        integer(c_int) :: code
        code = c_duo_malloc_host(ctx%handle, bytes_of(n, 1_int64), address)
        nullify (x)
        if (code == DUO_OK) call c_f_pointer(address, x, [max(n, 0_int64)])
        call settle("duo_malloc_host", code, status)
    end subroutine

    subroutine malloc_host_matrix(ctx, x, m, n, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(out) :: x(:, :)
        integer(int32), intent(in) :: m, n
        integer(c_int), intent(out), optional :: status
        call malloc_host_matrix_64(ctx, x, int(m, int64), int(n, int64), status)
    end subroutine

    subroutine malloc_host_matrix_64(ctx, x, m, n, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(out) :: x(:, :)
        integer(int64), intent(in) :: m, n
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: address
        integer(c_int) :: code
        code = c_duo_malloc_host(ctx%handle, bytes_of(m, n), address)
        nullify (x)
        if (code == DUO_OK) call c_f_pointer(address, x, max([m, n], 0_int64))
        call settle("duo_malloc_host", code, status)
    end subroutine

    subroutine free_vector(ctx, x, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(inout) :: x(:)
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: address
        address = c_loc(x)
        nullify (x)
        call settle("duo_free", c_duo_free(ctx%handle, address), status)
    end subroutine

    subroutine free_matrix(ctx, x, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(inout) :: x(:, :)
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: address
        address = c_loc(x)
        nullify (x)
        call settle("duo_free", c_duo_free(ctx%handle, address), status)
    end subroutine

    subroutine free_host_vector(ctx, x, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(inout) :: x(:)
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: address
        address = c_loc(x)
        nullify (x)
        call settle("duo_free_host", c_duo_free_host(ctx%handle, address), status)
    end subroutine

    subroutine free_host_matrix(ctx, x, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(inout) :: x(:, :)
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: address
        address = c_loc(x)
        nullify (x)
        call settle("duo_free_host", c_duo_free_host(ctx%handle, address), status)
    end subroutine

    subroutine copy_vector(ctx, dst, src, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), intent(inout), target :: dst(:)
        real(c_float), intent(in), target :: src(:)
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: to, from
        integer(c_size_t) :: bytes, from_bytes
        integer(c_int) :: code
        call whole_vector(dst, to, bytes, code)
        if (code == DUO_OK) call whole_vector(src, from, from_bytes, code)
        if (code == DUO_OK .and. bytes /= from_bytes) code = DUO_ERR_SIZE
        if (code == DUO_OK) code = c_duo_copy(ctx%handle, to, from, bytes)
        call settle("duo_copy", code, status, &
            sizes_of(size(dst, kind=c_int64_t), size(src, kind=c_int64_t)))
    end subroutine

    subroutine copy_matrix(ctx, dst, src, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), intent(inout), target :: dst(:, :)
        real(c_float), intent(in), target :: src(:, :)
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: to, from
        integer(c_size_t) :: bytes, from_bytes
        integer(c_int) :: code
        call whole_matrix(dst, to, bytes, code)
        if (code == DUO_OK) call whole_matrix(src, from, from_bytes, code)
        if (code == DUO_OK .and. bytes /= from_bytes) code = DUO_ERR_SIZE
        if (code == DUO_OK) code = c_duo_copy(ctx%handle, to, from, bytes)
        call settle("duo_copy", code, status, &
            sizes_of(size(dst, kind=c_int64_t), size(src, kind=c_int64_t)))
    end subroutine

    ! ---- Residency ----

    subroutine keep_vector(ctx, host, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(in) :: host(:)
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: address
        integer(c_size_t) :: bytes
        integer(c_int) :: code
        call whole_vector(host, address, bytes, code)
        if (code == DUO_OK) code = c_duo_keep(ctx%handle, address, bytes)
        call settle("duo_keep", code, status)
    end subroutine

    subroutine keep_matrix(ctx, host, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(in) :: host(:, :)
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: address
        integer(c_size_t) :: bytes
        integer(c_int) :: code
        call whole_matrix(host, address, bytes, code)
        if (code == DUO_OK) code = c_duo_keep(ctx%handle, address, bytes)
        call settle("duo_keep", code, status)
    end subroutine

    subroutine changed_vector(ctx, host, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(in) :: host(:)
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: address
        integer(c_size_t) :: bytes
        integer(c_int) :: code
        call whole_vector(host, address, bytes, code)
        if (code == DUO_OK) code = c_duo_changed(ctx%handle, address, bytes)
        call settle("duo_changed", code, status)
    end subroutine

    subroutine changed_matrix(ctx, host, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(in) :: host(:, :)
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: address
        integer(c_size_t) :: bytes
        integer(c_int) :: code
        call whole_matrix(host, address, bytes, code)
        if (code == DUO_OK) code = c_duo_changed(ctx%handle, address, bytes)
        call settle("duo_changed", code, status)
    end subroutine

    subroutine fetch_vector(ctx, host, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(in) :: host(:)
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: address
        integer(c_size_t) :: bytes
        integer(c_int) :: code
        call whole_vector(host, address, bytes, code)
        if (code == DUO_OK) code = c_duo_fetch(ctx%handle, address, bytes)
        call settle("duo_fetch", code, status)
    end subroutine

    subroutine fetch_matrix(ctx, host, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(in) :: host(:, :)
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: address
        integer(c_size_t) :: bytes
        integer(c_int) :: code
        call whole_matrix(host, address, bytes, code)
        if (code == DUO_OK) code = c_duo_fetch(ctx%handle, address, bytes)
        call settle("duo_fetch", code, status)
    end subroutine

    subroutine release_vector(ctx, host, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(in) :: host(:)
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: address
        integer(c_size_t) :: bytes
        integer(c_int) :: code
        call whole_vector(host, address, bytes, code)
        if (code == DUO_OK) code = c_duo_release(ctx%handle, address)
        call settle("duo_release", code, status)
    end subroutine

    subroutine release_matrix(ctx, host, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(in) :: host(:, :)
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: address
        integer(c_size_t) :: bytes
        integer(c_int) :: code
        call whole_matrix(host, address, bytes, code)
        if (code == DUO_OK) code = c_duo_release(ctx%handle, address)
        call settle("duo_release", code, status)
    end subroutine

    subroutine prepare_vector(ctx, x, on, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(in) :: x(:)
        logical, intent(in), optional :: on
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: address
        integer(c_size_t) :: bytes
        integer(c_int) :: code
        call whole_vector(x, address, bytes, code)
        if (present(on)) then
            if (.not. on) bytes = 0
        end if
        if (code == DUO_OK) code = c_duo_prepare(ctx%handle, address, bytes)
        call settle("duo_prepare", code, status)
    end subroutine

    subroutine prepare_matrix(ctx, x, on, status)
        type(duo_context), intent(in) :: ctx
        real(c_float), pointer, intent(in) :: x(:, :)
        logical, intent(in), optional :: on
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: address
        integer(c_size_t) :: bytes
        integer(c_int) :: code
        call whole_matrix(x, address, bytes, code)
        if (present(on)) then
            if (.not. on) bytes = 0
        end if
        if (code == DUO_OK) code = c_duo_prepare(ctx%handle, address, bytes)
        call settle("duo_prepare", code, status)
    end subroutine

    ! ---- Explanation ----

    subroutine duo_explain_last(ctx, decision, status)
        type(duo_context), intent(in) :: ctx
        type(duo_decision), intent(out) :: decision
        integer(c_int), intent(out), optional :: status
        decision%size = c_sizeof(decision)
        call settle("duo_explain_last", c_duo_explain_last(ctx%handle, decision), status)
    end subroutine
end module duoblas
