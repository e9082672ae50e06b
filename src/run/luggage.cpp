// SPDX-License-Identifier: BSD-3-Clause
// Packing and unpacking.
#include "run/luggage.hpp"

#include "comm/agreement.hpp"
#include "products/whole_file.hpp"

namespace pillion::run {

namespace fs = std::filesystem;
using comm::together;

namespace {

constexpr const char* list_name = "list";  ///< is written last, so that the rest is there if it is

/// What names of all its folders begin with. They have no folder in common, which would be left of
/// a run that is killed.
std::string beginning_of(const Run& run) { return ".moving-" + id_of(run.id) + "-"; }

/// Not named after the analysis, whose name may be that of the list.
fs::path state_of(const fs::path& folder) { return folder / "state"; }

void write_list(const Run& run, size_t analysis, const fs::path& folder, int64_t missing) {
  base::ByteWriter out;
  out.put(missing);
  const auto products = run.sink.remembered(run.configuration.analyses[analysis].name);
  out.put_raw(products.data(), products.size());
  const auto& bytes = out.bytes();
  products::write_whole(folder / list_name,
                        {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, false);
}

int64_t read_list(Run& run, size_t analysis, const fs::path& folder) {
  const auto text = products::read_file(folder / list_name);
  base::ByteReader in(reinterpret_cast<const std::byte*>(text.data()), text.size());
  const auto missing = in.get<int64_t>();
  run.sink.take_over(run.configuration.analyses[analysis].name, in);
  return missing;
}

}  // namespace

fs::path luggage_of(const Run& run, size_t analysis, int64_t number) {
  return fs::absolute(run.configuration.output) /
         fmt::format("{}{}-{}", beginning_of(run), analysis, number);
}

void pack(Run& run, const stagehost::Chain& chain, size_t analysis, const fs::path& folder,
          int64_t missing) {
  const bool root = run.side.rank() == 0;
  together(run.side, [&] {
    chain.save(state_of(folder), run.side.rank(), run.configuration.analyses[analysis].cut(),
               false);
  });
  together(run.side, [&] {
    if (root) write_list(run, analysis, folder, missing);
  });
  run.sink.forget(run.configuration.analyses[analysis].name);
}

Unpacked unpack(Run& run, size_t analysis, const ProducedFields& produced, const fs::path& folder) {
  const bool root = run.side.rank() == 0;
  Unpacked out;
  together(run.side, [&] {
    out.chain = make_behind_cut(run, analysis, produced);
    if (root) out.missing = read_list(run, analysis, folder);
  });
  out.missing = run.side.reduced(out.missing, comm::Operation::Max);
  out.chain->restore(state_of(folder), run.side, run.configuration.analyses[analysis].cut());
  std::error_code ignored;
  if (root) fs::remove_all(folder, ignored);
  return out;
}

bool is_packed(const Run& run, const fs::path& folder) {
  std::error_code error;
  const bool found = run.side.rank() == 0 && fs::exists(folder / list_name, error);
  return run.side.reduced<int32_t>(found ? 1 : 0, comm::Operation::Max) != 0;
}

void remove_luggage(const Run& run) noexcept {
  const auto name = beginning_of(run);
  std::error_code error, ignored;
  for (fs::directory_iterator at(run.configuration.output, error), end; !error && at != end;
       at.increment(error))
    if (at->path().filename().string().starts_with(name)) fs::remove_all(at->path(), ignored);
}

}  // namespace pillion::run
