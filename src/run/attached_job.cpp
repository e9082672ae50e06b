// SPDX-License-Identifier: BSD-3-Clause
// Guests as bytes.
#include "run/attached_job.hpp"

namespace pillion::run {

std::deque<model::AnalysisSpec> AttachedJob::analyses(const model::Catalogue& catalogue,
                                                      const std::set<std::string>& taken) const {
  return model::read_guest_analyses(text, file, parameters, catalogue, taken);
}

base::Bytes bytes_of(const AttachedJob& attached_job) {
  base::ByteWriter out;
  for (const auto* s : {&attached_job.name, &attached_job.text, &attached_job.file}) out.put(*s);
  out.put(static_cast<int64_t>(attached_job.parameters.size()));
  for (const auto& [name, value] : attached_job.parameters) {
    out.put(name);
    out.put(value);
  }
  const auto needs = bytes_of(attached_job.needs);
  out.put_raw(needs.data(), needs.size());
  return out.take();
}

AttachedJob read_attached_job(const base::Bytes& bytes) {
  base::ByteReader in(bytes);
  AttachedJob attached_job;
  for (auto* s : {&attached_job.name, &attached_job.text, &attached_job.file})
    *s = in.get<std::string>();
  for (auto n = in.get<int64_t>(); n > 0; --n) {
    const auto name = in.get<std::string>();
    attached_job.parameters[name] = in.get<std::string>();
  }
  attached_job.needs = read_cut_fields(in);
  return attached_job;
}

}  // namespace pillion::run
