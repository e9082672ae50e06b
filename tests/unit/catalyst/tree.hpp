// SPDX-License-Identifier: BSD-3-Clause
// Nodes for tests, behind the functions of Conduit's interface that the adapter uses.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conduit.hpp"

struct conduit_node_impl {
  using Type = pillion::catalyst::ConduitType;
  std::string name;
  Type type = Type::Empty;
  std::vector<std::unique_ptr<conduit_node_impl>> children;
  std::string text;
  std::vector<std::byte> own;
  std::byte* data = nullptr;
  int64_t count = 0, stride = 0;
  bool has_our_endianness = true;
};

namespace pillion::catalyst::test {

using ::conduit_node_impl;

inline conduit_node_impl* find(conduit_node_impl* node, std::string path, bool makes) {
  while (!path.empty() && node != nullptr) {
    const size_t end = path.find('/');
    const std::string name = path.substr(0, end);
    path = end == std::string::npos ? "" : path.substr(end + 1);
    conduit_node_impl* next = nullptr;
    for (const auto& child : node->children)
      if (child->name == name) next = child.get();
    if (next == nullptr && makes) {
      node->type = ConduitType::Object;
      next = node->children.emplace_back(std::make_unique<conduit_node_impl>()).get();
      next->name = name;
    }
    node = next;
  }
  return node;
}

inline const RawType* type_of(const RawNode* node) {
  return reinterpret_cast<const RawType*>(node);
}
inline const RawNode* node_of(const RawType* type) {
  return reinterpret_cast<const RawNode*>(type);
}

inline const ConduitApi& functions() {
  static const ConduitApi api = {
      [](const RawNode* node, const char* path) {
        return find(const_cast<RawNode*>(node), path, false) != nullptr ? 1 : 0;
      },
      [](RawNode* node, const char* path) { return find(node, path, false); },
      [](RawNode* node) { return static_cast<int64_t>(node->children.size()); },
      [](RawNode* node, int64_t i) { return node->children[static_cast<size_t>(i)].get(); },
      [](const RawNode* node) { return strdup(node->name.c_str()); },
      [](const RawNode* node) { return type_of(node); },
      [](const RawType* type) { return static_cast<int64_t>(node_of(type)->type); },
      [](const RawType* type) { return node_of(type)->count; },
      [](const RawType* type) { return node_of(type)->stride; },
      [](const RawType* type) { return node_of(type)->has_our_endianness ? 1 : 0; },
      [](RawNode* node, int64_t i) { return static_cast<void*>(node->data + i * node->stride); },
      [](RawNode* node) { return node->text.data(); },
      [](RawNode*, const char*, const char*) {},
      [](RawNode* node, const char* path, int64_t value) {
        auto* at = find(node, path, true);
        at->own.resize(sizeof value);
        std::memcpy(at->own.data(), &value, sizeof value);
        at->data = at->own.data();
        at->type = ConduitType::Int64;
        at->count = 1;
        at->stride = sizeof value;
      },
      [](RawNode* node, const char* path, double value) {
        auto* at = find(node, path, true);
        at->own.resize(sizeof value);
        std::memcpy(at->own.data(), &value, sizeof value);
        at->data = at->own.data();
        at->type = ConduitType::Float64;
        at->count = 1;
        at->stride = sizeof value;
      },
  };
  return api;
}

template <class T>
constexpr ConduitType conduit_type() {
  if constexpr (std::is_same_v<T, double>) return ConduitType::Float64;
  else if constexpr (std::is_same_v<T, float>) return ConduitType::Float32;
  else if constexpr (std::is_same_v<T, int32_t>) return ConduitType::Int32;
  else if constexpr (std::is_same_v<T, int64_t>) return ConduitType::Int64;
  else return ConduitType::Uint8;
}

/// A tree that its test fills by paths.
class Tree {
 public:
  Tree& set(const std::string& path, const std::string& text) {
    auto* at = find(&root_, path, true);
    at->type = ConduitType::Text;
    at->text = text;
    return *this;
  }
  Tree& set(const std::string& path, const char* text) { return set(path, std::string(text)); }
  Tree& set(const std::string& path, double value) {
    functions().set_real(&root_, path.c_str(), value);
    return *this;
  }
  Tree& set(const std::string& path, int value) {
    functions().set_integer(&root_, path.c_str(), value);
    return *this;
  }
  template <class T>
  Tree& set(const std::string& path, const std::vector<T>& values) {
    auto* at = find(&root_, path, true);
    at->own.resize(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(at->own.data(), values.data(), at->own.size());
    at->data = at->own.data();
    return put(at, conduit_type<T>(), values.size(), sizeof(T));
  }
  /// Memory of the test's.
  template <class T>
  Tree& share(const std::string& path, T* data, size_t count, size_t stride) {
    auto* at = find(&root_, path, true);
    at->data = reinterpret_cast<std::byte*>(data);
    return put(at, conduit_type<T>(), count, stride);
  }
  Tree& make(const std::string& path) {
    find(&root_, path, true)->type = ConduitType::Object;
    return *this;
  }
  Tree& turn_bytes(const std::string& path) {
    find(&root_, path, true)->has_our_endianness = false;
    return *this;
  }
  [[nodiscard]] const RawNode& raw() const { return root_; }
  [[nodiscard]] Node node() const { return Node(functions(), &root_); }
  [[nodiscard]] Node node(const char* path) const { return node().at(path); }

 private:
  Tree& put(conduit_node_impl* at, ConduitType type, size_t count, size_t stride) {
    at->type = type;
    at->count = static_cast<int64_t>(count);
    at->stride = static_cast<int64_t>(stride);
    return *this;
  }
  conduit_node_impl root_;
};

}  // namespace pillion::catalyst::test
