// SPDX-License-Identifier: BSD-3-Clause
// Fields at the points of spectral elements: the coefficients that `truncate` has made of them, or
// their values, losslessly. With them, what a decoder needs: numbers of elements, coordinates.
#pragma once

#include <array>

#include "coded_fields.hpp"
#include "packet.hpp"

namespace pillion::stages::encoding {

class ElementFields final : public CodedFields {
 public:
  explicit ElementFields(const stage::Setup& setup);

  [[nodiscard]] std::vector<std::string> names() const override;
  [[nodiscard]] std::string mesh() const override { return mesh_.mesh; }
  std::vector<StoredArray> arrays(const stage::Step& step, std::vector<Figures>& figures) override;
  std::vector<StoredArray> once(const stage::Step& step) override;
  [[nodiscard]] std::vector<int64_t> saved() const override { return first_elements_; }
  void restore(std::vector<int64_t> saved) override { first_elements_ = std::move(saved); }
  [[nodiscard]] std::vector<Attribute> attributes(const stage::Step& step) const override;

 private:
  enum class Coordinates { once, each, none };
  struct One {
    std::string name;
    pillion_field_description field;
    int32_t array = 0, coding = -1;  ///< places in the input; coding -1: values
  };

  void add(const stage::Setup& setup, const std::string& name);
  void put_numbers(const stage::Setup& setup);
  void put_coordinates(const stage::Setup& setup);
  void put_periods(const stage::Setup& setup);
  void expect_no_clash(const stage::Setup& setup) const;
  /// Whether the coordinates that are stored once are those of this step's elements. [peers]
  bool has_elements_of_first(const stage::Step& step);
  int32_t place_of(const std::string& name);
  [[nodiscard]] StoredArray stored(const stage::Step& step, const One& one, Figures& figures) const;
  template <class T>
  void pack(const stage::Block& block, const One& one, StoredArray& to, Figures& figures) const;
  [[nodiscard]] StoredArray stored_numbers(const stage::Step& step) const;
  [[nodiscard]] bool has_numbers() const { return numbers_ >= 0; }

  pillion_field_description mesh_;
  Coder coder_;
  std::vector<std::string> input_names_;
  std::vector<One> fields_;
  One coordinates_{};
  Coordinates when_ = Coordinates::none;
  bool has_own_coordinates_ = false;       ///< of the last step
  std::vector<int64_t> first_elements_{};  ///< what was summed of those stored once
  int32_t numbers_ = -1;
  std::vector<double> periods_;
  bool continuous_;
  int32_t input_ = 0;
};

}  // namespace pillion::stages::encoding
