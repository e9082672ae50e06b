// SPDX-License-Identifier: BSD-3-Clause
// The data of an input: blocks, and the arrays of fields in them. Nothing here copies or owns; all
// of it lives until the callback returns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <pillion/stage/host.hpp>
#include <span>
#include <string>

namespace pillion::stage {

/// Values of one field in one block, as loops over a T read them: pillion_array describes their
/// order, and strides are in elements here.
struct Array {
  const void* data = nullptr;
  pillion_type type = PILLION_FLOAT64;
  int32_t components = 1;
  int64_t strides[4]{};

  /// Element i of a particle field as it lies, for a T that is the field's own type.
  template <class T>
  [[nodiscard]] const T& at(int64_t i, int32_t component = 0) const {
    return static_cast<const T*>(data)[i * strides[0] + component * strides[3]];
  }
  /// Calls f with a const T* for the array's element type T.
  template <class F>
  decltype(auto) visit(F&& f) const {
    switch (type) {
      case PILLION_INT32: return f(static_cast<const int32_t*>(data));
      case PILLION_INT64: return f(static_cast<const int64_t*>(data));
      case PILLION_FLOAT32: return f(static_cast<const float*>(data));
      case PILLION_INT8: return f(static_cast<const int8_t*>(data));
      case PILLION_UINT8: return f(static_cast<const uint8_t*>(data));
      case PILLION_INT16: return f(static_cast<const int16_t*>(data));
      case PILLION_UINT16: return f(static_cast<const uint16_t*>(data));
      case PILLION_UINT32: return f(static_cast<const uint32_t*>(data));
      case PILLION_UINT64: return f(static_cast<const uint64_t*>(data));
      default: return f(static_cast<const double*>(data));
    }
  }
};

/// Throws if stages in C++ cannot read the array: its type is another one, it is in memory of a
/// device, or its elements lie as no stride in elements can say.
inline Array array_of(const pillion_array& array) {
  const int64_t element = size_of_element(array.type);
  if (element == 0)
    throw Error(ErrorCode::Stage,
                "a stage cannot read elements of type number " + std::to_string(array.type));
  if (array.memory_space == PILLION_MEMORY_DEVICE || array.ready_event != nullptr)
    throw Error(ErrorCode::Stage, "a stage cannot read memory of a device");
  Array out{array.data, array.type, array.components, {}};
  bool are_whole = array.component_data == nullptr;
  for (int d = 0; d < 4; ++d) {
    are_whole = are_whole && array.strides[d] % element == 0;
    out.strides[d] = array.strides[d] / element;
  }
  if (!are_whole)
    throw Error(
        ErrorCode::Stage,
        "a stage cannot read a field whose components lie apart, or whose elements are not a "
        "whole number of elements from each other");
  return out;
}

/// The part of an input that this rank holds in one piece.
class Block {
 public:
  explicit Block(const pillion_block* block) : block_(block) {}
  /// Cells, particles or elements.
  [[nodiscard]] int64_t count() const { return block_->cells.total; }
  [[nodiscard]] int64_t owned() const { return block_->cells.owned; }
  [[nodiscard]] const int64_t* lo() const { return block_->allocated.lo; }
  [[nodiscard]] const int64_t* hi() const { return block_->allocated.hi; }
  /// The block without ghost cells, in layouts that have them: see pillion_block.
  [[nodiscard]] const int64_t* inner_lo() const { return block_->valid.lo; }
  [[nodiscard]] const int64_t* inner_hi() const { return block_->valid.hi; }
  /// No other block of the mesh has it in this layout.
  [[nodiscard]] int64_t id() const { return block_->id; }
  /// The number that the program gave the block, or its number among this peer's.
  [[nodiscard]] int32_t number() const { return static_cast<int32_t>(block_->id & 0x7fffffff); }
  [[nodiscard]] int32_t level() const { return block_->level; }
  [[nodiscard]] int32_t array_count() const { return block_->array_count; }
  /// Points of an unstructured mesh: fields that are centred on points have as many values.
  [[nodiscard]] int64_t point_count() const { return block_->points.total; }
  /// Which points the cells of an unstructured mesh have; throws if the mesh is of another kind.
  [[nodiscard]] const pillion_connectivity& connectivity() const {
    if (block_->connectivity == nullptr)
      throw Error(ErrorCode::Stage, "a stage read cells of a block that has none of any shape");
    return *block_->connectivity;
  }
  /// Where the points of an unstructured or curvilinear mesh are: doubles, 3 components, whatever
  /// the dimensions of the mesh. Throws if the mesh is of another kind.
  [[nodiscard]] Array coordinates() const {
    if (block_->coordinates == nullptr)
      throw Error(ErrorCode::Stage, "a stage read coordinates of a block that has none");
    return array_of(*block_->coordinates);
  }
  /// Field number i of the input's list.
  [[nodiscard]] Array operator[](int32_t i) const { return array_of(*block_->arrays[i]); }
  /// All values of a field as one contiguous range (components interleaved, then first axis
  /// fastest). Not for inputs as shared, and only for a T that is the field's own type.
  template <class T>
  [[nodiscard]] std::span<const T> values(int32_t i) const {
    const Array array = (*this)[i];
    if (array.type != type_of<T>())
      throw Error(ErrorCode::Stage, "a stage read a field as another type than it has");
    return {static_cast<const T*>(array.data), static_cast<size_t>(count() * array.components)};
  }
  [[nodiscard]] const pillion_block& raw() const { return *block_; }

 private:
  const pillion_block* block_;
};

/// The domain of a mesh; throws if it has none.
inline pillion_domain domain_of(const pillion_mesh& mesh) {
  if (mesh.has_domain == 0)
    throw Error(ErrorCode::Sharing,
                std::string("mesh '") + mesh.name +
                    "' has no domain; call pillion_set_domain before the first step");
  pillion_domain out{};
  std::copy_n(mesh.origin, 3, out.lo);
  std::copy_n(mesh.end, 3, out.hi);
  std::copy_n(mesh.tilt, 3, out.tilt);
  std::copy_n(mesh.periodic, 3, out.periodic);
  out.dimensions = mesh.axes;
  return out;
}

}  // namespace pillion::stage
