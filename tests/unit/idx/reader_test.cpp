// SPDX-License-Identifier: BSD-3-Clause
// Reading against datasets that the test writes sample by sample, as the definition of the format
// has it: every level of boxes of all kinds, in both orders within blocks and every codec, and what
// is missing or broken.
#include <doctest/doctest.h>
#include <lz4.h>
#include <stdlib.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <pillion/error.hpp>
#include <pillion/idx/reader.hpp>
#include <random>
#include <set>

using namespace pillion;
using namespace pillion::idx;

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

/// Different for every byte of every sample, as good as.
std::byte value(const Point& p, int64_t step, size_t field, size_t byte) {
  const auto mixed = static_cast<uint64_t>(p[0] * 7 + p[1] * 1009 + p[2] * 31337 + step * 77) *
                         0x9E3779B97F4A7C15u +
                     field * 1000003u + byte * 0xBF58476D1CE4E5B9u;
  return static_cast<std::byte>(mixed >> 40);
}

bool is_inside(const Dataset& d, const Point& p) {
  for (size_t a = 0; a < 3; ++a)
    if (p[a] < d.lo[a] || p[a] >= d.hi[a]) return false;
  return true;
}

/// The bits of an address one by one, from the definition.
int64_t hz_by_bits(const std::string& mask, Point p) {
  int64_t z = 0;
  for (size_t bit = 0; bit + 1 < mask.size(); ++bit) {
    auto& c = p[static_cast<size_t>(mask[mask.size() - 1 - bit] - '0')];
    z |= (c & 1) << bit;
    c >>= 1;
  }
  z |= int64_t{1} << (mask.size() - 1);
  while ((z & 1) == 0) z >>= 1;
  return z >> 1;
}

Bytes packed(const Bytes& from, uint32_t codec) {
  Bytes out(2 * from.size() + 100);
  const auto* bytes = reinterpret_cast<const char*>(from.data());
  auto* to = reinterpret_cast<char*>(out.data());
  if (codec == 3) {
    auto size = static_cast<uLongf>(out.size());
    REQUIRE(compress(reinterpret_cast<Bytef*>(to), &size, reinterpret_cast<const Bytef*>(bytes),
                     static_cast<uLong>(from.size())) == Z_OK);
    out.resize(size);
  } else if (codec == 7) {
    out.resize(static_cast<size_t>(LZ4_compress_default(bytes, to, static_cast<int>(from.size()),
                                                        static_cast<int>(out.size()))));
  } else {
    out = from;
  }
  return out;
}

/// Writes all blocks, each with flags in turn.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "idx_reader_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }

  void write(const Dataset& d, const std::vector<uint32_t>& flags,
             const std::set<int64_t>& left_out = {}) const {
    std::ofstream(path / "d.idx") << d.text();
    for (const int64_t step : d.times.steps) write_step(d, step, flags, left_out);
  }

  fs::path path;

 private:
  using Blocks = std::map<int64_t, std::map<Point, int64_t>>;  ///< place by sample

  static Blocks blocks_of(const Dataset& d) {
    Blocks out;
    Point p{};
    for (p[2] = 0; p[2] < d.mask.extent(2); ++p[2])
      for (p[1] = 0; p[1] < d.mask.extent(1); ++p[1])
        for (p[0] = 0; p[0] < d.mask.extent(0); ++p[0]) {
          const int64_t hz = hz_by_bits(d.mask.text(), p);
          out[hz >> d.bits_per_block][{p[2], p[1], p[0]}] = hz % d.block_samples();
        }
    return out;
  }

  void write_step(const Dataset& d, int64_t step, const std::vector<uint32_t>& flags,
                  const std::set<int64_t>& left_out) const {
    std::map<int64_t, std::pair<std::vector<Entry>, Bytes>> files;
    for (const auto& [block, samples] : blocks_of(d)) {
      const bool is_there = std::any_of(samples.begin(), samples.end(), [&](const auto& s) {
        return is_inside(d, {s.first[2], s.first[1], s.first[0]});
      });
      if (!is_there || left_out.contains(block)) continue;
      auto& [entries, payload] = files[block / d.blocks_per_file];
      const auto head = 40 + 40 * d.fields.size() * static_cast<size_t>(d.blocks_per_file);
      entries.resize(d.fields.size() * static_cast<size_t>(d.blocks_per_file));
      for (size_t f = 0; f < d.fields.size(); ++f) {
        const uint32_t how = flags[(static_cast<size_t>(block) + f) % flags.size()];
        const auto stored = packed(block_of(d, samples, step, f, (how & 0x10) != 0), how & 0xF);
        entries[f * static_cast<size_t>(d.blocks_per_file) +
                static_cast<size_t>(block % d.blocks_per_file)] = {
            static_cast<int64_t>(head + payload.size()), static_cast<uint32_t>(stored.size()), how};
        payload.insert(payload.end(), stored.begin(), stored.end());
      }
    }
    for (const auto& [number, file] : files) {
      const auto name = path / file_name(d, number * d.blocks_per_file, step);
      fs::create_directories(name.parent_path());
      std::ofstream out(name, std::ios::binary);
      for (const auto& bytes : {head_of(file.first), file.second})
        out.write(reinterpret_cast<const char*>(bytes.data()),
                  static_cast<std::streamsize>(bytes.size()));
    }
  }

  static Bytes block_of(const Dataset& d, const std::map<Point, int64_t>& samples, int64_t step,
                        size_t field, bool in_rows) {
    const size_t size = d.fields[field].sample_size();
    Bytes out(static_cast<size_t>(d.block_samples()) * size);
    size_t row = 0;
    for (const auto& [zyx, place] : samples) {
      const size_t at = (in_rows ? row++ : static_cast<size_t>(place)) * size;
      for (size_t b = 0; b < size; ++b)
        out[at + b] = value({zyx[2], zyx[1], zyx[0]}, step, field, b);
    }
    return out;
  }
};

Dataset cube() {
  Dataset d;
  d.hi = {11, 8, 5};
  d.fields = {{"a", Type::float32, 1}, {"b", Type::float64, 3}, {"c", Type::uint8, 1}};
  d.mask = Bitmask("V0210102102");
  d.bits_per_block = 4;
  d.blocks_per_file = 5;
  d.files = "./data/%01x.bin";
  d.times = {{2, 5}, "t%03d/", {}};
  return d;
}

/// Whether a reading is what it should be, sample by sample: by looking at all of the dataset.
bool is_right(const Reader& reader, const Query& query, int level, const Grid& grid,
              std::span<const std::byte> values, const std::set<int64_t>& left_out = {}) {
  const auto& d = reader.dataset();
  const auto& field = d.fields[query.field];
  const size_t size = field.sample_size();
  size_t at = 0;
  Point p{};
  for (p[2] = query.lo[2]; p[2] < query.hi[2]; ++p[2])
    for (p[1] = query.lo[1]; p[1] < query.hi[1]; ++p[1])
      for (p[0] = query.lo[0]; p[0] < query.hi[0]; ++p[0]) {
        const int64_t hz = hz_by_bits(d.mask.text(), p);
        if (Bitmask::level_of(hz) > level) continue;
        for (size_t b = 0; b < size; ++b, ++at) {
          const auto wanted = left_out.contains(hz >> d.bits_per_block)
                                  ? static_cast<std::byte>(field.fill)
                                  : value(p, query.step, query.field, b);
          if (at >= values.size() || values[at] != wanted) return false;
        }
      }
  return at == values.size() && values.size() == static_cast<size_t>(grid.samples()) * size;
}

void check_all(const Reader& reader, const std::set<int64_t>& left_out = {}) {
  const auto& d = reader.dataset();
  std::mt19937 random(static_cast<unsigned>(d.bits_per_block));
  std::vector<std::pair<Point, Point>> boxes{{d.lo, d.hi}, {d.lo, d.lo}};
  for (int n = 0; n < 12; ++n) {
    Point lo{}, hi{};
    for (size_t a = 0; a < 3; ++a) {
      lo[a] = std::uniform_int_distribution<int64_t>(d.lo[a], d.hi[a] - 1)(random);
      hi[a] = std::uniform_int_distribution<int64_t>(lo[a], d.hi[a])(random);
    }
    boxes.emplace_back(lo, hi);
  }
  for (const auto& [lo, hi] : boxes)
    for (size_t f = 0; f < d.fields.size(); ++f) {
      const Query query{f, reader.steps().back(), lo, hi};
      Refinement refinement(reader, query);
      for (int level = 0; level <= d.finest(); ++level) {
        const Grid grid = reader.grid(query, level);
        Bytes found(static_cast<size_t>(grid.samples()) * d.fields[f].sample_size());
        (void)reader.read(query, level, found.data());
        CHECK(is_right(reader, query, level, grid, found, left_out));
        if (level % 3 == 1 || level == d.finest()) {
          refinement.refine(level);
          CHECK(refinement.grid() == grid);
          CHECK(is_right(reader, query, level, grid, refinement.values(), left_out));
        }
      }
    }
}

template <class Work>
std::string fault_of(Work&& work) {
  try {
    work();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every sample of every level of any box is read") {
  const std::vector<std::vector<uint32_t>> ways{{0}, {0x10}, {0x13, 3, 7, 0x17, 0, 0x10}};
  for (const auto& flags : ways)
    for (const auto& [bits, lo] : {std::pair<int, Point>{1, {0, 0, 0}},
                                   {4, {3, 1, 2}},
                                   {4, {9, 5, 3}},  // has nothing of block 0
                                   {10, {0, 0, 0}}}) {
      Dataset d = cube();
      d.bits_per_block = bits;
      d.lo = lo;
      const Folder folder;
      folder.write(d, flags);
      const Reader reader((folder.path / "d.idx").string());
      for (const int64_t step : reader.steps())
        for (size_t f = 0; f < 3; ++f) reader.expect_whole(f, step);
      check_all(reader);
    }
}

TEST_CASE("planes and lines are read") {
  for (const char* mask : {"V0011010", "V000000"}) {
    Dataset d = cube();
    d.mask = Bitmask(mask);
    d.hi = {d.mask.extent(0) - 1, d.mask.extent(1), 1};
    d.axes = d.mask.extent(1) > 1 ? 2 : 1;
    const Folder folder;
    folder.write(d, {0x10, 0, 3});
    check_all(Reader((folder.path / "d.idx").string()));
  }
}

TEST_CASE("what is absent is the fill value, and said to be missing") {
  Dataset d = cube();
  for (auto& field : d.fields) field.fill = 7;
  const Folder folder;
  const std::set<int64_t> left_out{1, 17};
  folder.write(d, {0, 3}, left_out);
  const Reader reader((folder.path / "d.idx").string());
  check_all(reader, left_out);
  CHECK(says(fault_of([&] { reader.expect_whole(0, 5); }), "block 1 of field 'a' is missing"));
  fs::remove(folder.path / "data/t005/0.bin");
  CHECK(says(fault_of([&] { reader.expect_whole(0, 5); }), "there is no"));
  check_all(reader, {0, 1, 2, 3, 4, 17});
}

TEST_CASE("finest levels that are left out are not there") {
  Dataset d = cube();
  d.left_out = 3;
  const Folder folder;
  folder.write(d, {0});
  const Reader reader((folder.path / "d.idx").string());
  check_all(reader);
  CHECK(says(fault_of([&] { (void)reader.grid({0, 2, d.lo, d.hi}, 9); }), "levels 0 to 7; 9"));
}

TEST_CASE("only the blocks that a box touches are read") {
  const Dataset d = cube();
  const Folder folder;
  folder.write(d, {0});
  const Reader reader((folder.path / "d.idx").string());
  for (const auto& [lo, hi] : {std::pair<Point, Point>{{6, 3, 2}, {7, 4, 3}},
                               {{0, 0, 0}, {4, 8, 2}},
                               {{1, 0, 4}, {9, 1, 5}}}) {
    std::set<int64_t> touched;
    Point p{};
    for (p[2] = lo[2]; p[2] < hi[2]; ++p[2])
      for (p[1] = lo[1]; p[1] < hi[1]; ++p[1])
        for (p[0] = lo[0]; p[0] < hi[0]; ++p[0])
          touched.insert(hz_by_bits(d.mask.text(), p) >> d.bits_per_block);
    const Query query{0, 2, lo, hi};
    Bytes to(static_cast<size_t>(reader.grid(query, d.finest()).samples()) * 4);
    CHECK(reader.read(query, d.finest(), to.data()) ==
          static_cast<int64_t>(touched.size()) * d.block_samples() * 4);
  }
}

TEST_CASE("what is broken is told with file and block") {
  const Dataset d = cube();
  const Folder folder;
  folder.write(d, {3});
  const Reader reader((folder.path / "d.idx").string());
  const auto path = folder.path / "data/t002/5.bin";
  const auto size = fs::file_size(path);
  const Query query{2, 2, d.lo, d.hi};
  Bytes to(static_cast<size_t>(d.samples()));
  const auto read = [&] { (void)reader.read(query, d.finest(), to.data()); };
  CHECK(fault_of(read).empty());
  fs::resize_file(path, size - 1);
  CHECK(says(fault_of(read), path.string() + ": block "));
  CHECK(says(fault_of(read), "of field 'c' is cut short"));
  CHECK(says(fault_of([&] { reader.expect_whole(2, 2); }), "is cut short"));
  fs::resize_file(path, 100);
  CHECK(says(fault_of(read), "it is cut short: it has 100 bytes, its head alone 640"));
  folder.write(d, {3});
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(size) - 12);
  file.write("\0\0\0\0\0\0\0\0\0\0\0\0", 12);
  file.close();
  CHECK(says(fault_of(read), "cannot be decompressed"));
  folder.write(d, {0x16});
  CHECK(says(fault_of(read), "compressed with png, which is not read here"));
  CHECK(says(fault_of([&] { reader.expect_whole(0, 2); }), "with png"));
}

TEST_CASE("texts and files that are broken anyhow are read or refused, and never more") {
  const Dataset d = cube();
  const Folder folder;
  folder.write(d, {0x13, 0, 7});
  const auto text = d.text();
  const auto path = folder.path / "data/t002/5.bin";
  std::string file(fs::file_size(path), '\0');
  std::ifstream(path, std::ios::binary)
      .read(file.data(), static_cast<std::streamsize>(file.size()));
  std::mt19937 random(5);
  const auto broken = [&](std::string out, size_t most) {
    for (int n = 0; n < 3; ++n) out[random() % most] = static_cast<char>(random());
    return out;
  };
  int read = 0;
  for (int n = 0; n < 600; ++n) {
    std::ofstream(folder.path / "d.idx") << (n % 2 == 0 ? text : broken(text, text.size()));
    std::ofstream(path, std::ios::binary) << (n % 2 == 0 ? broken(file, file.size()) : file);
    const auto fault = fault_of([&] {
      const Reader reader((folder.path / "d.idx").string());
      const auto& found = reader.dataset();
      if (found.samples() > 100'000) return;
      for (size_t f = 0; f < found.fields.size(); ++f) {
        Refinement all(reader, {f, reader.steps().front(), found.lo, found.hi});
        all.refine(found.finest());
        reader.expect_whole(f, reader.steps().front());
      }
      ++read;
    });
    CHECK((fault.empty() || says(fault, folder.path.string())));
  }
  CHECK(read > 50);
}

TEST_CASE("what is not in the dataset is refused") {
  const Dataset d = cube();
  const Folder folder;
  folder.write(d, {0});
  const Reader reader((folder.path / "d.idx").string());
  CHECK(reader.field_named("b") == 1);
  CHECK(says(fault_of([&] { (void)reader.field_named("z"); }), "no field 'z'; it has a, b, c"));
  const auto grid = [&](const Query& query) {
    return fault_of([&] { (void)reader.grid(query, 3); });
  };
  CHECK(says(grid({0, 3, d.lo, d.hi}), "has no step 3; it has 2, from 2 to 5"));
  CHECK(says(grid({0, 2, d.lo, {12, 8, 5}}), "is not in its own, from (0, 0, 0) to (11, 8, 5)"));
  CHECK(says(grid({0, 2, {3, 3, 3}, {2, 4, 4}}), "is not in its own"));
  CHECK(says(fault_of([&] { Reader((folder.path / "e.idx").string()); }), "e.idx: No such file"));
}
