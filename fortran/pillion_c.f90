! SPDX-License-Identifier: BSD-3-Clause
! The C interface of pillion.h as it is, but for functions that take an MPI_Comm, in whose place
! those for MPI_Fint stand. What is pillion_VERB in C is c_VERB here. Programs use the module
! `pillion`, which is made of this one.
module pillion_c
  use, intrinsic :: iso_c_binding, only: &
    c_char, c_double, c_funptr, c_int, c_int32_t, c_int64_t, c_size_t, c_ptr
  use pillion_c_types
  implicit none
  public

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

    function c_count_scalars(session, count) result(status) bind(C, name='pillion_count_scalars')
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: session
      integer(c_int32_t), intent(inout) :: count
      integer(c_int32_t) :: status
    end function

    function c_get_scalar_name(session, number, name) result(status) &
      bind(C, name='pillion_get_scalar_name')
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: session
      integer(c_int32_t), value :: number
      type(c_ptr), intent(inout) :: name
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
