// SPDX-License-Identifier: BSD-3-Clause
// Field files of Nek5000 as text and numbers: which field has which place in them, and the header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pillion::stages::write_nek {

/// One component of a field that is written; `field` is its number among the fields.
struct Component {
  int32_t field = 0;
  int32_t component = 0;

  bool operator==(const Component&) const = default;
};

/// A part of a file: the coordinates, a vector or a scalar, with all its elements.
using Part = std::vector<Component>;

/// A field to place.
struct Named {
  std::string name;
  int32_t components = 1;
};

/// Where fields are in a file. Files have places for a velocity, a pressure, a temperature, and up
/// to 99 scalars, and no names.
struct Places {
  Part velocity, pressure, temperature;
  std::vector<Part> scalars;
};

/// `velocity`, `pressure` and `temperature` have their places. Without a velocity, the first other
/// vector has its place. Each component of what is left is a scalar, in the order of fields.
/// Throws if there are too many of these, or a field with such a name has other components.
Places places_of(const std::vector<Named>& fields, int32_t axes);

/// The header of a file that has all elements of a step.
struct Header {
  int32_t bytes = 8;  ///< of a value: 4 or 8
  int32_t points = 0;
  int32_t axes = 3;
  int64_t elements = 0;
  double time = 0;
  int64_t step = 0;
  bool has_coordinates = false;
};
constexpr int64_t header_size = 132;
std::string header_text(const Header& header, const Places& places);

/// A number as Fortran's edit descriptor Ew.d prints it: 0.ddd with d digits, and an exponent,
/// which has its letter E with three digits too, because readers in C and Python need it.
std::string fortran_real(double value, int width, int digits);

/// The file that ParaView and VisIt open: the names of files whose numbers begin with 1.
std::string list_text(const std::string& name, size_t count);

/// The path of file number `number`, from 1 on, relative to that of the list.
std::string file_name(const std::string& name, size_t number);

}  // namespace pillion::stages::write_nek
