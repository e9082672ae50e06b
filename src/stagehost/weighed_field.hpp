// SPDX-License-Identifier: BSD-3-Clause
// Statistics of a field on one rank, for conditions. Values are read and weighed by the code of the
// stages, so that a mean in a condition is the mean that they compute.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "model/catalogue.hpp"
#include "model/expression.hpp"
#include "stagehost/publication.hpp"

namespace pillion::stagehost {

class WeighedField {
 public:
  WeighedField(const model::Catalogue& catalogue, const std::string& field);
  WeighedField(WeighedField&& other) noexcept;
  WeighedField& operator=(WeighedField&&) = delete;
  ~WeighedField();

  /// The fields that are read: this one, and where the cells of its mesh are and which count.
  [[nodiscard]] const std::vector<std::string>& fields() const;
  /// Of some components, or of model::Quantity::norm, on this rank alone. No message is sent.
  /// Throws as the stages do where cells have no volumes.
  [[nodiscard]] std::vector<model::Moments> moments(const Publication& publication,
                                                    std::span<const int32_t> components,
                                                    const ExecutionContext& context);

 private:
  struct Reader;
  std::unique_ptr<Reader> reader_;
};

}  // namespace pillion::stagehost
