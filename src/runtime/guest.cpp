// SPDX-License-Identifier: BSD-3-Clause
// Guests as bytes.
#include "runtime/guest.hpp"

namespace pillion::runtime {

std::deque<model::AnalysisSpec> Guest::analyses(const model::Catalogue& catalogue,
                                                const std::set<std::string>& taken) const {
  return model::read_guest_analyses(text, file, parameters, catalogue, taken);
}

base::Bytes bytes_of(const Guest& guest) {
  base::ByteWriter out;
  for (const auto* s : {&guest.name, &guest.text, &guest.file}) out.put(*s);
  out.put(static_cast<int64_t>(guest.parameters.size()));
  for (const auto& [name, value] : guest.parameters) {
    out.put(name);
    out.put(value);
  }
  const auto needs = bytes_of(guest.needs);
  out.put_raw(needs.data(), needs.size());
  return out.take();
}

Guest read_guest(const base::Bytes& bytes) {
  base::ByteReader in(bytes);
  Guest guest;
  for (auto* s : {&guest.name, &guest.text, &guest.file}) *s = in.get<std::string>();
  for (auto n = in.get<int64_t>(); n > 0; --n) {
    const auto name = in.get<std::string>();
    guest.parameters[name] = in.get<std::string>();
  }
  guest.needs = read_crossing(in);
  return guest;
}

}  // namespace pillion::runtime
