// SPDX-License-Identifier: BSD-3-Clause
// Reading the text of an .idx file, version 6: lines that begin with a parenthesis are keys, the
// lines after each are its value.
#include <algorithm>
#include <charconv>
#include <locale>
#include <map>
#include <pillion/error.hpp>
#include <pillion/idx/dataset.hpp>
#include <sstream>

#include "dataset_text.hpp"

namespace pillion::idx {
namespace {

/// Numbers set apart by commas, of the comment line; none if it holds anything else.
std::vector<double> numbers_in(const std::string& line) {
  std::vector<double> out;
  std::istringstream in(line.substr(times_comment.size()));
  in.imbue(std::locale::classic());
  char mark = ',';
  for (double value = 0; mark == ',' && in >> value >> mark;) out.push_back(value);
  return mark == ']' ? out : std::vector<double>();
}

/// The values of one dataset's text; errors name the file.
class Values {
 public:
  Values(const std::string& text, std::string file) : file_(std::move(file)) {
    std::string key, line;
    for (std::istringstream lines(text); std::getline(lines, line);) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (line.starts_with(times_comment)) times_ = numbers_in(line);
      if (line.empty() || line[0] == '#') continue;
      if (line[0] == '(') {
        const auto end = line.find(')');
        if (end == std::string::npos) fail("a key has no ')': " + line);
        key = line.substr(1, end - 1);
        values_[key].clear();
        line.erase(0, end + 1);
      }
      add(values_[key], line);
    }
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ErrorCode::File, "cannot read the dataset " + file_ + ": " + why);
  }
  /// The times in the comment line.
  [[nodiscard]] const std::vector<double>& times() const { return times_; }
  [[nodiscard]] bool has(const std::string& key) const { return values_.contains(key); }
  [[nodiscard]] const std::string& text(const std::string& key) const {
    const auto at = values_.find(key);
    if (at == values_.end() || at->second.empty()) fail("it has no (" + key + ")");
    return at->second;
  }
  template <class T>
  [[nodiscard]] std::vector<T> numbers(const std::string& key) const {
    std::vector<T> out;
    std::istringstream in(text(key));
    in.imbue(std::locale::classic());
    for (T value; in >> value;) out.push_back(value);
    if (!in.eof()) fail("(" + key + ") holds something that is not a number: " + text(key));
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
  /// Lines of a value are joined by blanks.
  static void add(std::string& value, const std::string& line) {
    const auto from = line.find_first_not_of(" \t");
    if (from == std::string::npos) return;
    value +=
        (value.empty() ? "" : " ") + line.substr(from, line.find_last_not_of(" \t") - from + 1);
  }

  std::string file_;
  std::map<std::string, std::string> values_;
  std::vector<double> times_;
};

/// Some writers add axes that have nothing, beyond the third.
int axes_of(const Bitmask& mask, size_t pairs) {
  if (pairs <= 3) return static_cast<int>(pairs);
  return mask.extent(2) > 1 ? 3 : mask.extent(1) > 1 ? 2 : 1;
}

void read_box(const Values& in, Dataset& out) {
  const auto ends = in.numbers<int64_t>("box");
  if (ends.size() < 2 || ends.size() % 2 != 0) in.fail("(box) needs two numbers for each axis");
  out.axes = axes_of(out.mask, ends.size() / 2);
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

std::optional<Type> type_named(const std::string& name) {
  for (int t = 0; t <= static_cast<int>(Type::float64); ++t)
    if (name == name_of(static_cast<Type>(t))) return static_cast<Type>(t);
  return {};
}

/// "float32[3]", "3*float32" or "float32".
void read_type(const Values& in, std::string text, Field& field) {
  std::string count = "1";
  if (const auto star = text.find('*'); star != std::string::npos) {
    count = text.substr(0, star);
    text = text.substr(star + 1);
  } else if (const auto bracket = text.find('['); bracket != std::string::npos) {
    count = text.substr(bracket + 1, text.find(']') - bracket - 1);
    text = text.substr(0, bracket);
  }
  const auto parsed = std::from_chars(count.data(), count.data() + count.size(), field.components);
  const auto type = type_named(text);
  if (!type || parsed.ec != std::errc() || field.components < 1)
    in.fail("field '" + field.name + "' is of a type that is not known: " + text);
  field.type = *type;
}

/// What follows "NAME(" up to the parenthesis.
std::string option(const std::string& text, const std::string& name) {
  const auto at = text.find(name + "(");
  if (at == std::string::npos) return "";
  const auto from = at + name.size() + 1;
  return text.substr(from, text.find(')', from) - from);
}

/// Entries are set apart by +, which within parentheses is part of a number.
std::vector<std::string> entries_in(const std::string& text) {
  std::vector<std::string> out(1);
  for (int depth = 0; const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == '+' && depth == 0) out.emplace_back();
    else out.back() += c;
  }
  return out;
}

void read_fields(const Values& in, Dataset& out) {
  for (const auto& entry : entries_in(in.text("fields"))) {
    std::istringstream words(entry);
    words.imbue(std::locale::classic());
    std::string type;
    Field field;
    if (!(words >> field.name)) continue;
    field.name = unescaped_name(field.name);
    if (!(words >> type)) in.fail("field '" + field.name + "' has no type");
    read_type(in, type, field);
    const auto codec = option(entry, "default_compression");
    // Every block names its own codec, so fields can be read whose writer used others, too.
    if (!read_codec(codec, field)) {
      field.codec = Codec::raw;
      field.zfp = {};
    }
    if (const auto fill = option(entry, "default_value"); !fill.empty())
      field.fill = std::atoi(fill.c_str());
    if (std::ranges::find(out.fields, field.name, &Field::name) != out.fields.end())
      in.fail("(fields) has two of the name '" + field.name + "'");
    out.fields.push_back(field);
  }
  if (out.fields.empty()) in.fail("(fields) names no field");
}

/// Of all ranges together.
constexpr size_t most_steps = 10'000'000;

/// "FIRST LAST FOLDER" or "FOLDER (a,b,step) …", the latter with those two in front or without.
void read_times(const Values& in, Dataset& out) {
  if (!in.has("time")) return;
  const auto fail = [&] { in.fail("(time) makes no sense: " + in.text("time")); };
  const auto add = [&](int64_t first, int64_t last, int64_t step) {
    if (step < 1 || first > last) fail();
    // The difference of two numbers, and one number after the last, may be too large.
    const auto steps =
        (static_cast<uint64_t>(last) - static_cast<uint64_t>(first)) / static_cast<uint64_t>(step);
    if (steps >= most_steps - out.times.steps.size()) fail();
    for (uint64_t n = 0; n <= steps; ++n)
      out.times.steps.push_back(first + static_cast<int64_t>(n) * step);
  };
  std::istringstream words(in.text("time"));
  words.imbue(std::locale::classic());
  int64_t first = 0, last = 0, step = 1;
  const bool has_ends = static_cast<bool>(words >> first);
  if (has_ends) words >> last;
  else words.clear();
  if (!(words >> out.times.folder)) fail();
  words >> std::ws;
  if (words.eof() && has_ends) add(first, last, 1);
  if (words.eof() && !has_ends) fail();
  char open = 0, comma = 0, other = 0, close = 0;
  while (words >> open) {
    if (!(words >> first >> comma >> last >> other >> step >> close) || open != '(' || close != ')')
      fail();
    add(first, last, step);
  }
}

void read_physical_box(const Values& in, Dataset& out) {
  const std::string of_all = "physical_box_of_all_axes";
  const std::string key = in.has(of_all) ? of_all : "physic_box";
  if (!in.has(key)) return;
  const auto ends = in.numbers<double>(key);
  if (ends.size() < 2 * static_cast<size_t>(out.axes)) return;
  out.physical_box.emplace();
  std::copy_n(ends.begin(), 2 * out.axes, out.physical_box->begin());
}

}  // namespace

Dataset Dataset::parse(const std::string& text, const std::string& file) {
  const Values in(text, file);
  Dataset out;
  const auto version = in.text("version").substr(0, in.text("version").find('.'));
  if (version != "6") in.fail("it is of version " + version + "; 6 is read here");
  try {
    out.mask = Bitmask(in.text("bits"));
  } catch (const Error& error) {
    in.fail(error.what());
  }
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
  auto& steps = out.times.steps;
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  if (in.times().size() == steps.size()) out.times.values = in.times();
  read_physical_box(in, out);
  return out;
}

}  // namespace pillion::idx
