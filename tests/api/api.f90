! SPDX-License-Identifier: BSD-3-Clause
! The twin of api.c: the whole Fortran interface as a simulation with `mpi_f08` uses it. A grid cut
! into slabs, whose density lives in memory of the session, and particles whose number changes,
! twelve steps, a checkpoint, and a second session beside the first. The program is linked with the
! library and with the no-ops, and asserts the same of both; where the no-ops may do less, it says
! so by pillion_is_enabled.
module simulation
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use mpi_f08
  use check
  use pillion
  implicit none

  integer, parameter :: nx = 4, ny = 3, nz = 8, steps = 12, particles = 40
  character, parameter :: newline = new_line('a')
  character(*), parameter :: catalogue = &
    'meshes:'//newline// &
    '  atoms: {kind: particles, units: m}'//newline// &
    '  hexahedra: {kind: spectral, order: 1, coordinates: corner, units: m}'//newline// &
    '  solid: {kind: unstructured, units: m}'//newline// &
    'fields:'//newline// &
    '  position: {mesh: atoms, type: float64, components: 3, units: m}'//newline// &
    '  id: {mesh: atoms, type: int64}'//newline// &
    '  kind: {mesh: atoms, type: int32}'//newline// &
    '  corner: {mesh: hexahedra, type: float32, components: 3, units: m}'//newline// &
    '  number: {mesh: hexahedra, type: int64, centering: cell}'//newline// &
    '  load: {mesh: solid, type: float32, components: 3, centering: point}'//newline

  type(pillion_session) :: session
  integer :: rank, ranks, ierr, messages = 0
  integer :: lo(3), hi(3)
  real(real64), pointer :: density(:, :, :)             ! memory of the session
  real(real32), allocatable, target :: velocity(:, :, :, :)  ! components last
  real(real64), target :: position(3, particles)
  integer(int64), target :: id(particles)
  integer(int32), target :: kind(particles)
  real(real32), target :: corner(2, 2, 2, 3, 2) = 0
  real(real32), target :: load(3, 4) = 0
  integer(int64), target :: number(2) = [5, 3]

contains

  subroutine count_message(level, message)
    integer, intent(in) :: level
    character(*), intent(in) :: message
    if (level >= pillion_log_warning .and. len(message) > 0) messages = messages + 1
  end subroutine

  subroutine start(comm)
    type(MPI_Comm), intent(in) :: comm
    call MPI_Comm_rank(comm, rank)
    call MPI_Comm_size(comm, ranks)
    lo = [1, 1, nz*rank/ranks + 1]
    hi = [nx, ny, nz*(rank + 1)/ranks]
    allocate (velocity(nx, ny, lo(3):hi(3), 3), source=0.0_real32)
  end subroutine

  function options_for(output, sidecars) result(options)
    character(*), intent(in) :: output
    integer, intent(in) :: sidecars
    type(pillion_options) :: options
    call pillion_options_create(options, ierr)
    call expect_ok(ierr, 'options_create')
    call pillion_options_set(options, 'sidecars', sidecars, ierr)
    call expect_ok(ierr, 'options_set')
    call pillion_options_set(options, 'output', 'unused')
    call pillion_options_override(options, 'output', output)
    call pillion_options_override(options, 'sidecars.deadline', '30 s  ', ierr)
    call expect_ok(ierr, 'options_override')
    call pillion_options_set(options, 'nx', '4')
    call pillion_options_set(options, 'ny', 3_int64)
    call pillion_options_set(options, 'nz', nz)
    call pillion_options_set_role(options, pillion_role_any, ierr)
    call expect_ok(ierr, 'options_set_role')
    call pillion_options_set_catalogue(options, catalogue, ierr)
    call expect_ok(ierr, 'options_set_catalogue')
    call pillion_options_set_restart(options, '', ierr)
    call expect_ok(ierr, 'options_set_restart')
    call pillion_options_set_log(options, count_message, ierr)
    call expect_ok(ierr, 'options_set_log')
  end function

  subroutine allocate_density()
    call pillion_allocate(session, 'density', 0, hi - lo + 1, 3, density, ierr)
    call expect_ok(ierr, 'allocate')
    call expect(all(shape(density) == hi - lo + 1), 'the shape that was asked for')
    density(1:, 1:, lo(3):) => density
    density = 0
  end subroutine

  ! What is kept stays when the block is taken back, as often as it was kept.
  subroutine check_kept(data)
    real(real64), intent(inout), target :: data(:, :, :)
    type(pillion_kept) :: once, twice, none
    call pillion_keep(session, rank, none, ierr)
    call expect(ierr == pillion_error_argument, 'keep what is not the session''s')
    call pillion_keep(session, data(1, 1, 1), once, ierr)
    call expect_ok(ierr, 'keep')
    call pillion_keep(session, data(2, 1, 1), twice, ierr)
    call expect_ok(ierr, 'keep again')
    data = 7
    call pillion_unshare(session, 'density', 5, ierr)
    call expect_ok(ierr, 'unshare what is kept')
    call pillion_release(once)
    call expect(all(data == 7), 'what is kept stays')
    call pillion_release(twice)
    call pillion_release(none)
  end subroutine

  ! Every buffer keeps what was written to it, and the next is always another one.
  subroutine check_rotation()
    real(real64), pointer :: first(:, :, :), second(:, :, :), third(:, :, :), none(:, :, :)
    integer :: extents(3)
    extents = [nx, ny, 2]
    nullify (none)
    allocate (third(1, 1, 1))
    second => third
    call pillion_swap(session, 'density', 5, second, ierr)
    call expect(ierr == pillion_error_state .and. associated(second, third), 'swap nothing')
    deallocate (third)
    call pillion_allocate(session, 'density', 5, extents, 1, none, ierr)
    call expect(ierr == pillion_error_argument .and. .not. associated(none), 'one buffer')
    call pillion_allocate(session, 'density', 5, int(extents, int64), 2, first, ierr)
    call expect_ok(ierr, 'allocate')
    call pillion_allocate(session, 'density', 5, extents, 2, none, ierr)
    call expect(ierr == pillion_error_state, 'allocate twice')
    first = 1
    second(0:, -1:, 2:) => first
    call pillion_swap(session, 'density', 5, second, ierr)
    call expect_ok(ierr, 'swap')
    call expect(.not. associated(second, first), 'another buffer')
    call expect(all(lbound(second) == [0, -1, 2]) .and. all(shape(second) == extents), 'bounds')
    second = 2
    third => second
    call pillion_swap(session, 'density', 5, third)
    third = third + 10
    call expect(all(second == 2), 'values stay')
    call expect(.not. associated(third, first) .or. all(first == 11), 'the first again')
    call check_kept(third)
    call pillion_swap(session, 'density', 5, third, ierr)
    call expect(ierr == pillion_error_state, 'swap what is gone')
  end subroutine

  subroutine share_grid()
    call pillion_share_box(session, 'density', 0, lo, hi, density, ierr=ierr)
    call expect_ok(ierr, 'share density')
    call pillion_share_box(session, 'velocity', 0, int(lo, int64), int(hi, int64), velocity, &
      pillion_components_last, ierr)
    call expect_ok(ierr, 'share velocity')
  end subroutine

  subroutine share_atoms(count)
    integer, intent(in) :: count
    call pillion_share_particles(session, 'position', 0, count, position, ierr=ierr)
    call expect_ok(ierr, 'share position')
    call pillion_share_particles(session, 'id', 0, int(count, int64), id)
    call pillion_share_particles(session, 'kind', 0, count, kind(:count))
    call pillion_set_domain(session, 'atoms', [0.0_real64, 0.0_real64, 0.0_real64], &
      [2.0_real64, 2.0_real64, 2.0_real64], ierr=ierr)
    call expect_ok(ierr, 'set_domain')
    call pillion_set_coordinates(session, 'stretched', 1, &
      [0.0_real64, 1.0_real64, 3.0_real64, 7.0_real64], ierr)
    call expect_ok(ierr, 'set_coordinates')
  end subroutine

  ! Elements of a mesh that no analysis looks at.
  subroutine share_elements()
    call pillion_share_elements(session, 'corner', 0, 2, corner, ierr)
    call expect_ok(ierr, 'share corner')
    call pillion_share_elements(session, 'number', 0, 2_int64, number, ierr)
    call expect_ok(ierr, 'share number')
    call pillion_share_elements(session, 'number', 1, 0, number(:0), ierr)
    call expect_ok(ierr, 'share no elements')
    call pillion_unshare(session, 'number', 1)
  end subroutine

  ! A tetrahedron, and too few offsets for it.
  subroutine share_cells()
    call pillion_share_points(session, 'solid', 0, reshape([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, &
      1.0, 0.0, 0.0, 0.0, 1.0], [3, 4]), ierr=ierr)
    call expect_ok(ierr, 'share points')
    call pillion_share_cells(session, 'solid', 0, [10], [1], [1, 2, 3, 4], ierr=ierr)
    call expect(ierr == pillion_error_argument, 'too few offsets')
    call expect(pillion_error_message() == &
      'mesh ''solid'' was shared with 1 offsets; give 2', 'the message')
    call pillion_share_cells(session, 'solid', 0, 10, reshape([1, 2, 3, 4], [4, 1]), ierr=ierr)
    call expect_ok(ierr, 'share cells')
    call pillion_share_values(session, 'load', 0, 4, load, ierr=ierr)
    call expect_ok(ierr, 'share load')
  end subroutine

  ! The density of a step goes to another buffer than that of the step before, which must stay.
  subroutine rotate(step)
    integer, intent(in) :: step
    real(real64), pointer :: before(:, :, :)
    before => density
    call pillion_swap(session, 'density', 0, density, ierr)
    call expect_ok(ierr, 'swap density')
    call expect(lbound(density, 3) == lbound(before, 3), 'bounds of the density')
    density = 1.0_real64 + step
    call expect(all(before == step), 'the density of the step before')
  end subroutine

  ! Particles wander: the last rank has none at even steps, and numbers differ between ranks.
  function advanced(step) result(count)
    integer, intent(in) :: step
    integer :: count, i
    velocity = real(step, real32)
    count = 1 + mod(step + rank, particles - 1)
    if (ranks > 1 .and. rank == ranks - 1 .and. mod(step, 2) == 0) count = 0
    do i = 1, count
      position(:, i) = real([i - 1, i, i + 1], real64)/particles
      id(i) = rank*particles + i
      kind(i) = mod(i, 2)
    end do
  end function

  ! The same arrays, one for each component.
  subroutine share_components()
    integer :: c
    call pillion_share_box_components(session, 'velocity', 0, lo, hi, &
      [(pillion_view_of(velocity(:, :, :, c)), c=1, 3)], ierr)
    call expect_ok(ierr, 'share components of the velocity')
    call pillion_share_box_components(session, 'velocity', 0, int(lo, int64), int(hi, int64), &
      [(pillion_view_of(velocity(:, :, :, c)), c=1, 3)], level=0)
    call pillion_share_components(session, 'position', 0, particles/2, &
      [(pillion_view_of(position(c, :)), c=1, 3)], ierr)
    call expect_ok(ierr, 'share components of the position')
    call pillion_share_components(session, 'corner', 0, 2_int64, &
      [(pillion_view_of(corner(:, :, :, c, :)), c=1, 3)], ierr)
    call expect_ok(ierr, 'share components of elements')
  end subroutine

  subroutine check_communicator(sidecars)
    integer, intent(in) :: sidecars
    type(MPI_Comm) :: comm, same
    integer :: integer_comm, size, comparison
    call pillion_communicator(session, comm)
    call expect(comm /= MPI_COMM_NULL, 'a communicator')
    call MPI_Comm_size(comm, size)
    call expect(size == world_size() - merge(sidecars, 0, pillion_is_enabled()), 'its size')
    call pillion_communicator(session, integer_comm)
    same%MPI_VAL = integer_comm
    call MPI_Comm_compare(comm, same, comparison)
    call expect(comparison == MPI_IDENT, 'the same as an integer')
  end subroutine

  ! What the file and the program's catalogue say together; only three of them are used.
  subroutine check_fields()
    type(pillion_field) :: field
    integer :: count, used, f
    call pillion_count_fields(session, count, ierr)
    call expect(ierr == 0 .and. count == merge(8, 0, pillion_is_enabled()), 'count_fields')
    used = 0
    do f = 1, count
      call pillion_get_field(session, f, field)
      if (field%used) used = used + 1
      if (field%name == 'velocity') then
        call expect(field%mesh == 'grid' .and. field%mesh_kind == pillion_uniform, 'its mesh')
        call expect(field%type == pillion_float32 .and. field%components == 3, 'its type')
        call expect(field%axes == 3 .and. all(field%cells == [nx, ny, nz]), 'its cells')
        call expect(field%used, 'its use')
        call expect(field%levels == 1 .and. .not. field%is_partial, 'its levels')
        call expect(field%units == 'm/s' .and. .not. field%is_constant, 'its units')
      else if (field%name == 'id') then
        call expect(field%mesh == 'atoms' .and. field%mesh_kind == pillion_particles, 'its mesh')
        call expect(field%type == pillion_int64 .and. field%components == 1, 'its type')
        call expect(field%axes == 0 .and. .not. field%used, 'particles')
      else if (field%mesh == 'hexahedra') then
        call expect(field%mesh_kind == pillion_spectral .and. field%axes == 0, 'elements')
        call expect(field%order == merge(1, 0, field%name == 'corner'), 'their order')
      else if (field%mesh == 'solid') then
        call expect(field%mesh_kind == pillion_unstructured .and. field%axes == 0, 'cells')
      end if
    end do
    call expect(used == merge(3, 0, pillion_is_enabled()), 'fields that are used')
    call pillion_get_field(session, count + 1, field, ierr)
    call expect(ierr == pillion_error_argument, 'a field too many')
    call pillion_get_field(session, 0, field, ierr)
    call expect(ierr == pillion_error_argument, 'field 0')
  end subroutine

  ! The first analysis is due every second step, the other every third.
  subroutine run_steps()
    type(pillion_progress) :: progress
    integer :: step, count, publications
    real(real64) :: time
    logical :: due
    publications = 0
    do step = 0, steps - 1
      time = 0.5_real64*step
      due = pillion_is_due(session, step, time, ierr)
      call expect_ok(ierr, 'is_due')
      call expect(due .eqv. pillion_is_due(session, int(step, int64), time), 'is_due in int64')
      call expect(due .eqv. (pillion_is_enabled() .and. &
        (mod(step, 2) == 0 .or. mod(step, 3) == 0)), 'what is due')
      if (due) publications = publications + 1
      call rotate(step)
      count = advanced(step)
      if (due) call share_atoms(count)
      if (mod(step, 2) == 0) call pillion_step(session, step, time, ierr)
      if (mod(step, 2) == 1) call pillion_step(session, int(step, int64), time, ierr)
      call expect_ok(ierr, 'step')
    end do
    call pillion_get_progress(session, progress, ierr)
    call expect_ok(ierr, 'get_progress')
    call expect(progress%step == steps - 1 .and. progress%time == time, 'the last step')
    call expect(progress%publications == publications, 'publications')
    call expect(progress%skipped == 0 .and. progress%disabled == 0, 'nothing is left out')
    call expect(progress%behind >= 0 .and. progress%stall_seconds >= 0, 'progress')
  end subroutine

  subroutine run_second_session(comm)
    type(MPI_Comm), intent(in) :: comm
    type(pillion_session) :: second
    real(real32), target :: heights(16)
    heights = 0
    call pillion_open('second.yaml', comm%MPI_VAL, second, ierr)
    call expect_ok(ierr, 'open the second')
    call expect(.not. pillion_serve(second), 'serve the second')
    call pillion_share_box(second, 'height', 0, [16*rank/ranks + 1], [16*(rank + 1)/ranks], &
      heights(:16*(rank + 1)/ranks - 16*rank/ranks))
    call pillion_step(second, 0, 0.0_real64, ierr)
    call expect_ok(ierr, 'step of the second')
    call pillion_close(second, ierr)
    call expect_ok(ierr, 'close the second')
  end subroutine

  subroutine check_scalars(third)
    type(pillion_session), intent(in) :: third
    character(:), allocatable :: name
    integer :: count
    call pillion_count_scalars(third, count, ierr)
    call expect(ierr == 0 .and. count == merge(1, 0, pillion_is_enabled()), 'count_scalars')
    if (count == 1) then
      call pillion_get_scalar_name(third, 1, name, ierr)
      call expect(ierr == 0 .and. name == 'a', 'get_scalar_name')
    end if
    call pillion_get_scalar_name(third, count + 1, name, ierr)
    call expect(ierr == pillion_error_argument, 'a scalar too many')
  end subroutine

  ! The catalogue comes when the session is there, and a scalar with each step.
  subroutine run_in_two_phases(comm)
    type(MPI_Comm), intent(in) :: comm
    type(pillion_options) :: deferred
    type(pillion_session) :: third
    real(real64), target :: height(1)
    integer :: step
    height = 1
    call pillion_options_create(deferred)
    call pillion_options_set_deferred(deferred, ierr)
    call expect_ok(ierr, 'options_set_deferred')
    call pillion_open_with('third.yaml', comm, deferred, third, ierr)
    call expect_ok(ierr, 'open the third')
    call pillion_options_free(deferred)
    call expect(.not. pillion_serve(third), 'serve the third')
    call pillion_share_box(third, 'height', 0, [1], [1], height, ierr=ierr)
    call expect(ierr == pillion_error_state .or. .not. pillion_is_enabled(), 'too early')
    call pillion_set_parameter(third, 'last', 5, ierr)
    call expect_ok(ierr, 'set_parameter')
    call pillion_set_parameter(third, 'unused', 0.5_real64, ierr)
    call expect_ok(ierr, 'set_parameter to a real')
    call pillion_offer_catalogue(third, 'meshes: {line: {kind: uniform, cells: [1]}}'//new_line('')// &
      'fields: {height: {mesh: line, type: float64}}'//new_line('')//'scalars: [a]', ierr)
    call expect_ok(ierr, 'offer_catalogue')
    call pillion_configure(third, ierr)
    call expect_ok(ierr, 'configure')
    call check_scalars(third)
    if (rank == 0) call pillion_share_box(third, 'height', 0, [1], [1], height)
    do step = 0, 2
      call pillion_set_scalar(third, 'a', 0.5_real64*step, ierr)
      call expect_ok(ierr, 'set_scalar')
      call pillion_step(third, step, 0.0_real64, ierr)
      call expect_ok(ierr, 'step of the third')
    end do
    call pillion_close(third, ierr)
    call expect_ok(ierr, 'close the third')
  end subroutine

  subroutine simulate(sidecars)
    integer, intent(in) :: sidecars
    character(:), allocatable :: report
    type(MPI_Comm) :: comm
    call check_communicator(sidecars)
    call check_fields()
    call pillion_communicator(session, comm)
    call start(comm)
    call pillion_set_units(session, 'density', 'g/cm^3', ierr)
    call expect_ok(ierr, 'set_units')
    call allocate_density()
    call check_rotation()
    call share_grid()
    call share_components()
    call share_elements()
    call share_cells()
    call pillion_share_particles(session, 'id', 7, 0, id, ierr=ierr)
    call expect_ok(ierr, 'share no particles')
    call pillion_unshare(session, 'id', 7, ierr)
    call expect_ok(ierr, 'unshare')
    call share_atoms(advanced(0))
    call pillion_ready(session, ierr)
    call expect_ok(ierr, 'ready')
    call run_steps()
    call run_second_session(comm)
    call run_in_two_phases(comm)
    call pillion_checkpoint(session, 'checkpoint', ierr)
    call expect_ok(ierr, 'checkpoint')
    report = pillion_report_path(session)
    call MPI_Barrier(comm)
    call pillion_close(session, ierr)
    call expect_ok(ierr, 'close')
    if (pillion_is_enabled()) then
      call expect(file_exists(report) .and. index(report, '/') == 1 .and. &
        index(report, '/results/report.json') > 0, 'the report '//report)
    end if
    call expect(messages == 0, 'no warnings')
  end subroutine
end module

program api
  use simulation
  implicit none
  type(pillion_options) :: options
  type(pillion_session) :: never_opened
  integer :: sidecars
  call MPI_Init()
  sidecars = merge(1, 0, world_size() > 1)
  options = options_for('results', sidecars)
  call expect(pillion_version() /= '', 'a version')
  call pillion_open_with('session.yaml', MPI_COMM_WORLD, options, session, ierr)
  call pillion_options_free(options)
  call expect(ierr == 0, 'open: '//pillion_error_message())
  if (ierr == 0) then
    if (.not. pillion_serve(session)) call simulate(sidecars)
  end if
  call pillion_close(session, ierr)
  call expect_ok(ierr, 'close twice')
  call pillion_close(never_opened)
  call end_alike()
end program
