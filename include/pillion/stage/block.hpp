// SPDX-License-Identifier: BSD-3-Clause
// The data of an input: blocks, and the arrays of fields in them. Nothing here copies or owns; all
// of it lives until the callback returns.
#pragma once

#include <cstdint>
#include <pillion/stage/host.hpp>
#include <span>

namespace pillion::stage {

/// Values of one field in one block; see pillion_array for the arrangement.
class Array {
 public:
  explicit Array(const pillion_array& array) : array_(array) {}
  [[nodiscard]] pillion_type type() const { return array_.type; }
  [[nodiscard]] int32_t components() const { return array_.components; }
  [[nodiscard]] const pillion_array& raw() const& { return array_; }
  [[nodiscard]] pillion_array raw() && { return array_; }

  /// Element i of a particle field as it lies, for a T that is the field's own type.
  template <class T>
  [[nodiscard]] const T& at(int64_t i, int32_t component = 0) const {
    return static_cast<const T*>(
        array_.data)[i * array_.strides[0] + component * array_.strides[3]];
  }
  /// Calls f with a const T* for the array's element type T.
  template <class F>
  decltype(auto) visit(F&& f) const {
    switch (array_.type) {
      case PILLION_INT32: return f(static_cast<const int32_t*>(array_.data));
      case PILLION_INT64: return f(static_cast<const int64_t*>(array_.data));
      case PILLION_FLOAT32: return f(static_cast<const float*>(array_.data));
      default: return f(static_cast<const double*>(array_.data));
    }
  }

 private:
  pillion_array array_;
};

/// The part of an input that this rank holds in one piece.
class Block {
 public:
  explicit Block(const pillion_block* block) : block_(block) {}
  [[nodiscard]] int64_t count() const { return block_->count; }
  [[nodiscard]] int64_t owned() const { return block_->owned; }
  [[nodiscard]] const int64_t* lo() const { return block_->lo; }
  [[nodiscard]] const int64_t* hi() const { return block_->hi; }
  /// The block without ghost cells, in layouts that have them: see pillion_block.
  [[nodiscard]] const int64_t* inner_lo() const { return block_->inner_lo; }
  [[nodiscard]] const int64_t* inner_hi() const { return block_->inner_hi; }
  /// Field number i of the input's list.
  [[nodiscard]] Array operator[](int32_t i) const { return Array(block_->arrays[i]); }
  /// All values of a field as one contiguous range (components interleaved, then first axis
  /// fastest). Not for inputs as shared, and only for a T that is the field's own type.
  template <class T>
  [[nodiscard]] std::span<const T> values(int32_t i) const {
    const auto& array = block_->arrays[i];
    if (array.type != type_of<T>())
      throw Error(ErrorCode::Stage, "a stage read a field as another type than it has");
    return {static_cast<const T*>(array.data),
            static_cast<size_t>(block_->count * array.components)};
  }
  [[nodiscard]] const pillion_block& raw() const { return *block_; }

 private:
  const pillion_block* block_;
};

}  // namespace pillion::stage
