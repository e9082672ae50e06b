// SPDX-License-Identifier: BSD-3-Clause
// Finding Conduit's functions, and reading nodes with them.
#include "conduit.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <limits>
#include <memory>
#include <pillion/error.hpp>

namespace pillion::catalyst {

namespace {

/// A program in a language with modules of its own may have loaded Catalyst for itself alone. The
/// number is that of Catalyst's binary interface.
void* library() {
  static void* handle = dlopen("libcatalyst.so.3", RTLD_LAZY | RTLD_NOLOAD);
  return handle != nullptr ? handle : RTLD_DEFAULT;
}

template <class F>
void find(F*& function, const char* name) {
  const std::string symbol = fmt::format("catalyst_conduit_{}", name);
  function = reinterpret_cast<F*>(find_in_catalyst(symbol.c_str()));
  if (function == nullptr)
    throw Error(ErrorCode::Plugin,
                fmt::format("the Catalyst library of this program has no function '{}'; Pillion "
                            "needs Catalyst 2.0 or later as a shared library",
                            symbol));
}

ConduitApi find_all() {
  ConduitApi api{};
  find(api.has_path, "node_has_path");
  find(api.fetch_existing, "node_fetch_existing");
  find(api.number_of_children, "node_number_of_children");
  find(api.child, "node_child");
  find(api.name, "node_name");
  find(api.dtype, "node_dtype");
  find(api.type_id, "datatype_id");
  find(api.number_of_elements, "datatype_number_of_elements");
  find(api.stride, "datatype_stride");
  find(api.has_our_endianness, "datatype_endianness_matches_machine");
  find(api.element_ptr, "node_element_ptr");
  find(api.as_text, "node_as_char8_str");
  find(api.set_text, "node_set_path_char8_str");
  find(api.set_integer, "node_set_path_int64");
  find(api.set_real, "node_set_path_float64");
  return api;
}

pillion_type type_of(ConduitType type) {
  switch (type) {
    case ConduitType::Int8: return PILLION_INT8;
    case ConduitType::Int16: return PILLION_INT16;
    case ConduitType::Int32: return PILLION_INT32;
    case ConduitType::Int64: return PILLION_INT64;
    case ConduitType::Uint8: return PILLION_UINT8;
    case ConduitType::Uint16: return PILLION_UINT16;
    case ConduitType::Uint32: return PILLION_UINT32;
    case ConduitType::Uint64: return PILLION_UINT64;
    case ConduitType::Float32: return PILLION_FLOAT32;
    case ConduitType::Float64: return PILLION_FLOAT64;
    default: return 0;
  }
}

template <class T, class Value>
T read(const std::byte* from) {
  Value value;
  std::memcpy(&value, from, sizeof value);
  return static_cast<T>(value);
}

template <class T>
T convert(const std::byte* from, pillion_type type) {
  switch (type) {
    case PILLION_INT8: return read<T, int8_t>(from);
    case PILLION_INT16: return read<T, int16_t>(from);
    case PILLION_INT32: return read<T, int32_t>(from);
    case PILLION_INT64: return read<T, int64_t>(from);
    case PILLION_UINT8: return read<T, uint8_t>(from);
    case PILLION_UINT16: return read<T, uint16_t>(from);
    case PILLION_UINT32: return read<T, uint32_t>(from);
    case PILLION_UINT64: return read<T, uint64_t>(from);
    case PILLION_FLOAT32: return read<T, float>(from);
    default: return read<T, double>(from);
  }
}

}  // namespace

void* find_in_catalyst(const char* name) { return dlsym(library(), name); }

const ConduitApi& loaded_conduit() {
  static const ConduitApi api = find_all();
  return api;
}

void refuse(const std::string& text) { throw Error(ErrorCode::Sharing, text); }

size_t size_of(pillion_type type) {
  switch (type) {
    case PILLION_INT8:
    case PILLION_UINT8: return 1;
    case PILLION_INT16:
    case PILLION_UINT16: return 2;
    case PILLION_INT32:
    case PILLION_UINT32:
    case PILLION_FLOAT32: return 4;
    default: return 8;
  }
}

const char* name_of(pillion_type type) {
  static constexpr const char* names[] = {"",      "int32", "int64",  "float32", "float64", "int8",
                                          "uint8", "int16", "uint16", "uint32",  "uint64"};
  return names[type];
}

double Array::real(int64_t index) const { return convert<double>(at(index), type); }

int64_t Array::integer(int64_t index) const {
  if (!is_real()) return convert<int64_t>(at(index), type);
  constexpr double most = 9e18;
  const double value = real(index);
  return value > -most && value < most ? static_cast<int64_t>(value)
                                       : std::numeric_limits<int64_t>::min();
}

bool Array::is_regular() const {
  const auto size = static_cast<int64_t>(size_of(type));
  return stride % size == 0 && reinterpret_cast<uintptr_t>(data) % size_of(type) == 0;
}

Node Node::at(const char* path) const {
  if (auto found = find(path)) return *found;
  refuse(fmt::format("'{}/{}' is missing", path_, path));
}

std::optional<Node> Node::find(const char* path) const {
  if (!has(path)) return {};
  return Node(*api_, api_->fetch_existing(raw_, path),
              path_.empty() ? path : fmt::format("{}/{}", path_, path));
}

std::vector<Node> Node::children() const {
  std::vector<Node> out;
  const int64_t count = has_children() ? api_->number_of_children(raw_) : 0;
  for (int64_t i = 0; i < count; ++i) {
    const Node child(*api_, api_->child(raw_, i));
    const std::string name = type() == ConduitType::List ? std::to_string(i) : child.name();
    out.emplace_back(*api_, child.raw_, path_.empty() ? name : fmt::format("{}/{}", path_, name));
  }
  return out;
}

std::string Node::name() const {
  const std::unique_ptr<char, decltype(&std::free)> text(api_->name(raw_), &std::free);
  return text == nullptr ? "" : text.get();
}

ConduitType Node::type() const {
  return static_cast<ConduitType>(api_->type_id(api_->dtype(raw_)));
}

std::string Node::text() const {
  if (!is_text()) refuse(fmt::format("'{}' must be a text, and is not", path_));
  const char* text = api_->as_text(raw_);
  return text == nullptr ? "" : text;
}

Array Node::array() const {
  const RawType* type = api_->dtype(raw_);
  Array out{.type = type_of(this->type()), .count = api_->number_of_elements(type)};
  if (out.type == 0) refuse(fmt::format("'{}' must hold numbers, and does not", path_));
  if (api_->has_our_endianness(type) == 0)
    refuse(fmt::format("the bytes of '{}' are in another order than this machine's", path_));
  out.stride = api_->stride(type);
  if (out.count > 0) out.data = static_cast<const std::byte*>(api_->element_ptr(raw_, 0));
  return out;
}

Array Node::one_value() const {
  const Array all = array();
  if (all.count < 1) refuse(fmt::format("'{}' must hold a number, and is empty", path_));
  return all;
}

}  // namespace pillion::catalyst
