// SPDX-License-Identifier: BSD-3-Clause
// Formatting tables. Reals are written so that they read back to the same bits.
#include "products/table.hpp"

#include <pillion/stage.h>
#include <pillion/version.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "products/growing_table.hpp"

namespace pillion::products {
namespace {

using Buffer = fmt::memory_buffer;

std::string real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return fmt::format("{}", value);
}

// YAML spells these differently from CSV readers.
std::string yaml_real(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  std::string text = fmt::format("{}", value);
  // YAML 1.1 readers take 1e-05 for a text unless there is a point.
  const auto exponent = text.find('e');
  if (exponent != std::string::npos && text.find('.') == std::string::npos)
    text.insert(exponent, ".0");
  return text;
}

std::string q(std::string_view text) { return base::json_text(text); }

/// How numbers of a head are written. Those of a table that grows have room for any number, so that
/// the head keeps its length and can be changed in place.
struct Numbers {
  enum { as_they_are, padded, blank } how = as_they_are;

  [[nodiscard]] std::string of(double value) const { return in(24, yaml_real(value)); }
  [[nodiscard]] std::string of(int64_t value) const { return in(20, std::to_string(value)); }

 private:
  [[nodiscard]] std::string in(size_t width, std::string text) const {
    if (how == blank) return std::string(std::max(width, text.size()), blank_number);
    if (how == padded && text.size() < width) text.resize(width, ' ');
    return text;
  }
};

/// Where it comes from, in lines that begin with `c`.
void put_origin(Buffer& out, std::string_view title, std::string_view name, const Origin& origin,
                std::string_view c, Numbers numbers = {}) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{0}run: {1}\n{0}title: {2}\n{0}analysis: {3}\n{0}stage: {4}\n{0}name: {5}\n",
                 c, q(origin.run), q(title), q(origin.analysis), q(origin.stage), q(name));
  fmt::format_to(to, "{0}version: {1}\n{0}step: {2}\n{0}time: {3}\n{0}time_units: {4}\n", c,
                 q(PILLION_VERSION), numbers.of(origin.step), numbers.of(origin.time),
                 q(origin.time_units));
  if (!origin.scalars.empty()) {
    fmt::format_to(to, "{}scalars:\n", c);
    for (const auto& scalar : origin.scalars)
      fmt::format_to(to, "{}  {}: {{value: {}, units: {}}}\n", c, q(scalar.name),
                     numbers.of(scalar.value), q(scalar.units));
  }
  fmt::format_to(to, "{0}publications: {1}\n{0}skipped: {2}\n{0}coarsened: {3}\n{0}lost: {4}\n", c,
                 numbers.of(origin.publications), numbers.of(origin.skipped),
                 numbers.of(origin.coarsened), numbers.of(origin.lost));
  if (!origin.disabled.empty()) fmt::format_to(to, "{0}disabled: {1}\n", c, q(origin.disabled));
}

/// The scalars of the step that a table has no attribute for.
std::vector<ScalarValue> scalars_beside(const pillion_table& table, const Origin& origin) {
  std::vector<ScalarValue> out;
  for (const auto& scalar : origin.scalars)
    if (std::none_of(table.attributes, table.attributes + table.attribute_count,
                     [&](const auto& attribute) { return attribute.name == scalar.name; }))
      out.push_back(scalar);
  return out;
}

const char* name_of_role(int32_t role) {
  constexpr std::array names{"value", "error", "lower", "upper", "count", "weight"};
  return names.at(static_cast<size_t>(role));
}

bool is_about_one(const pillion_column& column) { return column.of != nullptr && *column.of != 0; }

void put_head(Buffer& out, const pillion_table& table, const Origin& origin, Numbers numbers) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "# pillion: table 1\n");
  put_origin(out, table.title, table.name, origin, "# ", numbers);
  if (is_growing(table)) fmt::format_to(to, "# rows: {}\n", numbers.of(table.rows));
  fmt::format_to(to, "# columns:\n");
  for (int32_t c = 0; c < table.column_count; ++c) {
    const auto& column = table.columns[c];
    fmt::format_to(to, "#   - {{name: {}, units: {}, type: {}", q(column.name), q(column.units),
                   q(column.integers != nullptr ? "int64" : "float64"));
    if (column.role != PILLION_COLUMN_VALUE)
      fmt::format_to(to, ", role: {}", name_of_role(column.role));
    if (is_about_one(column)) fmt::format_to(to, ", of: {}", q(column.of));
    fmt::format_to(to, "}}\n");
  }
  const auto added =
      table.per_step == 1 ? scalars_beside(table, origin) : std::vector<ScalarValue>();
  const bool any = table.attribute_count > 0 || !added.empty();
  fmt::format_to(to, "# attributes:{}\n", any ? "" : " []");
  for (int32_t a = 0; a < table.attribute_count; ++a) {
    const auto& attribute = table.attributes[a];
    fmt::format_to(to, "#   - {{name: {}, value: {}, units: {}}}\n", q(attribute.name),
                   attribute.text != nullptr ? q(attribute.text) : numbers.of(attribute.value),
                   q(attribute.units));
  }
  for (const auto& scalar : added)
    fmt::format_to(to, "#   - {{name: {}, value: {}, units: {}}}\n", q(scalar.name),
                   yaml_real(scalar.value), q(scalar.units));
}

// As a quoted text, so that whatever the user wrote, tabs and odd indents too, is kept as it was.
void put_configuration(Buffer& out, const Origin& origin, std::string_view c) {
  auto to = std::back_inserter(out);
  if (!origin.stage_parameters.empty())
    fmt::format_to(to, "{}stage_parameters: {}\n", c, origin.stage_parameters);
  fmt::format_to(to, "{}parameters:{}\n", c, origin.parameters.empty() ? " {}" : "");
  for (const auto& [name, value] : origin.parameters)
    fmt::format_to(to, "{}  {}: {}\n", c, q(name), q(value));
  fmt::format_to(to, "{}configuration: {}\n", c, q(origin.configuration));
}

/// A name of a column in a line of names: in quotes where readers would divide it, or take the line
/// for a comment.
std::string csv_text(std::string_view name) {
  if (!name.empty() && name.find_first_of("\",#'") == std::string_view::npos &&
      name.front() != ' ' && name.back() != ' ')
    return std::string(name);
  std::string out = "\"";
  for (const char c : name) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

void put_names(Buffer& out, const pillion_table& table) {
  auto to = std::back_inserter(out);
  for (int32_t c = 0; c < table.column_count; ++c)
    fmt::format_to(to, "{}{}", c == 0 ? "" : ",", csv_text(table.columns[c].name));
  fmt::format_to(to, "\n");
}

void put_rows(Buffer& out, const pillion_table& table) {
  auto to = std::back_inserter(out);
  for (int64_t row = 0; row < table.rows; ++row) {
    for (int32_t c = 0; c < table.column_count; ++c) {
      const auto& column = table.columns[c];
      if (c != 0) fmt::format_to(to, ",");
      if (column.reals != nullptr) fmt::format_to(to, "{}", real(column.reals[row]));
      else fmt::format_to(to, "{}", column.integers[row]);
    }
    fmt::format_to(to, "\n");
  }
}

/// What a column is about is a value of the table, and an error has its units.
void check_role(const pillion_table& table, const pillion_column& column) {
  const std::string place = fmt::format("column '{}' of table '{}'", column.name, table.name);
  if (column.role < PILLION_COLUMN_VALUE || column.role > PILLION_COLUMN_WEIGHT)
    base::fail(ErrorCode::Stage, "{} has the role {}, which this version does not know", place,
               column.role);
  const char* role = name_of_role(column.role);
  if (!is_about_one(column)) {
    if (column.role >= PILLION_COLUMN_ERROR && column.role <= PILLION_COLUMN_UPPER)
      base::fail(ErrorCode::Stage, "{} is of the role {}; `of` must name a column", place, role);
    return;
  }
  const auto* end = table.columns + table.column_count;
  const auto* of = std::find_if(table.columns, end, [&](const auto& other) {
    return std::string_view(other.name) == column.of && other.role == PILLION_COLUMN_VALUE;
  });
  if (column.role == PILLION_COLUMN_VALUE || of == end)
    base::fail(ErrorCode::Stage, "{} is of the role {} of '{}', which {}", place, role, column.of,
               of == end ? "is not a column with values" : "only other roles can be");
  if (column.role <= PILLION_COLUMN_UPPER && std::string_view(of->units) != column.units)
    base::fail(ErrorCode::Stage, "{} has the units '{}', but '{}' has '{}'", place, column.units,
               column.of, of->units);
}

void check_table(const pillion_table& table) {
  const std::string name = table.name == nullptr ? "" : table.name;
  check_name(name);
  if (table.column_count < 1) base::fail(ErrorCode::Stage, "table '{}' has no column", name);
  std::set<std::string_view> names;
  for (int32_t c = 0; c < table.column_count; ++c) {
    const auto& column = table.columns[c];
    if (!names.insert(column.name).second)
      base::fail(ErrorCode::Stage, "table '{}' has two columns of the name '{}'", name,
                 column.name);
    if (const auto fault = base::unprintable_part(column.name);
        !fault.empty() ||
        std::string_view(column.name).find_first_of("\n\r\t") != std::string::npos)
      base::fail(ErrorCode::Stage, "'{}' cannot name a column of table '{}': leave out {}",
                 column.name, name, fault.empty() ? "tabs and the ends of lines" : fault);
    if (table.rows > 0 && (column.reals == nullptr) == (column.integers == nullptr))
      base::fail(ErrorCode::Stage, "column '{}' of table '{}' must have reals or integers",
                 column.name, name);
    check_role(table, column);
  }
  if (is_growing(table) && table.in_parts != 0)
    base::fail(ErrorCode::Stage, "table '{}' is in parts, and rows cannot be added to it", name);
}

}  // namespace

std::string fault_of_product_name(const std::string& name) {
  constexpr size_t most = 220;  // of 255 that file systems allow; steps are numbered
  if (name.empty() || name[0] == '.' || name.find('/') != std::string::npos)
    return "it is a file of that name; leave out any '/' and a '.' at its beginning";
  if (!base::unprintable_part(name).empty()) return "leave out " + base::unprintable_part(name);
  if (name.size() > most)
    return fmt::format("its {} bytes are too many; use {} at most", name.size(), most);
  return {};
}

void check_name(const std::string& name) {
  if (const auto fault = fault_of_product_name(name); !fault.empty())
    base::fail(ErrorCode::Stage, "'{}' cannot name a product: {}", name, fault);
}

std::string format_origin(const std::string& title, const std::string& name, const Origin& origin,
                          const std::string& comment) {
  Buffer out;
  put_origin(out, title, name, origin, comment);
  put_configuration(out, origin, comment);
  return fmt::to_string(out);
}

std::string table_path(const pillion_table& table, const Origin& origin) {
  return table.per_step == 1
             ? fmt::format("{}/{}.{:09}.csv", origin.analysis, table.name, origin.step)
             : fmt::format("{}/{}.csv", origin.analysis, table.name);
}

namespace {

std::string head_of(const pillion_table& table, const Origin& origin, Numbers numbers) {
  check_table(table);
  Buffer out;
  put_head(out, table, origin, numbers);
  put_configuration(out, origin, "# ");
  put_names(out, table);
  return fmt::to_string(out);
}

}  // namespace

std::string format_head(const pillion_table& table, const Origin& origin) {
  return head_of(table, origin, {is_growing(table) ? Numbers::padded : Numbers::as_they_are});
}

std::string format_blank_head(const pillion_table& table, const Origin& origin) {
  return head_of(table, origin, {Numbers::blank});
}

std::string format_rows(const pillion_table& table) {
  check_table(table);
  Buffer out;
  put_rows(out, table);
  return fmt::to_string(out);
}

std::string format_table(const pillion_table& table, const Origin& origin) {
  return format_head(table, origin) + format_rows(table);
}

}  // namespace pillion::products
