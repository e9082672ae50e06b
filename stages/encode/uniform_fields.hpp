// SPDX-License-Identifier: BSD-3-Clause
// Fields of uniform meshes, compressed by zfp or SZ3 with a bound on the error. Each box is
// decompressed again to see whether the bound holds; where it doesn't, nothing of it is lost.
#pragma once

#include "coded_fields.hpp"

namespace pillion::stages::encoding {

class UniformFields final : public CodedFields {
 public:
  explicit UniformFields(const stage::Setup& setup);

  [[nodiscard]] std::vector<std::string> names() const override;
  [[nodiscard]] std::string mesh() const override { return fields_.front().field.mesh; }
  std::vector<StoredArray> arrays(const stage::Step& step, std::vector<Figures>& figures) override;
  std::vector<StoredArray> once(const stage::Step&) override { return {}; }
  [[nodiscard]] std::vector<Attribute> attributes(const stage::Step& step) const override;

 private:
  struct One {
    std::string name;
    pillion_field_description field;
    double bound = 0;  ///< in its units, at this publication
  };
  void find_bounds(const stage::Step& step);
  template <class T>
  void pack(const stage::Block& block, int32_t place, StoredArray& to, Figures& figures) const;

  std::vector<One> fields_;
  double error_;
  bool is_sz3_;      ///< otherwise zfp
  int relative_;     ///< 0: to nothing, 1: to the range, 2: to the root mean square
  bool is_largest_;  ///< whether it is the error at any point that is bounded
  int32_t input_ = 0;
};

}  // namespace pillion::stages::encoding
