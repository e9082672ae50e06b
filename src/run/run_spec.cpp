// SPDX-License-Identifier: BSD-3-Clause
// Words as bytes, for MPI messages and shared memory.
#include "run/run_spec.hpp"

#include <filesystem>
#include <sstream>

namespace pillion::run {

using base::ByteReader;
using base::ByteWriter;

namespace {

/// Without "." and a "/" at the end. A ".." stays, for it may follow a symbolic link.
std::string absolute(const std::filesystem::path& path, const std::filesystem::path& folder) {
  std::filesystem::path out;
  for (const auto& part : folder / path)
    if (part != "." && !part.empty()) out /= part;
  return out.string();
}

void put_texts(ByteWriter& out, const std::map<std::string, std::string>& texts) {
  out.put(static_cast<int64_t>(texts.size()));
  for (const auto& [name, text] : texts) {
    out.put(name);
    out.put(text);
  }
}

std::map<std::string, std::string> get_texts(ByteReader& in) {
  std::map<std::string, std::string> texts;
  for (auto n = in.get<int64_t>(); n > 0; --n) {
    const auto name = in.get<std::string>();
    texts[name] = in.get<std::string>();
  }
  return texts;
}

void put_produced(ByteWriter& out, const ProducedFields& produced) {
  out.put(static_cast<int64_t>(produced.size()));
  for (const auto& fields : produced) {
    out.put(static_cast<int64_t>(fields.size()));
    for (const auto& field : fields) {
      for (const auto* s : {&field.name, &field.mesh, &field.units}) out.put(*s);
      out.put(static_cast<int32_t>(field.type));
      out.put(field.components);
      out.put(static_cast<int32_t>(field.centering));
    }
  }
}

ProducedFields get_produced(ByteReader& in) {
  ProducedFields produced(static_cast<size_t>(in.get<int64_t>()));
  for (auto& fields : produced)
    for (auto n = in.get<int64_t>(); n > 0; --n) {
      auto& field = fields.emplace_back();
      for (auto* s : {&field.name, &field.mesh, &field.units}) *s = in.get<std::string>();
      field.type = static_cast<model::ElementType>(in.get<int32_t>());
      field.components = in.get<int32_t>();
      field.centering = static_cast<model::Centering>(in.get<int32_t>());
    }
  return produced;
}

using Declared = std::vector<std::vector<stagehost::DeclaredProduct>>;

void put_declared(ByteWriter& out, const Declared& declared) {
  out.put(static_cast<int64_t>(declared.size()));
  for (const auto& products : declared) {
    out.put(static_cast<int64_t>(products.size()));
    for (const auto& product : products) {
      out.put(product.name);
      out.put(product.stage);
      out.put(product.line);
    }
  }
}

Declared get_declared(ByteReader& in) {
  Declared declared(static_cast<size_t>(in.get<int64_t>()));
  for (auto& products : declared)
    for (auto n = in.get<int64_t>(); n > 0; --n) {
      auto& product = products.emplace_back();
      product.name = in.get<std::string>();
      product.stage = in.get<std::string>();
      product.line = in.get<int64_t>();
    }
  return declared;
}

}  // namespace

model::Configuration RunSpec::configuration(int64_t sidecars_wanted) const {
  auto configuration =
      model::read_configuration(text, file, parameters, catalogue, sidecars_wanted, overrides);
  if (!restart.empty()) configuration.restart = restart;
  for (auto* path :
       {&configuration.output, &configuration.restart, &configuration.sidecars.spill_folder})
    if (!path->empty()) *path = absolute(*path, folder);
  return configuration;
}

std::map<std::string, std::string> read_settings(const std::string& lines, const char* variable,
                                                 const char* like) {
  std::map<std::string, std::string> settings;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const auto equals = line.find('=');
    if (equals == std::string::npos || equals == 0)
      base::fail(ErrorCode::Configuration, "the environment's {} has the line '{}'; it must be {}",
                 variable, line, like);
    settings[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return settings;
}

base::Bytes bytes_of(const RunSpec& spec) {
  ByteWriter out;
  for (const auto* s : {&spec.file, &spec.text, &spec.catalogue, &spec.restart, &spec.folder})
    out.put(*s);
  out.put(spec.move_at);
  out.put(spec.test_overrides.nodes);
  out.put(spec.test_overrides.topology);
  out.put(spec.run);
  for (const auto* texts : {&spec.parameters, &spec.overrides}) put_texts(out, *texts);
  put_produced(out, spec.produced);
  put_declared(out, spec.declared);
  return out.take();
}

RunSpec read_run_spec(const base::Bytes& bytes) {
  ByteReader in(bytes);
  RunSpec spec;
  for (auto* s : {&spec.file, &spec.text, &spec.catalogue, &spec.restart, &spec.folder})
    *s = in.get<std::string>();
  spec.move_at = in.get_vector<int64_t>();
  spec.test_overrides.nodes = in.get<int64_t>();
  spec.test_overrides.topology = in.get<std::string>();
  spec.run = in.get<uint64_t>();
  for (auto* texts : {&spec.parameters, &spec.overrides}) *texts = get_texts(in);
  spec.produced = get_produced(in);
  spec.declared = get_declared(in);
  return spec;
}

base::Bytes bytes_of(const CutFields& cut_fields) {
  ByteWriter out;
  for (const auto& [fields, whole_for] : cut_fields) {
    out.put(std::vector<std::string>(fields.begin(), fields.end()));
    out.put(whole_for);
  }
  return out.take();
}

CutFields read_cut_fields(ByteReader& in) {
  CutFields cut_fields;
  while (!in.done()) {
    const auto names = in.get_vector<std::string>();
    cut_fields.push_back({{names.begin(), names.end()}, in.get<std::string>()});
  }
  return cut_fields;
}

CutFields read_cut_fields(const base::Bytes& bytes) {
  ByteReader in(bytes);
  return read_cut_fields(in);
}

namespace {

void put_request(ByteWriter& out, const layout::Request& request) {
  out.put(static_cast<int64_t>(request.fields.size()));
  for (const auto& name : request.fields) out.put(name);
  out.put(request.kind);
  for (const auto* s : {&request.key, &request.position, &request.select}) out.put(*s);
  out.put(request.halo);
  out.put(request.select_values);
  out.put(request.axis);
  out.put(request.sides);
  out.put(request.ghosts);
}

layout::Request get_request(ByteReader& in) {
  layout::Request request;
  request.fields.resize(static_cast<size_t>(in.get<int64_t>()));
  for (auto& name : request.fields) name = in.get<std::string>();
  request.kind = in.get<layout::Kind>();
  for (auto* s : {&request.key, &request.position, &request.select}) *s = in.get<std::string>();
  request.halo = in.get<double>();
  request.select_values = in.get_vector<int64_t>();
  request.axis = in.get<int>();
  request.sides = in.get<std::array<int, 3>>();
  request.ghosts = in.get<std::array<int64_t, 3>>();
  return request;
}

}  // namespace

base::Bytes bytes_of(const LayoutRequests& layout_requests) {
  ByteWriter out;
  for (const auto& of_analysis : layout_requests) {
    out.put(static_cast<int64_t>(of_analysis.size()));
    for (const auto& wish : of_analysis) {
      out.put(wish.mesh);
      put_request(out, wish.request);
      out.put(wish.is_for_own);
    }
  }
  return out.take();
}

LayoutRequests read_layout_requests(const base::Bytes& bytes) {
  LayoutRequests layout_requests;
  for (ByteReader in(bytes); !in.done();) {
    auto& of_analysis = layout_requests.emplace_back(static_cast<size_t>(in.get<int64_t>()));
    for (auto& wish : of_analysis) {
      wish.mesh = in.get<std::string>();
      wish.request = get_request(in);
      wish.is_for_own = in.get<bool>();
    }
  }
  return layout_requests;
}

LayoutRequests layout_requests_of(const Chains& chains) {
  LayoutRequests layout_requests;
  for (const auto& chain : chains)
    layout_requests.push_back(chain ? chain->wishes() : std::vector<layout::Wish>());
  return layout_requests;
}

transport::Routes routes_for(const LayoutRequests& layout_requests,
                             const transport::Announcement& head,
                             const model::Catalogue& catalogue) {
  std::vector<const layout::Wish*> due;
  for (const auto& d : head.due)
    for (const auto& wish : layout_requests.at(static_cast<size_t>(d.analysis)))
      due.push_back(&wish);
  return layout::routes_for(due, catalogue);
}

ProducedFields produced_by(const Chains& chains) {
  ProducedFields produced;
  for (const auto& chain : chains)
    produced.push_back(chain ? chain->produced() : std::vector<model::Field>());
  return produced;
}

std::vector<std::vector<stagehost::DeclaredProduct>> declared_by(const Chains& chains) {
  std::vector<std::vector<stagehost::DeclaredProduct>> declared;
  for (const auto& chain : chains)
    declared.push_back(chain ? chain->products() : std::vector<stagehost::DeclaredProduct>());
  return declared;
}

CutFields cut_fields_of(const Chains& chains) {
  CutFields cut_fields;
  for (const auto& chain : chains)
    cut_fields.push_back(chain ? CutInput{chain->needed(), chain->whole_for()} : CutInput{});
  return cut_fields;
}

}  // namespace pillion::run
