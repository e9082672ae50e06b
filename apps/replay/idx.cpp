// SPDX-License-Identifier: BSD-3-Clause
// Fields of IDX datasets as arrays. A field that the format's usual reader could not take is there
// as a field for each component, NAME_0, NAME_1 and so on; here it is one again.
#include "replay/idx.hpp"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <pillion/error.hpp>

namespace replay {
namespace {

namespace idx = pillion::idx;
using pillion::Error;
using pillion::ErrorCode;

Number as_number(idx::Type type) {
  switch (type) {
    case idx::Type::uint8: return Number::UInt8;
    case idx::Type::int8: return Number::Int8;
    case idx::Type::uint16: return Number::UInt16;
    case idx::Type::int16: return Number::Int16;
    case idx::Type::uint32: return Number::UInt32;
    case idx::Type::int32: return Number::Int32;
    case idx::Type::int64: return Number::Int64;
    case idx::Type::float32: return Number::Float32;
    default: return Number::Float64;
  }
}

/// The dataset's fields that make up one: itself, or its components.
std::vector<size_t> parts_of(const idx::Dataset& dataset, const std::string& name) {
  std::map<std::string, size_t> numbers;
  for (size_t f = 0; f < dataset.fields.size(); ++f) numbers[dataset.fields[f].name] = f;
  if (const auto whole = numbers.find(name); whole != numbers.end()) return {whole->second};
  std::vector<size_t> out;
  for (int c = 0;; ++c) {
    const auto at = numbers.find(fmt::format("{}_{}", name, c));
    if (at == numbers.end()) return out;
    const auto& field = dataset.fields[at->second];
    if (field.components > 1 ||
        field.type != dataset.fields[out.empty() ? at->second : out[0]].type)
      return {};
    out.push_back(at->second);
  }
}

/// Names of fields, and such of which there are components.
std::vector<std::string> names_in(const idx::Dataset& dataset) {
  std::vector<std::string> out;
  for (const auto& field : dataset.fields) {
    out.push_back(field.name);
    if (!field.name.ends_with("_0")) continue;
    const auto whole = field.name.substr(0, field.name.size() - 2);
    if (parts_of(dataset, whole).size() > 1) out.push_back(whole);
  }
  return out;
}

Stored describe(const idx::Reader& reader, const std::string& name) {
  const auto& dataset = reader.dataset();
  const auto parts = parts_of(dataset, name);
  const auto& field = dataset.fields[parts[0]];
  Stored out;
  out.path = reader.path();
  out.dataset = name;
  if (field.type != idx::Type::uint64) out.number = as_number(field.type);
  out.type = idx::name_of(field.type);
  for (auto a = static_cast<size_t>(dataset.axes); a-- > 0;)
    out.shape.push_back(dataset.hi[a] - dataset.lo[a]);
  const auto components = static_cast<int64_t>(parts.size()) * field.components;
  if (components > 1) out.shape.push_back(components);
  out.format = Format::Idx;
  return out;
}

/// Puts values of one component among the others.
void scatter(const std::byte* from, int64_t count, size_t size, int64_t components, std::byte* to) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + static_cast<size_t>(i * components) * size,
                from + static_cast<size_t>(i) * size, size);
}

}  // namespace

std::vector<StoredStep> look_into_idx(const std::string& path, const Wanted& wanted) {
  const idx::Reader reader(path);
  const auto& dataset = reader.dataset();
  if (dataset.left_out > 0)
    throw Error(ErrorCode::File,
                fmt::format("'{}' cannot be replayed: it was written without its {} finest levels "
                            "(leave_out)",
                            path, dataset.left_out));
  std::vector<StoredStep> out;
  for (size_t n = 0; n < reader.steps().size(); ++n) {
    if (!wanted.step(reader.steps()[n])) continue;
    auto& step = out.emplace_back(StoredStep{.step = reader.steps()[n], .time = {}, .fields = {}});
    if (dataset.times.are_known()) step.time = dataset.times.values[n];
    for (const auto& name : names_in(dataset)) {
      if (!wanted.field(name)) continue;
      step.fields.push_back(describe(reader, name));
      step.fields.back().step = step.step;
      for (const size_t part : parts_of(dataset, name)) reader.expect_whole(part, step.step);
    }
  }
  return out;
}

int64_t read_idx(const idx::Reader& reader, const Stored& stored, const Part& part,
                 pillion_type type, std::byte* to) {
  const auto& dataset = reader.dataset();
  const auto axes = static_cast<size_t>(dataset.axes);
  idx::Query query{0, stored.step, dataset.lo, dataset.hi};
  for (size_t a = 0; a < axes; ++a) {
    query.lo[a] = dataset.lo[a] + part.lo[axes - 1 - a];
    query.hi[a] = dataset.lo[a] + part.hi[axes - 1 - a];
  }
  const auto parts = parts_of(dataset, stored.dataset);
  const int64_t values = part.count() / static_cast<int64_t>(parts.size());
  const size_t size = size_of(type);
  const bool is_declared = std::string(name_of(*stored.number)) == name_of(type);
  std::vector<std::byte> raw, one;
  int64_t bytes = 0;
  for (size_t c = 0; c < parts.size(); ++c) {
    query.field = parts[c];
    if (parts.size() > 1) one.resize(static_cast<size_t>(values) * size);
    std::byte* const target = parts.size() > 1 ? one.data() : to;
    if (!is_declared) raw.resize(static_cast<size_t>(values) * size_of(*stored.number));
    bytes += reader.read(query, dataset.finest(), is_declared ? target : raw.data());
    if (!is_declared) convert(*stored.number, false, raw.data(), values, type, target);
    if (parts.size() > 1)
      scatter(one.data(), values, size, static_cast<int64_t>(parts.size()), to + c * size);
  }
  return bytes;
}

}  // namespace replay
