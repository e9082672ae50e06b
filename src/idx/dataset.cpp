// SPDX-License-Identifier: BSD-3-Clause
// The text of an .idx file, version 6: lines that begin with a parenthesis are keys, the lines
// after each are its value.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <pillion/error.hpp>
#include <pillion/idx/dataset.hpp>
#include <sstream>

namespace pillion::idx {
namespace {

struct Kind {
  Type type;
  const char* name;
  size_t size;
};
constexpr Kind kinds[] = {
    {Type::uint8, "uint8", 1},     {Type::int8, "int8", 1},     {Type::uint16, "uint16", 2},
    {Type::int16, "int16", 2},     {Type::uint32, "uint32", 4}, {Type::int32, "int32", 4},
    {Type::uint64, "uint64", 8},   {Type::int64, "int64", 8},   {Type::float32, "float32", 4},
    {Type::float64, "float64", 8},
};
const Kind& kind_of(Type type) { return kinds[static_cast<size_t>(type)]; }

const char* name_of(Codec codec) {
  return codec == Codec::zip ? "zip" : codec == Codec::lz4 ? "lz4" : "raw";
}

/// Reads values of one dataset's text; what is wrong is told with the file's name.
class Reader {
 public:
  Reader(const std::string& text, std::string file) : file_(std::move(file)) {
    std::string key, line;
    for (std::istringstream in(text); std::getline(in, line);) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (line.empty() || line[0] == '#') continue;
      if (line[0] == '(') {
        const auto end = line.find(')');
        if (end == std::string::npos) fail("a key has no ')': " + line);
        key = line.substr(1, end - 1);
        values_[key];
        continue;
      }
      auto& value = values_[key];
      value += (value.empty() ? "" : " ") + line;
    }
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ErrorCode::File, "cannot read the dataset " + file_ + ": " + why);
  }
  [[nodiscard]] bool has(const std::string& key) const { return values_.contains(key); }
  [[nodiscard]] const std::string& text(const std::string& key) const {
    const auto at = values_.find(key);
    if (at == values_.end()) fail("it has no (" + key + ")");
    return at->second;
  }
  template <class T>
  [[nodiscard]] std::vector<T> numbers(const std::string& key) const {
    std::vector<T> out;
    std::istringstream in(text(key));
    for (T value; in >> value;) out.push_back(value);
    if (!in.eof()) fail("(" + key + ") holds something that is no number: " + text(key));
    return out;
  }
  [[nodiscard]] int64_t number(const std::string& key, int64_t least, int64_t most) const {
    const auto all = numbers<int64_t>(key);
    if (all.size() != 1 || all[0] < least || all[0] > most)
      fail("(" + key + ") must be one number from " + std::to_string(least) + " to " +
           std::to_string(most) + ", not '" + text(key) + "'");
    return all[0];
  }

 private:
  std::string file_;
  std::map<std::string, std::string> values_;
};

void read_box(const Reader& in, Dataset& out) {
  const auto ends = in.numbers<int64_t>("box");
  if (ends.size() < 2 || ends.size() % 2 != 0) in.fail("(box) needs two numbers for each axis");
  out.axes = static_cast<int>(std::min<size_t>(ends.size() / 2, 3));
  for (size_t a = 0; a < 3; ++a) {
    const bool there = a < static_cast<size_t>(out.axes);
    out.lo[a] = there ? ends[2 * a] : 0;
    out.hi[a] = there ? ends[2 * a + 1] + 1 : 1;
    if (out.lo[a] < 0 || out.hi[a] <= out.lo[a]) in.fail("(box) is empty or begins below 0");
    if (out.hi[a] > out.mask.extent(static_cast<int>(a)))
      in.fail("(bits) has too few digits " + std::to_string(a) + " for the box");
  }
  for (size_t i = 6; i + 1 < ends.size(); i += 2)
    if (ends[i] != ends[i + 1]) in.fail("it has more than three axes");
}

/// "float32[3]", "3*float32" or "float32".
void read_type(const Reader& in, std::string text, Field& field) {
  std::string count = "1";
  if (const auto star = text.find('*'); star != std::string::npos) {
    count = text.substr(0, star);
    text = text.substr(star + 1);
  } else if (const auto bracket = text.find('['); bracket != std::string::npos) {
    count = text.substr(bracket + 1, text.find(']') - bracket - 1);
    text = text.substr(0, bracket);
  }
  const auto* const kind = std::find_if(std::begin(kinds), std::end(kinds),
                                        [&](const Kind& k) { return text == k.name; });
  const auto parsed = std::from_chars(count.data(), count.data() + count.size(), field.components);
  if (kind == std::end(kinds) || parsed.ec != std::errc() || field.components < 1)
    in.fail("field '" + field.name + "' is of a type that is not known: " + text);
  field.type = kind->type;
}

Codec codec_named(const Reader& in, const std::string& name) {
  if (name == "zip") return Codec::zip;
  if (name == "lz4") return Codec::lz4;
  if (name == "raw" || name.empty() || name == "none") return Codec::raw;
  in.fail("compression '" + name + "' is not known");
}

/// What follows "NAME(" up to the parenthesis.
std::string option(const std::string& text, const std::string& name) {
  const auto at = text.find(name + "(");
  if (at == std::string::npos) return "";
  const auto from = at + name.size() + 1;
  return text.substr(from, text.find(')', from) - from);
}

void read_fields(const Reader& in, Dataset& out) {
  std::istringstream entries(in.text("fields"));
  for (std::string entry; std::getline(entries, entry, '+');) {
    std::istringstream words(entry);
    std::string type;
    Field field;
    if (!(words >> field.name)) continue;
    if (!(words >> type)) in.fail("field '" + field.name + "' has no type");
    read_type(in, type, field);
    field.codec = codec_named(in, option(entry, "default_compression"));
    if (const auto fill = option(entry, "default_value"); !fill.empty())
      field.fill = std::atoi(fill.c_str());
    out.fields.push_back(field);
  }
  if (out.fields.empty()) in.fail("(fields) names no field");
}

/// "FIRST LAST FOLDER" or "FOLDER (a,b,step) …".
void read_times(const Reader& in, Dataset& out) {
  if (!in.has("time")) return;
  const auto fail = [&] { in.fail("(time) makes no sense: " + in.text("time")); };
  const auto add = [&](int64_t first, int64_t last, int64_t step) {
    if (step < 1 || first > last || (last - first) / step > 10'000'000) fail();
    for (int64_t t = first; t <= last; t += step) out.times.steps.push_back(t);
  };
  std::istringstream words(in.text("time"));
  int64_t first = 0, last = 0, step = 1;
  if (words >> first) {
    if (!(words >> last >> out.times.folder)) fail();
    return add(first, last, 1);
  }
  words.clear();
  if (!(words >> out.times.folder)) fail();
  char open = 0, comma = 0, other = 0, close = 0;
  while (words >> open) {
    if (!(words >> first >> comma >> last >> other >> step >> close) || open != '(' || close != ')')
      fail();
    add(first, last, step);
  }
}

}  // namespace

size_t size_of(Type type) { return kind_of(type).size; }
std::string name_of(Type type) { return kind_of(type).name; }

namespace {

/// As few ranges of equal steps as one finds by going on as long as the step is the same.
void put_times(std::ostringstream& out, const Times& times) {
  const auto& all = times.steps;
  out << "(time)\n" << times.folder;
  for (size_t from = 0, to = 0; from < all.size(); from = to + 1) {
    to = from;
    const int64_t step = from + 1 < all.size() ? all[from + 1] - all[from] : 1;
    while (to + 1 < all.size() && all[to + 1] - all[to] == step) ++to;
    out << " (" << all[from] << "," << all[to] << "," << step << ")";
  }
  out << "\n";
}

}  // namespace

std::string Dataset::text() const {
  std::ostringstream out;
  out << "(version)\n6\n(box)\n";
  for (size_t a = 0; a < static_cast<size_t>(axes); ++a)
    out << (a > 0 ? " " : "") << lo[a] << " " << hi[a] - 1;
  if (physical_box) {
    out.precision(17);
    out << "\n(physic_box)\n";
    for (size_t a = 0; a < 2 * static_cast<size_t>(axes); ++a)
      out << (a > 0 ? " " : "") << (*physical_box)[a];
  }
  out << "\n(fields)\n";
  for (size_t f = 0; f < fields.size(); ++f) {
    const auto& field = fields[f];
    out << (f > 0 ? "+ " : "") << field.name << " " << idx::name_of(field.type);
    if (field.components > 1) out << "[" << field.components << "]";
    out << " default_layout(hzorder) default_compression(" << name_of(field.codec)
        << ") default_value(" << field.fill << ")\n";
  }
  out << "(bits)\n" << mask.text() << "\n(bitsperblock)\n" << bits_per_block;
  out << "\n(blocksperfile)\n" << blocks_per_file << "\n(filename_template)\n" << files << "\n";
  if (left_out > 0) out << "(levels_left_out)\n" << left_out << "\n";
  if (!times.folder.empty() && !times.steps.empty()) put_times(out, times);
  return out.str();
}

Dataset Dataset::parse(const std::string& text, const std::string& file) {
  const Reader in(text, file);
  Dataset out;
  const auto version = in.text("version").substr(0, in.text("version").find('.'));
  if (version != "6") in.fail("it is of version " + version + "; 6 is read here");
  out.mask = Bitmask(in.text("bits"));
  read_box(in, out);
  read_fields(in, out);
  const int bits = out.mask.bits();
  out.bits_per_block =
      in.has("bitsperblock")
          ? static_cast<int>(std::min<int64_t>(in.number("bitsperblock", 1, 30), bits))
          : std::min(bits, 16);
  out.blocks_per_file = in.number("blocksperfile", 1, int64_t{1} << 40);
  out.files = in.text("filename_template");
  if (in.has("arco") && in.text("arco") != "0")
    in.fail("files of one block each (arco) are not read");
  if (in.has("levels_left_out"))
    out.left_out = static_cast<int>(in.number("levels_left_out", 0, bits));
  read_times(in, out);
  return out;
}

namespace {

/// The template's tokens %0Nx take the bits of a number, the last token the lowest; bits that are
/// left over repeat the first token, as folders in front of it.
std::string with_number(const std::string& pattern, int64_t number) {
  std::string out = pattern;
  size_t first = std::string::npos;
  int first_digits = 0;
  const auto hexadecimal = [&](int digits) {
    std::string text;
    for (int d = 0; d < digits; ++d, number >>= 4)
      text.insert(0, 1, "0123456789abcdef"[number & 15]);
    return text;
  };
  for (size_t at = out.rfind('%'); at != std::string::npos;
       at = at == 0 ? std::string::npos : out.rfind('%', at - 1)) {
    const auto end = out.find('x', at);
    if (end == std::string::npos) continue;
    const int digits = std::clamp(std::atoi(out.substr(at + 1, end - at - 1).c_str()), 1, 16);
    out.replace(at, end - at + 1, hexadecimal(digits));
    first = at;
    first_digits = digits;
  }
  while (number > 0 && first != std::string::npos)
    out.insert(first, hexadecimal(first_digits) + "/");
  return out;
}

/// The template's first %d, %Nd or %0Nd as the step; nothing else in it means anything.
std::string with_step(const std::string& pattern, int64_t step) {
  const auto at = pattern.find('%');
  const auto end = pattern.find('d', at);
  if (at == std::string::npos || end == std::string::npos) return pattern;
  const int width = std::clamp(std::atoi(pattern.substr(at + 1, end - at - 1).c_str()), 0, 20);
  std::string digits = std::to_string(step);
  const char pad = pattern[at + 1] == '0' ? '0' : ' ';
  if (digits.size() < static_cast<size_t>(width))
    digits.insert(0, static_cast<size_t>(width) - digits.size(), pad);
  return pattern.substr(0, at) + digits + pattern.substr(end + 1);
}

}  // namespace

std::string file_name(const Dataset& dataset, int64_t first_block, int64_t step) {
  const auto& pattern = dataset.files;
  const auto at = pattern.find('%');
  if (at == std::string::npos) return pattern;
  return pattern.substr(0, at) + with_step(dataset.times.folder, step) +
         with_number(pattern.substr(at), first_block);
}

}  // namespace pillion::idx
