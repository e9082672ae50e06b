// SPDX-License-Identifier: BSD-3-Clause
// Reading the Conduit nodes that a simulation passes to Catalyst. The functions of Conduit's C
// interface are found in the Catalyst library of the process when it runs, so Pillion is built
// without Catalyst, and works with every build of it.
#pragma once

#include <pillion/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

extern "C" {
struct conduit_node_impl;
struct conduit_datatype_impl;
}

namespace pillion::catalyst {

using RawNode = ::conduit_node_impl;
using RawType = ::conduit_datatype_impl;

/// Conduit's numbers of types.
enum class ConduitType : int64_t {
  Empty = 0,
  Object = 1,
  List = 2,
  Int8 = 3,
  Int16 = 4,
  Int32 = 5,
  Int64 = 6,
  Uint8 = 7,
  Uint16 = 8,
  Uint32 = 9,
  Uint64 = 10,
  Float32 = 11,
  Float64 = 12,
  Text = 13
};

/// The part of Conduit's C interface that is used here. Its functions may throw.
struct ConduitApi {
  int (*has_path)(const RawNode*, const char*);
  RawNode* (*fetch_existing)(RawNode*, const char*);
  int64_t (*number_of_children)(RawNode*);
  RawNode* (*child)(RawNode*, int64_t);
  char* (*name)(const RawNode*);  ///< to be freed with free()
  const RawType* (*dtype)(const RawNode*);
  int64_t (*type_id)(const RawType*);
  int64_t (*number_of_elements)(const RawType*);
  int64_t (*stride)(const RawType*);
  int (*has_our_endianness)(const RawType*);
  void* (*element_ptr)(RawNode*, int64_t);
  char* (*as_text)(RawNode*);  ///< the node's own
  void (*set_text)(RawNode*, const char* path, const char* value);
  void (*set_integer)(RawNode*, const char* path, int64_t value);
  void (*set_real)(RawNode*, const char* path, double value);
};

/// The functions in the Catalyst library that this process has loaded. Throws Error if it lacks
/// one.
const ConduitApi& loaded_conduit();
/// Any other function of that library; null if it has none of that name.
void* find_in_catalyst(const char* name);

/// Throws Error for data of the simulation that cannot be taken.
[[noreturn]] void refuse(const std::string& text);

size_t size_of(pillion_type type);
const char* name_of(pillion_type type);

/// Values of one type in memory of the simulation, evenly apart.
struct Array {
  const std::byte* data = nullptr;
  pillion_type type = 0;
  int64_t count = 0;
  int64_t stride = 0;  ///< bytes from one value to the next

  [[nodiscard]] const std::byte* at(int64_t index) const { return data + index * stride; }
  [[nodiscard]] double real(int64_t index) const;
  [[nodiscard]] int64_t integer(int64_t index) const;
  [[nodiscard]] bool is_real() const { return type == PILLION_FLOAT32 || type == PILLION_FLOAT64; }
  /// Whether the next value is right behind each.
  [[nodiscard]] bool is_packed() const {
    return count <= 1 || stride == static_cast<int64_t>(size_of(type));
  }
  /// Whether values lie where their type may, a whole number of values apart.
  [[nodiscard]] bool is_regular() const;
};

/// A node of the simulation's, which must outlive it. What is missing or of another type than
/// wanted throws Error with the path in its message.
class Node {
 public:
  Node(const ConduitApi& api, const RawNode* raw, std::string path = {})
      // Conduit's functions take nodes that may change, but those used here change none.
      : api_(&api), raw_(const_cast<RawNode*>(raw)), path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool has(const char* path) const { return api_->has_path(raw_, path) != 0; }
  [[nodiscard]] Node at(const char* path) const;
  [[nodiscard]] std::optional<Node> find(const char* path) const;
  [[nodiscard]] std::vector<Node> children() const;
  /// The last component of its path; empty of an element of a list.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] ConduitType type() const;
  [[nodiscard]] bool has_children() const {
    return type() == ConduitType::Object || type() == ConduitType::List;
  }
  [[nodiscard]] bool is_text() const { return type() == ConduitType::Text; }
  [[nodiscard]] bool is_number() const {
    return type() >= ConduitType::Int8 && type() <= ConduitType::Float64;
  }
  [[nodiscard]] std::string text() const;
  [[nodiscard]] double real() const { return one_value().real(0); }
  [[nodiscard]] int64_t integer() const { return one_value().integer(0); }
  [[nodiscard]] Array array() const;

 private:
  [[nodiscard]] Array one_value() const;
  const ConduitApi* api_;
  RawNode* raw_;
  std::string path_;
};

}  // namespace pillion::catalyst
