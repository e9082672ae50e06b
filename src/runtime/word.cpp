// SPDX-License-Identifier: BSD-3-Clause
// Words as bytes, for MPI messages and shared memory.
#include "runtime/word.hpp"

namespace pillion::runtime {

using base::ByteReader;
using base::ByteWriter;

namespace {

void put_produced(ByteWriter& out, const Produced& produced) {
  out.put(static_cast<int64_t>(produced.size()));
  for (const auto& fields : produced) {
    out.put(static_cast<int64_t>(fields.size()));
    for (const auto& field : fields) {
      for (const auto* s : {&field.name, &field.mesh, &field.units}) out.put(*s);
      out.put(static_cast<int32_t>(field.type));
      out.put(field.components);
    }
  }
}

Produced get_produced(ByteReader& in) {
  Produced produced(static_cast<size_t>(in.get<int64_t>()));
  for (auto& fields : produced)
    for (auto n = in.get<int64_t>(); n > 0; --n) {
      auto& field = fields.emplace_back();
      for (auto* s : {&field.name, &field.mesh, &field.units}) *s = in.get<std::string>();
      field.type = static_cast<model::ElementType>(in.get<int32_t>());
      field.components = in.get<int32_t>();
    }
  return produced;
}

}  // namespace

model::Configuration Word::configuration(int64_t sidecars_wanted) const {
  auto configuration =
      model::read_configuration(text, file, parameters, catalogue, sidecars_wanted);
  if (!restart.empty()) configuration.restart = restart;
  return configuration;
}

base::Bytes bytes_of(const Word& word) {
  ByteWriter out;
  for (const auto* s : {&word.file, &word.text, &word.catalogue, &word.restart, &word.folder})
    out.put(*s);
  out.put(word.pretended_nodes);
  out.put(word.run);
  out.put(static_cast<int64_t>(word.parameters.size()));
  for (const auto& [name, value] : word.parameters) {
    out.put(name);
    out.put(value);
  }
  put_produced(out, word.produced);
  return out.take();
}

Word read_word(const base::Bytes& bytes) {
  ByteReader in(bytes);
  Word word;
  for (auto* s : {&word.file, &word.text, &word.catalogue, &word.restart, &word.folder})
    *s = in.get<std::string>();
  word.pretended_nodes = in.get<int64_t>();
  word.run = in.get<uint64_t>();
  for (auto n = in.get<int64_t>(); n > 0; --n) {
    const auto name = in.get<std::string>();
    word.parameters[name] = in.get<std::string>();
  }
  word.produced = get_produced(in);
  return word;
}

base::Bytes bytes_of(const Crossing& crossing) {
  ByteWriter out;
  for (const auto& names : crossing) out.put(std::vector<std::string>(names.begin(), names.end()));
  return out.take();
}

Crossing read_crossing(const base::Bytes& bytes) {
  Crossing crossing;
  for (ByteReader in(bytes); !in.done();) {
    const auto names = in.get_vector<std::string>();
    crossing.emplace_back(names.begin(), names.end());
  }
  return crossing;
}

Produced produced_by(const Chains& chains) {
  Produced produced;
  for (const auto& chain : chains)
    produced.push_back(chain ? chain->produced() : std::vector<model::Field>());
  return produced;
}

Crossing needed_by(const Chains& chains) {
  Crossing crossing;
  for (const auto& chain : chains)
    crossing.push_back(chain ? chain->needed() : std::set<std::string>());
  return crossing;
}

}  // namespace pillion::runtime
