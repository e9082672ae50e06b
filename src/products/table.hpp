// SPDX-License-Identifier: BSD-3-Clause
// Table products: CSV with a head of comment lines that is one YAML document once the leading "# "
// is taken off (docs/products.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

struct pillion_table;

namespace pillion::products {

/// A scalar of the simulation as of a step.
struct ScalarValue {
  std::string name, units;
  double value = 0;
};

/// Where a product comes from.
struct Origin {
  std::string run;  ///< id
  std::string analysis;
  std::string stage;
  int64_t number = 0;  ///< of the stage in the analysis
  std::string configuration;
  std::map<std::string, std::string> parameters;  ///< given to the configuration from outside
  std::string time_units;
  int64_t step = 0;
  double time = 0;
  int64_t publications = 0;
  int64_t skipped = 0;
  int64_t coarsened = 0;
  int64_t lost = 0;
  std::string disabled{};  ///< why the analysis ended early; "" if it did not
  std::vector<ScalarValue> scalars{};
  std::string stage_parameters{};  ///< as JSON: those of the configuration and defaults
};

/// "ANALYSIS/NAME.csv", or "ANALYSIS/NAME.000000050.csv" for one of each step.
std::string table_path(const pillion_table& table, const Origin& origin);

/// Why a product cannot be called so; "" if it can.
std::string fault_of_product_name(const std::string& name);
/// Throws ErrorCode::Stage if a product cannot be called so.
void check_name(const std::string& name);

/// The origin of a product that is not a table, in lines that begin with `comment` and are one YAML
/// document without it.
std::string format_origin(const std::string& title, const std::string& name, const Origin& origin,
                          const std::string& comment);

/// The whole file. Throws ErrorCode::Stage if the table makes no sense.
std::string format_table(const pillion_table& table, const Origin& origin);
/// What stands before the rows, down to the names of the columns.
std::string format_head(const pillion_table& table, const Origin& origin);
/// The rows alone.
std::string format_rows(const pillion_table& table);

}  // namespace pillion::products
