// SPDX-License-Identifier: BSD-3-Clause
// The field by which the stage `autocorrelation` tells `uncertainty` what it has gathered: for each
// component of the field that is sampled, these numbers and then autocovariances from lag 0 on.
#pragma once

#include <cstdint>
#include <string>

namespace pillion::stages::autocovariance {

enum Number : int32_t {
  samples,        ///< how many
  missing,        ///< samples that should have been between them
  spacing_steps,  ///< from one to the next
  spacing_time,   ///< the same, on average
  batches,        ///< behind the next but one
  mean,
  batch_variance,  ///< of the mean, from the scatter of batches; NaN without enough
  first_lag
};

/// Components of the field for each component that is sampled.
constexpr int32_t components(int64_t lags) { return first_lag + static_cast<int32_t>(lags) + 1; }

inline std::string default_name(const std::string& field) { return field + "_autocovariance"; }

}  // namespace pillion::stages::autocovariance
