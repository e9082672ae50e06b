// SPDX-License-Identifier: BSD-3-Clause
// Arrays that seldom change, such as the cells of an unstructured mesh and constant fields, cross a
// network once. The receiver keeps them with their versions, and later messages leave them out.
// Both sides see the same messages in the same order, so both know the same arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>

namespace pillion::redistribution {

/// What one sender has given one receiver.
class SentArrays {
 public:
  [[nodiscard]] bool has(const std::string& field, int64_t block, int64_t version) const;
  /// An array that is in a message which brings something new, or that it leaves out.
  void add(const std::string& field, int64_t block, int64_t version);
  /// Of the fields in such a message, blocks that it has not are gone.
  void end_message();

 private:
  using Key = std::tuple<std::string, int64_t>;
  std::map<Key, int64_t> versions_;
  std::map<std::string, std::set<int64_t>> in_message_;
};

/// What a receiver keeps of one sender.
class KeptArrays {
 public:
  /// An array that is in a message which brings something new, or that it leaves out: then `data`
  /// is not read. Copies what is new.
  void add(const std::string& field, int64_t block, int64_t version, const void* data,
           size_t bytes);
  /// As SentArrays does.
  void end_message();
  /// Throws ErrorCode::Internal if there is no array of that version and size.
  [[nodiscard]] std::shared_ptr<const std::byte[]> find(const std::string& field, int64_t block,
                                                        int64_t version, size_t bytes) const;

 private:
  struct Kept {
    int64_t version = 0;
    size_t bytes = 0;
    std::shared_ptr<const std::byte[]> values;
  };
  std::map<std::string, std::map<int64_t, Kept>> arrays_;  ///< by field and block
  std::map<std::string, std::set<int64_t>> in_message_;
};

}  // namespace pillion::redistribution
