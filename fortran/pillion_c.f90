! SPDX-License-Identifier: BSD-3-Clause
! The C interface of pillion.h as it is, but for functions that take an MPI_Comm, in whose place
! those for MPI_Fint stand. What is pillion_VERB in C is c_VERB here. Programs use the module
! `pillion`, which is made of this one.
module pillion_c
  use, intrinsic :: iso_c_binding, only: &
    c_char, c_double, c_funptr, c_int, c_int32_t, c_int64_t, c_null_ptr, c_ptr, c_size_t
  implicit none
  public

  ! Statuses.
  ! The number of a block that Pillion is to number.
  integer, parameter :: pillion_any_block = -1

  enum, bind(C)
    enumerator :: pillion_ok = 0, pillion_error_argument, pillion_error_configuration, &
      pillion_error_sharing, pillion_error_placement, pillion_error_plugin, pillion_error_stage, &
      pillion_error_file, pillion_error_state, pillion_error_internal
  end enum

  ! What a rank may become.
  enum, bind(C)
    enumerator :: pillion_role_any = 0, pillion_role_simulation, pillion_role_sidecar
  end enum

  ! Severity of a log message.
  enum, bind(C)
    enumerator :: pillion_log_debug = 0, pillion_log_info, pillion_log_warning, pillion_log_error
  end enum

  ! Element types of a field.
  enum, bind(C)
    enumerator :: pillion_int32 = 1, pillion_int64, pillion_float32, pillion_float64
    enumerator :: pillion_int8 = 5, pillion_uint8, pillion_int16, pillion_uint16
    enumerator :: pillion_uint32 = 9, pillion_uint64
  end enum

  ! Kinds of mesh.
  enum, bind(C)
    enumerator :: pillion_uniform = 1, pillion_particles, pillion_spectral
    enumerator :: pillion_rectilinear = 4, pillion_curvilinear, pillion_unstructured
  end enum

  ! Where a mesh has the values of a field; one value for each element is pillion_cell.
  enum, bind(C)
    enumerator :: pillion_cell = 1, pillion_point, pillion_face, pillion_edge
  end enum

  ! What the axes of a mesh measure.
  enum, bind(C)
    enumerator :: pillion_cartesian = 1, pillion_cylindrical, pillion_spherical
  end enum

  ! The points of elements of a spectral mesh, and those of one of its other point sets.
  enum, bind(C)
    enumerator :: pillion_gauss_lobatto = 0, pillion_gauss
  end enum

  ! Where memory is.
  enum, bind(C)
    enumerator :: pillion_memory_host = 1, pillion_memory_pinned, pillion_memory_managed
    enumerator :: pillion_memory_device = 4
  end enum

  ! Where the components of an array stand.
  enum, bind(C)
    enumerator :: pillion_components_first = 0, pillion_components_last
  end enum

  ! An array that knows its shape; extents and strides, in bytes, of the first `rank` dimensions.
  type, bind(C) :: pillion_view
    type(c_ptr) :: data = c_null_ptr
    integer(c_int32_t) :: type = 0
    integer(c_int32_t) :: rank = 0
    integer(c_int64_t) :: extents(5) = 0
    integer(c_int64_t) :: strides(5) = 0
  end type

  ! A field whose components lie in arrays of their own.
  type, bind(C) :: pillion_arrays
    integer(c_size_t) :: size = 0           ! c_sizeof of this
    type(c_ptr) :: data = c_null_ptr        ! addresses, one of each component
    integer(c_int32_t) :: type = 0
    integer(c_int32_t) :: components = 0
    type(c_ptr) :: strides = c_null_ptr     ! in elements; c_null_ptr if arrays are packed
  end type

  ! The parallelepiped that particles live in.
  type, bind(C) :: pillion_domain
    real(c_double) :: lo(3) = 0
    real(c_double) :: hi(3) = 0
    real(c_double) :: tilt(3) = 0
    integer(c_int32_t) :: periodic(3) = 0
    integer(c_int32_t) :: dimensions = 0   ! 2 or 3; 0: as the configuration says
  end type

  ! How the run is doing, as this simulation rank knows it without asking anyone.
  type, bind(C) :: pillion_progress
    integer(c_int64_t) :: step = 0           ! the last step offered
    real(c_double) :: time = 0               ! its time, in the simulation's units
    real(c_double) :: steps_per_second = 0   ! since the first step
    integer(c_int64_t) :: publications = 0   ! made so far
    integer(c_int64_t) :: skipped = 0        ! publications that were due and skipped
    integer(c_int64_t) :: behind = 0         ! publications that sidecars have not finished
    real(c_double) :: stall_seconds = 0      ! spent waiting for sidecars
    integer(c_int64_t) :: disabled = 0       ! analyses disabled by a failure
  end type

  ! A field of the catalogue, and the mesh that it lives on.
  type, bind(C) :: c_field
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: mesh = c_null_ptr
    integer(c_int32_t) :: mesh_kind = 0
    integer(c_int32_t) :: type = 0
    integer(c_int32_t) :: components = 0
    integer(c_int32_t) :: axes = 0
    integer(c_int64_t) :: cells(3) = 0
    integer(c_int32_t) :: used = 0
    integer(c_int32_t) :: order = 0
    integer(c_int32_t) :: levels = 1
    integer(c_int32_t) :: is_partial = 0
    integer(c_int32_t) :: centering = 0
    integer(c_int32_t) :: point_axes = 0
  end type

  ! Points of a block of an unstructured mesh: coordinate d of point i is element i*stride behind
  ! data(d), or, where data(2) is null, element i*stride + d behind data(1).
  type, bind(C) :: pillion_points
    integer(c_size_t) :: size = 0
    integer(c_int64_t) :: count = 0
    type(c_ptr) :: data(3) = c_null_ptr
    integer(c_int64_t) :: stride = 0   ! in elements; 0 if points are packed
    integer(c_int32_t) :: type = 0
    integer(c_int32_t) :: dimensions = 0   ! coordinates of each point; 0 stands for 3
    type(c_ptr) :: ids = c_null_ptr    ! integer(c_int64_t)
  end type

  ! Cells of a block of an unstructured mesh; the header of C describes them.
  type, bind(C) :: pillion_cells
    integer(c_size_t) :: size = 0
    integer(c_int64_t) :: count = 0
    type(c_ptr) :: types = c_null_ptr
    integer(c_int32_t) :: type = 0
    integer(c_int32_t) :: index_type = 0
    integer(c_int32_t) :: base = 0
    integer(c_int32_t) :: points_are_ids = 0
    type(c_ptr) :: offsets = c_null_ptr
    type(c_ptr) :: points = c_null_ptr
    integer(c_int64_t) :: face_count = 0
    type(c_ptr) :: face_offsets = c_null_ptr
    type(c_ptr) :: face_points = c_null_ptr
    type(c_ptr) :: polyhedron_offsets = c_null_ptr
    type(c_ptr) :: polyhedron_faces = c_null_ptr
    type(c_ptr) :: flags = c_null_ptr
    type(c_ptr) :: ids = c_null_ptr
    type(c_ptr) :: parents = c_null_ptr
    type(c_ptr) :: patches = c_null_ptr
  end type

  interface
    function c_error_message() result(text) bind(C, name='pillion_error_message')
      import :: c_ptr
      type(c_ptr) :: text
    end function

    function c_version() result(text) bind(C, name='pillion_version')
      import :: c_ptr
      type(c_ptr) :: text
    end function

    pure function c_is_enabled() result(enabled) bind(C, name='pillion_is_enabled')
      import :: c_int32_t
      integer(c_int32_t) :: enabled
    end function

    ! ---- options ----

    function c_options_create(options) result(status) bind(C, name='pillion_options_create')
      import :: c_int32_t, c_ptr
      type(c_ptr), intent(out) :: options
      integer(c_int32_t) :: status
    end function

    subroutine c_options_free(options) bind(C, name='pillion_options_free')
      import :: c_ptr
      type(c_ptr), value :: options
    end subroutine

    function c_options_set(options, name, value) result(status) bind(C, name='pillion_options_set')
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: options
      character(kind=c_char), intent(in) :: name(*), value(*)
      integer(c_int32_t) :: status
    end function

    function c_options_set_role(options, role) result(status) &
      bind(C, name='pillion_options_set_role')
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: options
      integer(c_int32_t), value :: role
      integer(c_int32_t) :: status
    end function

    function c_options_set_catalogue(options, yaml) result(status) &
      bind(C, name='pillion_options_set_catalogue')
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: options
      character(kind=c_char), intent(in) :: yaml(*)
      integer(c_int32_t) :: status
    end function

    function c_options_override(options, key, value) result(status) &
      bind(C, name='pillion_options_override')
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: options
      character(kind=c_char), intent(in) :: key(*), value(*)
      integer(c_int32_t) :: status
    end function

    function c_options_set_restart(options, path) result(status) &
      bind(C, name='pillion_options_set_restart')
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: options
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t) :: status
    end function

    function c_options_set_deferred(options) result(status) &
      bind(C, name='pillion_options_set_deferred')
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: options
      integer(c_int32_t) :: status
    end function

    function c_options_set_log(options, handler, context) result(status) &
      bind(C, name='pillion_options_set_log')
      import :: c_funptr, c_int32_t, c_ptr
      type(c_ptr), value :: options
      type(c_funptr), value :: handler
      type(c_ptr), value :: context
      integer(c_int32_t) :: status
    end function

    ! ---- a session ----

    function c_open_fortran(file, comm, session) result(status) bind(C, name='pillion_open_fortran')
      import :: c_char, c_int, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: file(*)
      integer(c_int), value :: comm
      type(c_ptr), intent(out) :: session
      integer(c_int32_t) :: status
    end function

    function c_open_with_fortran(file, comm, options, session) result(status) &
      bind(C, name='pillion_open_with_fortran')
      import :: c_char, c_int, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: file(*)
      integer(c_int), value :: comm
      type(c_ptr), value :: options
      type(c_ptr), intent(out) :: session
      integer(c_int32_t) :: status
    end function

    function c_set_parameter(session, name, value) result(status) &
      bind(C, name='pillion_set_parameter')
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*), value(*)
      integer(c_int32_t) :: status
    end function

    function c_offer_catalogue(session, yaml) result(status) &
      bind(C, name='pillion_offer_catalogue')
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: yaml(*)
      integer(c_int32_t) :: status
    end function

    function c_configure(session) result(status) bind(C, name='pillion_configure')
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: session
      integer(c_int32_t) :: status
    end function

    function c_serve(session) result(served) bind(C, name='pillion_serve')
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: session
      integer(c_int32_t) :: served
    end function

    function c_communicator_fortran(session) result(comm) &
      bind(C, name='pillion_communicator_fortran')
      import :: c_int, c_ptr
      type(c_ptr), value :: session
      integer(c_int) :: comm
    end function

    function c_count_fields(session, count) result(status) bind(C, name='pillion_count_fields')
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: session
      integer(c_int32_t), intent(inout) :: count
      integer(c_int32_t) :: status
    end function

    function c_get_field(session, number, field) result(status) bind(C, name='pillion_get_field')
      import :: c_int32_t, c_ptr, c_field
      type(c_ptr), value :: session
      integer(c_int32_t), value :: number
      type(c_field), intent(inout) :: field
      integer(c_int32_t) :: status
    end function

    ! ---- sharing ----

    function c_share_box_typed(session, field, block, lo, hi, data, type) result(status) &
      bind(C, name='pillion_share_box_typed')
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t), value :: block
      integer(c_int64_t), intent(in) :: lo(*), hi(*)
      type(c_ptr), value :: data
      integer(c_int32_t), value :: type
      integer(c_int32_t) :: status
    end function

    function c_share_box_strided(session, field, block, lo, hi, data, type, strides) &
      result(status) bind(C, name='pillion_share_box_strided')
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t), value :: block
      integer(c_int64_t), intent(in) :: lo(*), hi(*)
      type(c_ptr), value :: data
      integer(c_int32_t), value :: type
      integer(c_int64_t), intent(in) :: strides(*)
      integer(c_int32_t) :: status
    end function

    function c_share_box_view(session, field, block, axes, lo, hi, view, components) &
      result(status) bind(C, name='pillion_share_box_view')
      import :: c_char, c_int32_t, c_int64_t, c_ptr, pillion_view
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t), value :: block, axes
      integer(c_int64_t), intent(in) :: lo(*), hi(*)
      type(pillion_view), intent(in) :: view
      integer(c_int32_t), value :: components
      integer(c_int32_t) :: status
    end function

    function c_share_box_level(session, field, level, block, lo, hi, data, type, strides) &
      result(status) bind(C, name='pillion_share_box_level')
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t), value :: level, block
      integer(c_int64_t), intent(in) :: lo(*), hi(*)
      type(c_ptr), value :: data
      integer(c_int32_t), value :: type
      integer(c_int64_t), intent(in) :: strides(*)
      integer(c_int32_t) :: status
    end function

    function c_share_box_level_view(session, field, level, block, axes, lo, hi, view, components) &
      result(status) bind(C, name='pillion_share_box_level_view')
      import :: c_char, c_int32_t, c_int64_t, c_ptr, pillion_view
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t), value :: level, block, axes
      integer(c_int64_t), intent(in) :: lo(*), hi(*)
      type(pillion_view), intent(in) :: view
      integer(c_int32_t), value :: components
      integer(c_int32_t) :: status
    end function

    function c_share_box_ghosts(session, field, level, block, lo, hi, ghosts, data, type) &
      result(status) bind(C, name='pillion_share_box_ghosts')
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t), value :: level, block
      integer(c_int64_t), intent(in) :: lo(*), hi(*), ghosts(*)
      type(c_ptr), value :: data
      integer(c_int32_t), value :: type
      integer(c_int32_t) :: status
    end function

    function c_share_box_ghosts_view(session, field, level, block, axes, lo, hi, ghosts, view, &
      components) result(status) bind(C, name='pillion_share_box_ghosts_view')
      import :: c_char, c_int32_t, c_int64_t, c_ptr, pillion_view
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t), value :: level, block, axes
      integer(c_int64_t), intent(in) :: lo(*), hi(*), ghosts(*)
      type(pillion_view), intent(in) :: view
      integer(c_int32_t), value :: components
      integer(c_int32_t) :: status
    end function

    function c_share_particles_typed(session, field, block, count, data, type) &
      result(status) bind(C, name='pillion_share_particles_typed')
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t), value :: block
      integer(c_int64_t), value :: count
      type(c_ptr), value :: data
      integer(c_int32_t), value :: type
      integer(c_int32_t) :: status
    end function

    function c_share_particles_view(session, field, block, count, view, components) &
      result(status) bind(C, name='pillion_share_particles_view')
      import :: c_char, c_int32_t, c_int64_t, c_ptr, pillion_view
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t), value :: block
      integer(c_int64_t), value :: count
      type(pillion_view), intent(in) :: view
      integer(c_int32_t), value :: components
      integer(c_int32_t) :: status
    end function

    function c_share_elements_typed(session, field, block, count, data, type) result(status) &
      bind(C, name='pillion_share_elements_typed')
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t), value :: block
      integer(c_int64_t), value :: count
      type(c_ptr), value :: data
      integer(c_int32_t), value :: type
      integer(c_int32_t) :: status
    end function

    function c_share_elements_view(session, field, block, count, view) result(status) &
      bind(C, name='pillion_share_elements_view')
      import :: c_char, c_int32_t, c_int64_t, c_ptr, pillion_view
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t), value :: block
      integer(c_int64_t), value :: count
      type(pillion_view), intent(in) :: view
      integer(c_int32_t) :: status
    end function

    function c_share_points(session, mesh, block, points) result(status) &
      bind(C, name='pillion_share_points')
      import :: c_char, c_int32_t, c_ptr, pillion_points
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: mesh(*)
      integer(c_int32_t), value :: block
      type(pillion_points), intent(in) :: points
      integer(c_int32_t) :: status
    end function

    function c_share_cells(session, mesh, block, cells) result(status) &
      bind(C, name='pillion_share_cells')
      import :: c_char, c_int32_t, c_ptr, pillion_cells
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: mesh(*)
      integer(c_int32_t), value :: block
      type(pillion_cells), intent(in) :: cells
      integer(c_int32_t) :: status
    end function

    function c_share_values_typed(session, field, block, count, data, type) result(status) &
      bind(C, name='pillion_share_values_typed')
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t), value :: block
      integer(c_int64_t), value :: count
      type(c_ptr), value :: data
      integer(c_int32_t), value :: type
      integer(c_int32_t) :: status
    end function

    function c_share_values_view(session, field, block, count, view, components) result(status) &
      bind(C, name='pillion_share_values_view')
      import :: c_char, c_int32_t, c_int64_t, c_ptr, pillion_view
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t), value :: block
      integer(c_int64_t), value :: count
      type(pillion_view), intent(in) :: view
      integer(c_int32_t), value :: components
      integer(c_int32_t) :: status
    end function

    function c_share_box_components(session, field, level, block, lo, hi, arrays) &
      result(status) bind(C, name='pillion_share_box_components')
      import :: c_char, c_int32_t, c_int64_t, c_ptr, pillion_arrays
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t), value :: level, block
      integer(c_int64_t), intent(in) :: lo(*), hi(*)
      type(pillion_arrays), intent(in) :: arrays
      integer(c_int32_t) :: status
    end function

    function c_share_components(session, field, block, count, arrays) &
      result(status) bind(C, name='pillion_share_components')
      import :: c_char, c_int32_t, c_int64_t, c_ptr, pillion_arrays
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t), value :: block
      integer(c_int64_t), value :: count
      type(pillion_arrays), intent(in) :: arrays
      integer(c_int32_t) :: status
    end function

    function c_share_box_components_view(session, field, level, block, axes, lo, hi, components, &
      views) result(status) bind(C, name='pillion_share_box_components_view')
      import :: c_char, c_int32_t, c_int64_t, c_ptr, pillion_view
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t), value :: level, block, axes
      integer(c_int64_t), intent(in) :: lo(*), hi(*)
      integer(c_int32_t), value :: components
      type(pillion_view), intent(in) :: views(*)
      integer(c_int32_t) :: status
    end function

    function c_share_components_view(session, field, block, count, components, views) &
      result(status) bind(C, name='pillion_share_components_view')
      import :: c_char, c_int32_t, c_int64_t, c_ptr, pillion_view
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t), value :: block
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: components
      type(pillion_view), intent(in) :: views(*)
      integer(c_int32_t) :: status
    end function

    function c_allocate(session, field, block, bytes, buffers, data) result(status) &
      bind(C, name='pillion_allocate')
      import :: c_char, c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t), value :: block
      integer(c_size_t), value :: bytes
      integer(c_int32_t), value :: buffers
      type(c_ptr), intent(inout) :: data
      integer(c_int32_t) :: status
    end function

    function c_swap(session, field, block, data) result(status) bind(C, name='pillion_swap')
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t), value :: block
      type(c_ptr), intent(inout) :: data
      integer(c_int32_t) :: status
    end function

    function c_keep(session, data, kept) result(status) bind(C, name='pillion_keep')
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: session
      type(c_ptr), value :: data
      type(c_ptr), intent(inout) :: kept
      integer(c_int32_t) :: status
    end function

    subroutine c_release(kept) bind(C, name='pillion_release')
      import :: c_ptr
      type(c_ptr), value :: kept
    end subroutine

    function c_unshare(session, field, block) result(status) bind(C, name='pillion_unshare')
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t), value :: block
      integer(c_int32_t) :: status
    end function

    function c_begin_blocks(session, field) result(status) &
      bind(C, name='pillion_begin_blocks')
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t) :: status
    end function

    function c_end_blocks(session, field) result(status) bind(C, name='pillion_end_blocks')
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: field(*)
      integer(c_int32_t) :: status
    end function

    function c_set_domain(session, mesh, domain) result(status) bind(C, name='pillion_set_domain')
      import :: c_char, c_int32_t, c_ptr, pillion_domain
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: mesh(*)
      type(pillion_domain), intent(in) :: domain
      integer(c_int32_t) :: status
    end function

    function c_set_coordinates(session, mesh, axis, count, values) result(status) &
      bind(C, name='pillion_set_coordinates')
      import :: c_char, c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: mesh(*)
      integer(c_int32_t), value :: axis
      integer(c_int64_t), value :: count
      real(c_double), intent(in) :: values(*)
      integer(c_int32_t) :: status
    end function

    function c_set_scalar(session, name, value) result(status) bind(C, name='pillion_set_scalar')
      import :: c_char, c_double, c_int32_t, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: value
      integer(c_int32_t) :: status
    end function

    function c_set_units(session, name, units) result(status) bind(C, name='pillion_set_units')
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: name(*), units(*)
      integer(c_int32_t) :: status
    end function

    function c_ready(session) result(status) bind(C, name='pillion_ready')
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: session
      integer(c_int32_t) :: status
    end function

    ! ---- stepping ----

    function c_is_due(session, step, time, due) result(status) bind(C, name='pillion_is_due')
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: session
      integer(c_int64_t), value :: step
      real(c_double), value :: time
      integer(c_int32_t), intent(inout) :: due
      integer(c_int32_t) :: status
    end function

    function c_step(session, step, time) result(status) bind(C, name='pillion_step')
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: session
      integer(c_int64_t), value :: step
      real(c_double), value :: time
      integer(c_int32_t) :: status
    end function

    function c_checkpoint(session, path) result(status) bind(C, name='pillion_checkpoint')
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: session
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t) :: status
    end function

    function c_get_progress(session, progress) result(status) bind(C, name='pillion_get_progress')
      import :: c_int32_t, c_ptr, pillion_progress
      type(c_ptr), value :: session
      type(pillion_progress), intent(inout) :: progress
      integer(c_int32_t) :: status
    end function

    function c_report_path(session) result(text) bind(C, name='pillion_report_path')
      import :: c_ptr
      type(c_ptr), value :: session
      type(c_ptr) :: text
    end function

    function c_close(session) result(status) bind(C, name='pillion_close')
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: session
      integer(c_int32_t) :: status
    end function
  end interface
end module
