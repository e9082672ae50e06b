// SPDX-License-Identifier: BSD-3-Clause
// Two folders that take turns, and a small file, put in place whole, that says which one counts.
#include "run/keepsake.hpp"

#include "products/whole_file.hpp"

namespace pillion::run {

namespace fs = std::filesystem;

namespace {

constexpr const char* content_name = "content";
constexpr const char* magic = "pillion keepsake 1";

}  // namespace

Keepsake::Keepsake(const fs::path& output, uint64_t run)
    : place_(output / fmt::format(".sidecars-{:016x}", run)) {}

fs::path Keepsake::folder(bool second) const { return place_ / (second ? "b" : "a"); }

fs::path Keepsake::next_folder() const { return folder(!second_); }

std::optional<Keepsake::Content> Keepsake::read() {
  std::error_code error;
  if (!fs::exists(place_ / content_name, error)) return {};
  const std::string text = products::read_file(place_ / content_name);
  base::ByteReader in(reinterpret_cast<const std::byte*>(text.data()), text.size());
  if (in.get<std::string>() != magic)
    base::fail(ErrorCode::File, "'{}' was written by another version",
               (place_ / content_name).string());
  Content content;
  second_ = in.get<int32_t>() != 0;
  content.folder = folder(second_);
  content.accounts = in.get_vector<CostCounters>();
  content.over = in.get_vector<int64_t>();
  content.before = in.get_vector<int64_t>();
  return content;
}

void Keepsake::complete(const std::vector<CostCounters>& accounts, const std::vector<int64_t>& over,
                        const std::vector<int64_t>& before) {
  base::ByteWriter out;
  out.put(std::string(magic));
  out.put(static_cast<int32_t>(!second_ ? 1 : 0));
  out.put(accounts);
  out.put(over);
  out.put(before);
  const auto& bytes = out.bytes();
  products::write_whole(place_ / content_name,
                        {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, false);
  complete_elsewhere();
}

void Keepsake::remove() const noexcept {
  std::error_code ignored;
  fs::remove_all(place_, ignored);
}

}  // namespace pillion::run
