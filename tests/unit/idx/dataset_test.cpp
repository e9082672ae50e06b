// SPDX-License-Identifier: BSD-3-Clause
// The text of .idx files, names of files, and which blocks there are, against looking at every
// sample.
#include <doctest/doctest.h>

#include <map>
#include <pillion/error.hpp>
#include <pillion/idx/blocks.hpp>

using namespace pillion;
using namespace pillion::idx;

namespace {

Dataset sample() {
  Dataset out;
  out.lo = {3, 5, 7};
  out.hi = {25, 41, 29};
  out.fields = {{"density", Type::float32, 1, Codec::zip, 0}, {"velocity", Type::float64, 3}};
  out.mask = Bitmask::alternating(out.hi);
  out.bits_per_block = 9;
  out.blocks_per_file = 5;
  out.files = "./data/%02x/%02x.bin";
  out.times = {{0, 5, 10, 20, 23}, "time%06d/"};
  return out;
}

std::string fault_of(const std::string& text) {
  try {
    (void)Dataset::parse(text, "x.idx");
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

std::string replaced(const std::string& from, const std::string& to) {
  auto text = sample().text();
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("what is written is read") {
  const Dataset before = sample(), after = Dataset::parse(before.text(), "x.idx");
  CHECK(after.lo == before.lo);
  CHECK(after.hi == before.hi);
  CHECK(after.fields == before.fields);
  CHECK(after.mask == before.mask);
  CHECK(after.bits_per_block == 9);
  CHECK(after.blocks_per_file == 5);
  CHECK(after.files == before.files);
  CHECK(after.times == before.times);
}

TEST_CASE("names of fields may have signs that the text gives a meaning") {
  for (const std::string name :
       {"mole fraction", "#a", "a+b", "Y(H2)", "a%20b", "%", "a%zz", "ρ", "say \"x\"", "f", "\t"}) {
    Dataset dataset = sample();
    dataset.fields[0].name = name;
    const auto read = Dataset::parse(dataset.text(), "x.idx");
    CHECK(read.fields == dataset.fields);
  }
  Dataset dataset = sample();
  dataset.fields[0].name = "mole fraction";
  CHECK(dataset.text().find("mole%20fraction ") != std::string::npos);
}

TEST_CASE("texts of other writers are read") {
  const auto read = Dataset::parse(
      "# made elsewhere\r\n(version)\r\n6.1\r\n(box)\r\n0 7 0 7\r\n(fields)\r\nDATA 3*float32 "
      "format(0)\r\n+ b uint8[2] default_compression(zip)\r\n(bits)\r\nV010101\r\n"
      "(bitsperblock)\r\n16\r\n(blocksperfile)\r\n1\r\n(filename_template)\r\n./a/%04x.bin\r\n"
      "(time)\r\n2 4 t%d/\r\n(something)\r\nelse\r\n",
      "x.idx");
  CHECK(read.axes == 2);
  CHECK(read.hi == Point{8, 8, 1});
  CHECK(read.fields[0].components == 3);
  CHECK(read.fields[1].type == Type::uint8);
  CHECK(read.fields[1].codec == Codec::zip);
  CHECK(read.bits_per_block == 6);
  CHECK(read.times.steps == std::vector<int64_t>{2, 3, 4});
}

TEST_CASE("times of steps are a comment that is YAML") {
  Dataset dataset = sample();
  CHECK(!dataset.times.are_known());
  CHECK(dataset.text().find("# times") == std::string::npos);
  dataset.times.steps.clear();
  const double times[] = {0, 1e-5, 0.1 + 0.2, 1e20, 12345.678};
  for (const double time : times)
    dataset.times.add(3 * static_cast<int64_t>(dataset.times.steps.size()), time);
  CHECK(dataset.times.steps == std::vector<int64_t>{0, 3, 6, 9, 12});
  const auto text = dataset.text();
  CHECK(text.starts_with("# times: [0.0, 1.0e-05, 0.30000000000000004, 1.0e+20, 12345.678]\n"));
  CHECK(Dataset::parse(text, "x.idx").times == dataset.times);
  for (const char* other :
       {"# times: [1, 2]", "# times: [1, 2, x, 4, 5]", "# times: [1, 2, 3, 4, 5"})
    CHECK(!Dataset::parse(other + text.substr(text.find('\n')), "x.idx").times.are_known());
  auto old = Dataset::parse(text.substr(text.find('\n')), "x.idx").times;
  old.add(15, 1);
  CHECK(old.steps.size() == 6);
  CHECK(!old.are_known());
}

TEST_CASE("a run that goes on from before some steps writes these anew") {
  Times times{{0, 5, 10, 20}, "time%09d/", {0.0, 0.5, 1.0, 2.0}};
  times.add(10, 1.25);
  CHECK(times.steps == std::vector<int64_t>{0, 5, 10});
  CHECK(times.values == std::vector<double>{0.0, 0.5, 1.25});
  times.add(12, 1.5);
  times.forget_from(13);
  CHECK(times.steps == std::vector<int64_t>{0, 5, 10, 12});
  times.forget_from(1);
  CHECK(times.steps == std::vector<int64_t>{0});
  CHECK(times.are_known());
  times.forget_from(-1);
  CHECK(times.steps.empty());
  Times unknown{{0, 5}, "time%09d/", {}};
  unknown.add(5, 1);
  CHECK(unknown.steps == std::vector<int64_t>{0, 5});
  CHECK(!unknown.are_known());
}

TEST_CASE("the physical box is kept") {
  Dataset dataset = sample();
  CHECK(!Dataset::parse(dataset.text(), "x.idx").physical_box);
  dataset.physical_box = {0.1, 2, -3, 1e-9, 5, 6};
  CHECK(Dataset::parse(dataset.text(), "x.idx").physical_box == dataset.physical_box);
}

TEST_CASE("fields with signs, and axes that have nothing") {
  auto text = replaced("default_value(0)", "default_value(0) min(-1e+30) max(+2.5e+3)");
  CHECK(Dataset::parse(text, "x.idx").fields == sample().fields);
  text =
      "(version)\n6\n(box)\n0 7 0 3 0 0 0 0 0 0\n(fields)\na uint8\n(bits)\nV01010\n"
      "(blocksperfile)\n1\n(filename_template)\n./a/%04x.bin\n(time)\nt%d/ (5,9,2) (0,2,1)\n";
  const auto read = Dataset::parse(text, "x.idx");
  CHECK(read.axes == 2);
  CHECK(read.times.steps == std::vector<int64_t>{0, 1, 2, 5, 7, 9});
}

TEST_CASE("texts that make no sense are refused by name") {
  CHECK(fault_of(replaced("(bits)", "(bite)")).find("x.idx: it has no (bits)") !=
        std::string::npos);
  CHECK(fault_of(replaced("float64[3]", "float16")).find("float16") != std::string::npos);
  CHECK(fault_of(replaced("V0", "V")).find("too few digits 0") != std::string::npos);
  CHECK(fault_of(replaced("3 24", "30 24")).find("(box)") != std::string::npos);
  CHECK(fault_of(replaced("(20,", "(30,")).find("(time)") != std::string::npos);
  CHECK(fault_of(replaced("\n9\n", "\nnine\n")).find("(bitsperblock)") != std::string::npos);
  CHECK(fault_of(replaced("\n6\n", "\n5\n")).find("version 5") != std::string::npos);
}

TEST_CASE("files are named by their first block") {
  Dataset dataset = sample();
  CHECK(file_name(dataset, 0x2a, 3) == "./data/time000003/00/2a.bin");
  CHECK(file_name(dataset, 0x12345, 123) == "./data/time000123/01/23/45.bin");
  dataset.times.folder.clear();
  dataset.files = "./a/%01x.bin";
  CHECK(file_name(dataset, 0x12c, 0) == "./a/1/2/c.bin");
  dataset.files = "./a.bin";
  CHECK(file_name(dataset, 0, 0) == "./a.bin");
}

TEST_CASE("blocks are there if any of their samples is in the box") {
  for (const Point lo : {Point{0, 0, 0}, Point{3, 5, 7}, Point{20, 0, 0}}) {
    Dataset dataset = sample();
    dataset.lo = lo;
    for (const int bits : {3, 5, 9}) {
      dataset.bits_per_block = bits;
      std::map<int64_t, Point> least, most;
      std::map<int64_t, int64_t> samples;
      for (int64_t address = 0; address < (int64_t{1} << dataset.mask.bits()); ++address) {
        const Point p = dataset.mask.point(address);
        const int64_t block = address >> bits;
        auto [at, is_new] = least.try_emplace(block, p);
        most.try_emplace(block, p);
        bool inside = true;
        for (size_t a = 0; a < 3; ++a) {
          at->second[a] = std::min(at->second[a], p[a]);
          most[block][a] = std::max(most[block][a], p[a] + 1);
          inside = inside && p[a] >= dataset.lo[a] && p[a] < dataset.hi[a];
        }
        samples[block] += inside ? 1 : 0;
      }
      for (int64_t block = 0; block < dataset.blocks(); ++block) {
        const Grid grid = grid_of(dataset, block);
        CHECK(grid.lo() == least[block]);
        CHECK(grid.hi() == most[block]);
        CHECK(grid.extent[0] * grid.extent[1] * grid.extent[2] == dataset.block_samples());
        CHECK(is_present(dataset, block) == (samples[block] > 0));
      }
    }
  }
}

TEST_CASE("blocks lie one after the other behind the head") {
  const Dataset dataset = sample();
  const File file(dataset, 1);
  CHECK(file.first_block() == 5);
  CHECK(file.begin() % 4096 == 0);
  CHECK(file.begin() >= head_size(2, 5));
  int64_t at = file.begin();
  for (size_t f = 0; f < 2; ++f)
    for (const int64_t block : file.present()) {
      CHECK(file.offset(f, block) == at);
      at += 512 * static_cast<int64_t>(dataset.fields[f].sample_size());
    }
  CHECK(file.end() == at);
}

TEST_CASE("heads keep what they are told, beyond four gigabytes too") {
  const std::vector<Entry> entries = {{}, {int64_t{5} << 30, 77, 0x13}, {4096, 1 << 20, 0}};
  const auto head = head_of(entries);
  REQUIRE(head.size() == 40 + 3 * 40);
  CHECK(static_cast<int>(head[40 + 40 + 8]) == 0x40);  // low word first, each big-endian
  CHECK(static_cast<int>(head[40 + 40 + 15]) == 1);
  const auto read = entries_of(head);
  REQUIRE(read.size() == 3);
  CHECK(read[1].offset == int64_t{5} << 30);
  CHECK(read[1].size == 77);
  CHECK(read[1].codec() == Codec::zip);
  CHECK(read[1].row_major());
  CHECK(read[0].size == 0);
}
