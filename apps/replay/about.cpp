// SPDX-License-Identifier: BSD-3-Clause
// Reading snapshots.yaml. Unknown keys are mistakes, as they are in the configuration.
#include "replay/about.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <cstring>
#include <functional>
#include <pillion/error.hpp>

namespace replay {
namespace {

using pillion::Error;
using pillion::ErrorCode;

class Parser {
 public:
  explicit Parser(std::string file) : file_(std::move(file)) {}

  About read(const YAML::Node& root) const {
    About about;
    each(root, "this file",
         {{"parameters", [&](const auto& node) { about.parameters = parameters(node); }},
          {"domains", [&](const auto& node) { about.domains = domains(node); }},
          {"steps", [&](const auto& node) { about.steps = steps(node); }}});
    return about;
  }

 private:
  using Reading = std::function<void(const YAML::Node&)>;

  [[noreturn]] void fail(const YAML::Node& node, const std::string& why) const {
    throw Error(ErrorCode::Configuration,
                fmt::format("{}:{}: {}", file_, node.Mark().line + 1, why));
  }
  void expect_map(const YAML::Node& node, const std::string& what) const {
    if (!node.IsMap()) fail(node, fmt::format("{} must be a map", what));
  }
  /// Reads entries of a map, all of which must be known.
  void each(const YAML::Node& map, const std::string& what,
            const std::map<std::string, Reading>& known) const {
    expect_map(map, what);
    for (const auto& entry : map) {
      const auto reading = known.find(entry.first.Scalar());
      if (reading != known.end()) {
        reading->second(entry.second);
        continue;
      }
      std::string names;
      for (const auto& [name, read] : known) names += " " + name;
      fail(entry.first,
           fmt::format("unknown key '{}' in {}; known:{}", entry.first.Scalar(), what, names));
    }
  }
  template <class T>
  T value(const YAML::Node& node, const char* what) const {
    try {
      return node.as<T>();
    } catch (const YAML::Exception&) {
      fail(node, fmt::format("expected {}, found '{}'", what, YAML::Dump(node)));
    }
  }

  std::map<std::string, std::string> parameters(const YAML::Node& node) const {
    expect_map(node, "'parameters'");
    std::map<std::string, std::string> out;
    for (const auto& entry : node)
      out[entry.first.Scalar()] = value<std::string>(entry.second, "a single value");
    return out;
  }

  std::map<int64_t, AboutStep> steps(const YAML::Node& node) const {
    std::map<int64_t, AboutStep> out;
    if (node.IsNull()) return out;
    expect_map(node, "'steps'");
    for (const auto& entry : node) {
      const auto number = value<int64_t>(entry.first, "the number of a step");
      AboutStep step;
      each(entry.second, fmt::format("step {}", number),
           {{"time", [&](const auto& n) { step.time = value<double>(n, "a time"); }},
            {"domains", [&](const auto& n) { step.domains = domains(n); }}});
      const auto [at, is_new] = out.try_emplace(number, step);
      if (!is_new && !(at->second == step))
        fail(entry.first, fmt::format("step {} is there twice, with different values", number));
    }
    return out;
  }

  Domains domains(const YAML::Node& node) const {
    expect_map(node, "'domains'");
    Domains out;
    for (const auto& entry : node) out[entry.first.Scalar()] = domain(entry.second);
    return out;
  }

  pillion_domain domain(const YAML::Node& node) const {
    pillion_domain out{};
    double length[3] = {0, 0, 0};
    each(node, "a domain",
         {{"origin", [&](const auto& n) { triple(n, out.lo); }},
          {"length", [&](const auto& n) { triple(n, length); }},
          {"tilt", [&](const auto& n) { triple(n, out.tilt); }},
          {"periodic", [&](const auto& n) { periodic(n, out.periodic); }}});
    for (int d = 0; d < 3; ++d) {
      if (!(length[d] > 0)) fail(node, "a domain needs a length of three positive numbers");
      out.hi[d] = out.lo[d] + length[d];
    }
    return out;
  }
  void triple(const YAML::Node& node, double* out) const {
    if (!node.IsSequence() || node.size() != 3) fail(node, "expected a list of three numbers");
    for (size_t d = 0; d < 3; ++d) out[d] = value<double>(node[d], "a number");
  }
  void periodic(const YAML::Node& node, int32_t* out) const {
    if (node.IsSequence() && node.size() != 3) fail(node, "expected one entry per axis");
    for (size_t d = 0; d < 3; ++d)
      out[d] = value<bool>(node.IsSequence() ? node[d] : node, "true or false") ? 1 : 0;
  }

  std::string file_;
};

bool is_same(const pillion_domain& a, const pillion_domain& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

bool is_same(const std::string& a, const std::string& b) { return a == b; }
bool is_same(const AboutStep& a, const AboutStep& b) { return a == b; }

template <class Map>
void add_each(Map& to, const Map& from, const char* what, const std::string& file) {
  for (const auto& [name, value] : from) {
    const auto [at, is_new] = to.try_emplace(name, value);
    if (!is_new && !is_same(at->second, value))
      throw Error(ErrorCode::Configuration,
                  fmt::format("'{}' contradicts another file about {} {}; replay the folders one "
                              "by one, or say --about FILE",
                              file, what, name));
  }
}

}  // namespace

bool operator==(const AboutStep& a, const AboutStep& b) {
  if (a.time != b.time || a.domains.size() != b.domains.size()) return false;
  for (const auto& [mesh, domain] : a.domains) {
    const auto other = b.domains.find(mesh);
    if (other == b.domains.end() || !is_same(domain, other->second)) return false;
  }
  return true;
}

About parse_about(const std::string& text, const std::string& file) {
  try {
    return Parser(file).read(YAML::Load(text));
  } catch (const YAML::Exception& e) {
    throw Error(ErrorCode::Configuration,
                fmt::format("{}:{}: not valid YAML: {}", file, e.mark.line + 1, e.msg));
  }
}

void add(About& about, const About& other, const std::string& file) {
  add_each(about.parameters, other.parameters, "parameter", file);
  add_each(about.domains, other.domains, "the domain of", file);
  add_each(about.steps, other.steps, "step", file);
}

}  // namespace replay
