// SPDX-License-Identifier: BSD-3-Clause
// LAMMPS headers of 2021 and 2022 format their messages with fmt::make_args_checked, which fmt 9
// dropped. Where LAMMPS was packaged against the system's newer fmt, as on Debian, this stands in
// for it; where LAMMPS ships a fmt of its own, nothing is needed and nothing is defined.
#pragma once

#include <fmt/format.h>

#if FMT_VERSION >= 90000
FMT_BEGIN_NAMESPACE
template <typename... Args, typename Format>
format_arg_store<format_context, remove_reference_t<Args>...> make_args_checked(
    const Format&, const remove_reference_t<Args>&... args) {
  return {args...};
}
FMT_END_NAMESPACE
#endif
