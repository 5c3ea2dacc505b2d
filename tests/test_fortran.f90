! test_fortran.f90 - the module duoblas: arrays and sections as operands, scalars and transposes,
! statuses, memory, residency, events, explanation.
!
! That the operations are right is tested in C. Here every argument has to reach them. Comparisons
! are written so that a NaN fails. Which side serves is chosen by DUOBLAS_PATH.
program test_fortran
    use duoblas
    use, intrinsic :: iso_c_binding
    use, intrinsic :: ieee_arithmetic, only: ieee_is_nan
    implicit none
    type(duo_context) :: default, ctx
    integer :: checks = 0, failures = 0
    logical :: on_gpu

    call random_seed(put=spread(20250117, 1, seeds()))
    call duo_create(ctx)
    call which_side
    call products
    call letters
    call sections
    call batches
    call sections_of_batches
    call batches_of_other_memory
    call reductions
    call raw_functions
    call results_that_come_later
    call statuses
    call memory
    call kept_arrays
    call keep_read_only
    call large_sizes
    call events
    call settings
    call explanations
    call ended_contexts
    print "(a, i0, a, i0, a)", "fortran: ", checks, " checks, ", failures, " failed"
    if (failures > 0 .or. checks < 150) error stop 1

contains

    integer function seeds()
        call random_seed(size=seeds)
    end function

    subroutine check(ok, text)
        logical, intent(in) :: ok
        character(*), intent(in) :: text
        checks = checks + 1
        if (ok) return
        failures = failures + 1
        print "(2a)", "FAILED: ", text
    end subroutine

    subroutine check_status(expected, status, text)
        integer, intent(in) :: expected, status
        character(*), intent(in) :: text
        call check(status == expected, text // ": " // duo_status_string(status))
    end subroutine

    subroutine which_side
        character(8) :: path
        integer :: devices
        call get_environment_variable("DUOBLAS_PATH", path)
        call duo_device_count(devices)
        on_gpu = path == "gpu"
        if (on_gpu .and. devices == 0) then
            print "(a)", "SKIPPED: no GPU"
            stop 77
        end if
    end subroutine

    ! Elements in [-1, 1).
    subroutine fill(x)
        real, intent(out) :: x(:, :)
        call random_number(x)
        x = 2*x - 1
    end subroutine

    ! Within the header's bound, as no element is larger than 1.
    subroutine check_product(c, a, b, before, alpha, beta, text)
        real, intent(in) :: c(:, :), a(:, :), b(:, :), before(:, :), alpha, beta
        character(*), intent(in) :: text
        double precision :: want(size(c, 1), size(c, 2)), bound
        integer :: k
        k = size(a, 2)
        want = alpha*matmul(dble(a), dble(b)) + beta*dble(before)
        bound = ((k + 3)*k*abs(alpha) + 2*abs(beta))*2d0**(-24)
        call check(all(abs(c - want) <= bound), text)
    end subroutine

    ! Every pair of transposes, with and without scalars.
    subroutine products
        real :: a(30, 37), b(41, 30), c(37, 41), before(37, 41)
        call fill(a)
        call fill(b)
        call fill(before)
        c = before
        call duo_sgemm(ctx, transpose(a), transpose(b), c)
        call check_product(c, transpose(a), transpose(b), before, 1.0, 0.0, "nn")
        c = before
        call duo_sgemm(ctx, a, transpose(b), c, -0.5, transa=DUO_TRANS)
        call check_product(c, transpose(a), transpose(b), before, -0.5, 0.0, "tn, alpha")
        c = before
        call duo_sgemm(ctx, transpose(a), b, c, beta=2.0, transb=DUO_TRANS)
        call check_product(c, transpose(a), transpose(b), before, 1.0, 2.0, "nt, beta")
        c = before
        call duo_sgemm(default, a, b, c, 3.0, -1.0, DUO_CONJ_TRANS, DUO_TRANS)
        call check_product(c, transpose(a), transpose(b), before, 3.0, -1.0, "tt, default context")
    end subroutine

    ! BLAS's letters, and words that begin with them.
    subroutine letters
        real :: a(30, 37), b(37, 41), at(37, 30), bt(41, 37), c(30, 41), before(30, 41)
        real :: several(30, 41, 2)
        character, parameter :: wrong(5) = ["X", " ", "1", "U", "m"]
        character(9) :: word = "transpose"
        integer :: status, i
        call fill(a)
        call fill(b)
        at = transpose(a)
        bt = transpose(b)
        before = 0
        c = 0
        call duo_sgemm(ctx, at, b, c, transa="T", transb="N")
        call check_product(c, a, b, before, 1.0, 0.0, "'T', 'N'")
        c = 0
        call duo_sgemm(ctx, a, bt, c, transa="n", transb=word)
        call check_product(c, a, b, before, 1.0, 0.0, "'n', 'transpose'")
        c = 0
        call duo_sgemm(ctx, at, bt, c, 1.0, 0.0, "c", DUO_TRANS)
        call check_product(c, a, b, before, 1.0, 0.0, "'c', DUO_TRANS")
        several = 0
        call duo_sgemm_batched(ctx, reshape(at, [37, 30, 1]), bt, several, transa="t", transb="C")
        do i = 1, 2
            call check_product(several(:, :, i), a, b, before, 1.0, 0.0, "letters in batches")
        end do
        c = 7
        do i = 1, size(wrong)
            call duo_sgemm(ctx, at, b, c, transa=wrong(i), status=status)
            call check_status(DUO_ERR_ENUM, status, "transa=" // wrong(i))
        end do
        call duo_sgemm(ctx, a, b, c, transb=word(:0), status=status)
        call check_status(DUO_ERR_ENUM, status, "transb=''")
        call duo_sgemm(ctx, a, b, c, transb=1.0, status=status)
        call check_status(DUO_ERR_ENUM, status, "transb=1.0")
        call duo_sgemm(ctx, a, b, c, transa=DUO_ROW_MAJOR, status=status)
        call check_status(DUO_ERR_ENUM, status, "a constant of another kind")
        call check(all(c == 7), "C of a product without a meaning")
    end subroutine

    ! Parts of matrices: nothing around them is touched.
    subroutine sections
        real :: a(50, 60), b(70, 40), c(80, 90), before(80, 90)
        logical :: part(80, 90)
        integer :: status
        call fill(a)
        call fill(b)
        call fill(before)
        part = .false.
        part(11:40, 21:40) = .true.
        c = before
        call duo_sgemm(ctx, a(3:32, 5:44), b(7:46, 2:21), c(11:40, 21:40))
        call check_product(c(11:40, 21:40), a(3:32, 5:44), b(7:46, 2:21), before(11:40, 21:40), &
            1.0, 0.0, "sections")
        call check(all(c == before .or. part), "a section's neighbours")
        c = before
        call duo_sgemm(ctx, a(3:32, 1:60:3), b(7:26, 2:40:2), c(11:40, 21:78:3), status=status)
        call check_product(c(11:40, 21:78:3), a(3:32, 1:60:3), b(7:26, 2:40:2), &
            before(11:40, 21:78:3), 1.0, 0.0, "every other column")
        call check_status(DUO_OK, status, "every other column")
        c = before
        call duo_sgemm(ctx, a(3:3, :40), b(:40, 5:5), c(9:9, 8:8))
        call check_product(c(9:9, 8:8), a(3:3, :40), b(:40, 5:5), before(9:9, 8:8), 1.0, 0.0, &
            "a row and a column")
        c = before
        call duo_sgemm(ctx, a(1:30, :40), b(1:70:3, 5:5), c(1:60:2, 8:8), transa=DUO_NO_TRANS, &
            status=status)
        call check_status(DUO_ERR_SIZE, status, "24 and 40")
        call duo_sgemm(ctx, a(1:30, :24), b(1:70:3, 5:5), c(1:60:2, 8:8))
        call check_product(c(1:60:2, 8:8), a(1:30, :24), b(1:70:3, 5:5), before(1:60:2, 8:8), &
            1.0, 0.0, "columns with gaps")
        c = before
        call duo_sgemm(ctx, a(1:30:2, :40), b(:40, :20), c(:15, :20), status=status)
        call check_status(DUO_ERR_LD, status, "rows with gaps")
        call duo_sgemm(ctx, a(:15, 40:1:-1), b(:40, :20), c(:15, :20), status=status)
        call check_status(DUO_ERR_LD, status, "columns backwards")
        call check(all(c == before), "C of a bad call")
        call duo_sgemm(ctx, a(:, :0), b(:0, :30), c(:50, :30), status=status)
        call check_status(DUO_OK, status, "k = 0")
        call check(all(c(:50, :30) == 0), "k = 0")
        call duo_sgemm(ctx, a(:0, :40), b(:40, :40), c(:0, :40))
    end subroutine

    ! Matrix by matrix; C was `before`.
    subroutine check_batch(c, a, b, before, alpha, beta, text)
        real, intent(in) :: c(:, :, :), a(:, :, :), b(:, :, :), before(:, :, :), alpha, beta
        character(*), intent(in) :: text
        integer :: i
        do i = 1, size(c, 3)
            call check_product(c(:, :, i), a(:, :, i), b(:, :, i), before(:, :, i), alpha, beta, &
                text // " in batches")
        end do
    end subroutine

    subroutine fill_batch(x)
        real, intent(out) :: x(:, :, :)
        integer :: i
        do i = 1, size(x, 3)
            call fill(x(:, :, i))
        end do
    end subroutine

    ! Batches, and one matrix for all products, with and without transposes and scalars.
    subroutine batches
        integer, parameter :: count = 4
        real :: a(7, 5, count), b(5, 6, count), c(7, 6, count), before(7, 6, count)
        real :: at(5, 7, count), bt(6, 5, count)
        call fill_batch(a)
        call fill_batch(b)
        call fill_batch(before)
        at = reshape(a, shape(at), order=[2, 1, 3])
        bt = reshape(b, shape(bt), order=[2, 1, 3])
        c = before
        call duo_sgemm_batched(ctx, a, b, c)
        call check_batch(c, a, b, before, 1.0, 0.0, "nn")
        c = before
        call duo_sgemm_batched(default, at, bt, c, -0.5, 2.0, DUO_TRANS, DUO_CONJ_TRANS)
        call check_batch(c, a, b, before, -0.5, 2.0, "tt, scalars")
        c = before
        call duo_sgemm_batched(ctx, a(:, :, 2), b, c, beta=-1.0)
        call check_batch(c, spread(a(:, :, 2), 3, count), b, before, 1.0, -1.0, "one A")
        c = before
        call duo_sgemm_batched(ctx, a, bt(:, :, 3), c, 3.0, transb=DUO_TRANS)
        call check_batch(c, a, spread(b(:, :, 3), 3, count), before, 3.0, 0.0, "one B")
        c = before
        call duo_sgemm_batched(ctx, at(:, :, 2:2), b(:, :, 4:4), c, transa=DUO_TRANS)
        call check_batch(c, spread(a(:, :, 2), 3, count), spread(b(:, :, 4), 3, count), before, &
            1.0, 0.0, "one A and one B")
    end subroutine

    ! Parts of batches, every second matrix, and backwards: nothing around them is touched.
    subroutine sections_of_batches
        real :: a(8, 9, 6), b(9, 8, 6), c(9, 9, 7), before(9, 9, 7)
        logical :: part(9, 9, 7)
        integer :: status
        call fill_batch(a)
        call fill_batch(b)
        call fill_batch(before)
        part = .false.
        part(2:6, 3:5, 2:6:2) = .true.
        c = before
        call duo_sgemm_batched(ctx, a(3:7, 2:7, 6:1:-2), b(1:6, 2:6:2, 4:6), c(2:6, 3:5, 2:6:2), &
            beta=1.0)
        call check_batch(c(2:6, 3:5, 2:6:2), a(3:7, 2:7, 6:1:-2), b(1:6, 2:6:2, 4:6), &
            before(2:6, 3:5, 2:6:2), 1.0, 1.0, "sections")
        call check(all(c == before .or. part), "a batch's neighbours")
        c = before
        call duo_sgemm_batched(ctx, a(:, :, 1:3), b(:, :, 1:2), c(:8, :8, 1:3), status=status)
        call check_status(DUO_ERR_SIZE, status, "two B for three products")
        call duo_sgemm_batched(ctx, a(:, :, 1:2), b(:, :, 1), c(:8, :8, 1:1), status=status)
        call check_status(DUO_ERR_SIZE, status, "two A for one product")
        call duo_sgemm_batched(ctx, a(:, 1:1, 1:3), b(:, :, 1:3), c(:8, :8, 1:3), status=status)
        call check_status(DUO_ERR_SIZE, status, "1 and 9")
        call duo_sgemm_batched(ctx, a, b, c(:8, :, :6), status=status)
        call check_status(DUO_ERR_SIZE, status, "C too wide")
        call duo_sgemm_batched(ctx, a(1:8:2, :, :), b, c(:4, :8, :6), status=status)
        call check_status(DUO_ERR_LD, status, "rows with gaps")
        call duo_sgemm_batched(ctx, a(:, :8, :), b(:8, :, :), c(:8, :8, :6), transa=7, &
            status=status)
        call check_status(DUO_ERR_ENUM, status, "no such transpose of batches")
        call check(all(c == before), "C of a bad batch")
        call duo_sgemm_batched(ctx, a(:, :, :0), b(:, :, :0), c(:8, :8, :0), status=status)
        call check_status(DUO_OK, status, "no products")
        call duo_sgemm_batched(ctx, a(:0, :, :), b, c(:0, :8, :6), status=status)
        call check_status(DUO_OK, status, "products without elements")
        call check(all(c == before), "C of no products")
        call duo_sgemm_batched(ctx, a(:, :0, :), b(:0, :, 2), c(:8, :8, :6))
        call check(all(c(:8, :8, :6) == 0), "k = 0 in batches")
    end subroutine

    ! On the device, kept, and by lists of addresses.
    subroutine batches_of_other_memory
        integer, parameter :: n = 8, count = 5
        real, target :: a(n, n, count), b(n, n, count), c(n, n, count)
        real, pointer :: x(:), kept(:), there(:, :, :)
        type(c_ptr), dimension(count) :: as, bs, cs
        integer :: i
        call fill_batch(a)
        call fill_batch(b)
        call duo_malloc(ctx, x, n*n*count)
        there(1:n, 1:n, 1:count) => x
        kept(1:size(c)) => c
        call duo_keep(ctx, kept)
        call duo_sgemm_batched(ctx, a, b, there)
        call duo_sgemm_batched(ctx, there, b(:, :, 1), c)
        call duo_release(ctx, kept)
        kept(1:size(a)) => a
        call duo_copy(ctx, kept, x)
        call check_batch(c, a, spread(b(:, :, 1), 3, count), c, 1.0, 0.0, "other memory")
        call duo_free(ctx, x)

        do i = 1, count
            as(i) = c_loc(a(1, 1, count + 1 - i))
            bs(i) = c_loc(b(1, 1, 2))
            cs(i) = c_loc(c(1, 1, count + 1 - i))
        end do
        call check_status(DUO_OK, c_duo_sgemm_batched(ctx%handle, DUO_COL_MAJOR, DUO_NO_TRANS, &
            DUO_TRANS, int(n, c_int64_t), int(n, c_int64_t), int(n, c_int64_t), 1.0, as, &
            int(n, c_int64_t), bs, int(n, c_int64_t), 0.0, cs, int(n, c_int64_t), &
            int(count, c_int64_t)), "c_duo_sgemm_batched")
        call check_batch(c, a, spread(transpose(b(:, :, 2)), 3, count), c, 1.0, 0.0, "lists")
    end subroutine

    subroutine reductions
        real :: x(3000, 1), y(1000, 1), total
        integer :: status
        call fill(x)
        call fill(y)
        call near(duo_ssum(ctx, x(:, 1)), sum(dble(x)), "sum")
        call near(duo_sasum(ctx, x(:, 1)), sum(abs(dble(x))), "asum")
        call near(duo_ssum(default, x(::3, 1)), sum(dble(x(::3, 1))), "sum of every third")
        call near(duo_sasum(ctx, x(3000:1:-3, 1)), sum(abs(dble(x(3000:1:-3, 1)))), &
            "asum backwards")
        call near(duo_ssum(ctx, x(3000:1:-3, 1)), sum(dble(x(3000:1:-3, 1))), "sum backwards")
        call near(duo_sdot(ctx, x(::3, 1), y(:, 1)), sum(dble(x(::3, 1))*dble(y(:, 1))), "dot")
        call near(duo_sdot(ctx, x(:1000, 1), y(1000:1:-1, 1)), &
            sum(dble(x(:1000, 1))*dble(y(1000:1:-1, 1))), "dot backwards")
        call near(duo_sdot(ctx, x(5:5, 1), y(7:7, 1)), dble(x(5, 1))*dble(y(7, 1)), "dot of one")
        call near(duo_ssum(ctx, x(:0, 1)), 0d0, "sum of none")
        total = duo_sdot(ctx, x(:, 1), y(:, 1), status)
        call check_status(DUO_ERR_SIZE, status, "dot of two sizes")
        call check(ieee_is_nan(total), "the result of a bad call")
        total = duo_ssum(ctx, y(:, 1), status)
        call check_status(DUO_OK, status, "sum")
        call check(total == duo_ssum(default, y(:, 1)), "the same bits in both contexts")
    end subroutine

    subroutine near(got, want, text)
        real, intent(in) :: got
        double precision, intent(in) :: want
        character(*), intent(in) :: text
        call check(abs(got - want) <= 9*3000*2d0**(-24), text)
    end subroutine

    ! C's arguments: row-major, other memory, a result on the device.
    subroutine raw_functions
        real(c_float), target :: a(2) = [1, 2], b(2) = [3, 4], c(4) = 0
        real(c_float), pointer :: there(:)
        real(c_float), target :: here(1)
        call check_status(DUO_OK, c_duo_sgemm(ctx%handle, DUO_ROW_MAJOR, DUO_NO_TRANS, &
            DUO_NO_TRANS, 2_c_int64_t, 2_c_int64_t, 1_c_int64_t, 1.0, c_loc(a), 1_c_int64_t, &
            c_loc(b), 2_c_int64_t, 0.0, c_loc(c), 2_c_int64_t), "c_duo_sgemm")
        call check(all(c == [3, 4, 6, 8]), "row-major")
        call duo_malloc(ctx, there, 1)
        call check_status(DUO_OK, c_duo_ssum(ctx%handle, 4_c_int64_t, c_loc(c), 1_c_int64_t, &
            c_loc(there)), "c_duo_ssum")
        call duo_copy(ctx, here, there)
        call check(here(1) == 21, "a result on the device")
        call duo_free(ctx, there)
    end subroutine

    subroutine results_that_come_later
        real :: x(5000, 1)
        integer :: i
        call fill(x)
        call duo_set_async(ctx, .true.)
        do i = 1, 10
            call check(duo_ssum(ctx, x(:, 1)) == duo_ssum(default, x(:, 1)), "sum, awaited")
        end do
        call duo_set_async(ctx, .false.)
    end subroutine

    subroutine statuses
        real, target :: x(4, 4), y(5, 5)
        type(duo_event) :: no_event
        real, pointer :: nothing(:)
        integer :: status
        x = 1
        y = 1
        call duo_sgemm(ctx, x, y, x, status=status)
        call check_status(DUO_ERR_SIZE, status, "shapes that do not fit")
        call duo_sgemm(ctx, x, x, y, status=status)
        call check_status(DUO_ERR_SIZE, status, "C too large")
        call duo_sgemm(ctx, x, x, y(:4, :4), transa=7, status=status)
        call check_status(DUO_ERR_ENUM, status, "no such transpose")
        call duo_set_path(ctx, 9, status)
        call check_status(DUO_ERR_ENUM, status, "no such path")
        call duo_set_threads(ctx, -1, status)
        call check_status(DUO_ERR_SIZE, status, "threads")
        call duo_release(ctx, x, status)
        call check_status(DUO_ERR_RANGE, status, "not kept")
        call duo_keep(ctx, x(1:3, :), status)
        call check_status(DUO_ERR_LD, status, "an array with gaps")
        call duo_keep(ctx, x(1, :), status)
        call check_status(DUO_ERR_LD, status, "a row")
        call duo_changed(ctx, x(1:3, :), status)
        call check_status(DUO_ERR_LD, status, "changed, with gaps")
        call duo_fetch(ctx, x(1, :), status)
        call check_status(DUO_ERR_LD, status, "fetch, with gaps")
        call duo_release(ctx, x(1:3, :), status)
        call check_status(DUO_ERR_LD, status, "release, with gaps")
        call duo_prepare(ctx, x(1, :), status=status)
        call check_status(DUO_ERR_LD, status, "prepare, with gaps")
        call duo_copy(ctx, x(1:3, :), y(1:3, 1:4), status)
        call check_status(DUO_ERR_LD, status, "copy, with gaps")
        call duo_copy(ctx, x(:, 1), y(1, 1:4), status)
        call check_status(DUO_ERR_LD, status, "copy of a row")
        nullify (nothing)
        call duo_keep(ctx, nothing, status)
        call check_status(DUO_ERR_NULL, status, "a pointer to nothing")
        call duo_copy(ctx, x, y, status)
        call check_status(DUO_ERR_SIZE, status, "a copy of two sizes")
        call duo_event_record(ctx, no_event, status)
        call check_status(DUO_ERR_EVENT, status, "no event")
        call check(all(x == 1) .and. all(y == 1), "a bad call wrote")
        call check(duo_status_string(DUO_OK) == "success", "a text")
        call check(len(duo_error_detail(ctx)) >= 0, "a detail")
        call check(duo_version() > 0, "the version")
    end subroutine

    ! Vectors and matrices on the device, and pinned: the same calls.
    subroutine memory
        real, pointer :: a(:, :), c(:, :), x(:), pinned(:, :), vector(:)
        real :: here(64, 64), back(64, 64)
        call fill(here)
        call duo_malloc(ctx, a, 64, 64)
        call duo_malloc(ctx, c, 64, 64)
        call duo_malloc(ctx, x, 64)
        call duo_malloc_host(ctx, pinned, 64, 64)
        call duo_malloc_host(ctx, vector, 64)
        call duo_copy(ctx, a, here)
        call duo_sgemm(ctx, a, a, c, transb=DUO_TRANS)
        call duo_copy(ctx, pinned, c)
        call check_product(pinned, here, transpose(here), here, 1.0, 0.0, "on the device")
        call duo_sgemm(ctx, a(:32, :), here, c(33:, :), beta=1.0)
        call duo_copy(ctx, back, c)
        call check_product(back(33:, :), here(:32, :), here, pinned(33:, :), 1.0, 1.0, &
            "sections on the device")
        call check(all(back(:32, :) == pinned(:32, :)), "beside them")
        call duo_copy(ctx, x, here(:, 3))
        call duo_copy(ctx, vector, x)
        call check(all(vector == here(:, 3)), "copies")
        call near(duo_ssum(ctx, x(::2)), sum(dble(vector(::2))), "a sum on the device")
        call duo_free(ctx, a)
        call duo_free(ctx, c)
        call duo_free(ctx, x)
        call check(.not. (associated(a) .or. associated(c) .or. associated(x)), "freed")
        call duo_free_host(ctx, pinned)
        call duo_free_host(ctx, vector)
    end subroutine

    subroutine kept_arrays
        real, allocatable, target :: a(:, :), c(:, :)
        integer :: status
        allocate (a(64, 64), c(64, 64))
        a = 1
        c = 0
        call duo_keep(ctx, a)
        call duo_keep(ctx, c)
        call duo_prepare(ctx, a)
        call duo_sgemm(ctx, a, a, c)
        call duo_fetch(ctx, c)
        call check(all(c == 64), "fetched")
        a = 2
        call duo_changed(ctx, a)
        call duo_sgemm(ctx, a, a, c)
        call duo_release(ctx, c)
        call check(all(c == 256), "released")
        call duo_prepare(ctx, a, .false.)
        call duo_release(ctx, a)
        call duo_prepare(ctx, a, status=status)
        call check_status(DUO_ERR_RANGE, status, "kept no more")
    end subroutine

    ! The array of a caller that may not be written to.
    subroutine keep_read_only
        real, target :: a(64, 64), c(64, 64)
        a = 1
        call square_of_kept(a, c)
        call check(all(c == 64), "a product of a kept argument")
    end subroutine

    subroutine square_of_kept(a, c)
        real, intent(in), target :: a(:, :)
        real, intent(out) :: c(:, :)
        call duo_keep(ctx, a)
        call duo_keep(ctx, a(:, 1))
        call duo_prepare(ctx, a)
        call duo_sgemm(ctx, a, a, c)
        call duo_changed(ctx, a)
        call duo_fetch(ctx, a)
        call duo_release(ctx, a)
    end subroutine

    ! Sizes beyond 32 bits: nothing is allocated, and nothing is read (alpha is 0).
    subroutine large_sizes
        integer(c_int64_t), parameter :: many = 3000000000_c_int64_t
        real, pointer :: x(:), a(:, :), pinned(:, :)
        real, target :: c(2, 1), somewhere
        integer :: status
        call duo_malloc(ctx, x, 2_c_int64_t)
        call duo_malloc_host(ctx, pinned, 3_c_int64_t, 2_c_int64_t)
        call check(size(x) == 2 .and. all(shape(pinned) == [3, 2]), "sizes of 64 bits")
        call duo_free(ctx, x)
        call duo_free_host(ctx, pinned)
        call duo_malloc(ctx, a, many, many, status)
        call check_status(DUO_ERR_MEMORY, status, "more than there is")
        call check(.not. associated(a), "what is not there")
        call duo_malloc(ctx, x, huge(many), status)
        call check_status(DUO_ERR_MEMORY, status, "beyond the address space")
        call duo_malloc_host(ctx, a, 2_c_int64_t**31, 2_c_int64_t**31, status)
        call check_status(DUO_ERR_MEMORY, status, "2^64 bytes")
        call duo_malloc(ctx, a, -1, 5)
        call check(size(a) == 0, "none")
        call duo_free(ctx, a)

        call c_f_pointer(c_loc(somewhere), a, [2*many, 2_c_int64_t])
        c = 7
        call duo_sgemm(ctx, a(:many, :), a(:many, 2:2), c, 0.0, 1.0, DUO_TRANS, status=status)
        call check_status(DUO_OK, status, "3000000000 rows")
        call duo_sgemm(ctx, a(::2, :), a(:many, 1:1), c, 0.0, 1.0, DUO_TRANS, status=status)
        call check_status(DUO_ERR_LD, status, "3000000000 rows with gaps")
        call check(all(c == 7), "C")
    end subroutine

    ! Each use of a context that has ended is an error, and not one of the default context.
    subroutine ended_contexts
        type(duo_context) :: copy, never
        real :: x(3), total
        integer :: status
        x = 1
        copy = ctx
        call duo_destroy(ctx)
        call duo_set_path(ctx, DUO_PATH_CPU, status)
        call check_status(DUO_ERR_CONTEXT, status, "the path of an ended context")
        total = duo_ssum(ctx, x, status)
        call check_status(DUO_ERR_CONTEXT, status, "a sum in an ended context")
        call duo_destroy(ctx, status)
        call check_status(DUO_ERR_CONTEXT, status, "an ended context")
        call duo_set_path(copy, DUO_PATH_CPU, status)
        call check_status(DUO_ERR_CONTEXT, status, "a copy of an ended context")
        call duo_destroy(never)
        call check(duo_ssum(never, x) == 3, "no context was ever made")
        call duo_create(ctx)
        call check(duo_ssum(ctx, x) == 3, "made again")
        call duo_destroy(ctx)
    end subroutine

    subroutine events
        type(duo_context) :: other
        type(duo_event) :: event
        logical :: done
        call duo_create(other)
        call duo_event_create(event)
        call duo_event_query(event, done)
        call check(done, "a new event counts as reached")
        call duo_event_record(ctx, event)
        call duo_event_wait(other, event)
        call duo_event_synchronize(event)
        call duo_event_query(event, done)
        call check(done, "reached")
        call duo_event_destroy(event)
        call duo_destroy(other)
    end subroutine

    subroutine settings
        type(duo_context) :: set
        type(duo_decision) :: decision
        real :: x(1000, 1)
        integer(c_int) :: threads
        integer(c_int64_t) :: checked, before, wrong
        call fill(x)
        call duo_create(set)
        call duo_set_path(set, DUO_PATH_CPU)
        call duo_set_math(set, DUO_MATH_FLOAT64)
        call duo_set_threads(set, 1)
        call duo_get_threads(set, threads)
        call check(threads == 1, "duo_get_threads")
        call duo_set_adapt(set, .true.)
        call duo_set_open(set, DUO_OPEN_FIRST)
        call duo_set_remember(set, DUO_REMEMBER_BYTES)
        call duo_set_priority(set, DUO_PRIORITY_HIGH)
        call duo_warm_up(set)
        call near(duo_ssum(set, x(:, 1)), sum(dble(x)), "sum in float64")
        call duo_explain_last(set, decision)
        call check(duo_text(decision%algorithm) == "ssum_cpu_float64", "the path and the math")
        call duo_get_verified(before, wrong)
        call duo_set_verify(set, 1.0_c_double)
        call near(duo_ssum(set, x(:, 1)), sum(dble(x)), "a checked sum")
        call duo_get_verified(checked, wrong)
        call check(checked == before + 1 .and. wrong == 0, "duo_set_verify")
        call duo_set_verify(set, 0.0_c_double, 1_c_int64_t)
        if (on_gpu) then
            call duo_set_device(set, 0)
            call duo_set_devices(set, [0])
            call duo_set_stream(set, c_null_ptr)
        end if
        call duo_synchronize(set)
        call duo_trim(set)
        call duo_destroy(set)
    end subroutine

    ! Every field from the first to the last is where C has it.
    subroutine explanations
        type(duo_decision) :: d
        real :: x(300, 1), total
        integer :: i
        call fill(x)
        total = duo_sasum(ctx, x(:, 1))
        call duo_explain_last(ctx, d)
        call check(duo_text(d%operation) == "sasum" .and. d%n == 300 .and. total > 0, "operation")
        call check(all(d%residence == [DUO_AT_PAGEABLE, DUO_AT_UNUSED, DUO_AT_PAGEABLE]), &
            "residence")
        call check(d%side == merge(DUO_SIDE_GPU, DUO_SIDE_CPU, on_gpu), "side")
        call check(d%threads == merge(0, 1, on_gpu), "threads")
        call check(d%predicted_seconds > 0 .and. d%predicted_seconds < 1, "predicted seconds")
        call check(d%candidates > 0 .and. d%candidates <= DUO_CANDIDATES, "candidates")
        call check(d%ran >= 0 .and. d%ran < d%candidates, "ran")
        call check(abs(d%profile_seconds - d%predicted_seconds) <= 0, "profile seconds")
        call check(len(duo_text(d%note)) < 160, "note")
        call check(index(duo_text(d%reason), " ") > 0 .and. len(duo_text(d%reason)) < 320, "reason")
        if (d%ran < 0 .or. d%ran >= d%candidates) return
        i = d%ran + 1
        associate (ran => d%candidate(i), parts => d%parts(i))
            call check(duo_text(ran%algorithm) == duo_text(d%algorithm), "algorithm")
            call check(ran%side == d%side .and. ran%accepts /= 0, "its side")
            call check(abs(ran%predicted_seconds - d%predicted_seconds) <= 0, "its seconds")
            call check(abs(parts%transfer_seconds + parts%launch_seconds + parts%compute_seconds &
                - ran%predicted_seconds) <= 1d-9*ran%predicted_seconds, "its parts")
        end associate
    end subroutine
end program test_fortran
