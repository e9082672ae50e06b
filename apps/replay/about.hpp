// SPDX-License-Identifier: BSD-3-Clause
// What arrays do not say of themselves and a simulation would have told: the values of parameters,
// the domains of particles, the times of steps. Programs leave it as snapshots.yaml beside the
// files:
//   parameters: {cells: 64, length: 32.0}
//   domains:
//     dark_matter: {origin: [0, 0, 0], length: [32, 32, 32], periodic: true}
//   steps:
//     0: {time: 0.02}
//     20: {time: 0.04, domains: {…}}
#pragma once

#include <pillion/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace replay {

using Domains = std::map<std::string, pillion_domain>;  ///< by mesh

struct AboutStep {
  std::optional<double> time;
  Domains domains;  ///< those that differ from the others'
};

struct About {
  std::map<std::string, std::string> parameters;
  Domains domains;
  std::map<int64_t, AboutStep> steps;
};

constexpr const char* about_name = "snapshots.yaml";

/// Reads the text of such a file. Throws pillion::Error, with the line, for what makes no sense.
About parse_about(const std::string& text, const std::string& file);

/// Adds what another file says, which must not contradict. Throws pillion::Error if it does.
void add(About& about, const About& other, const std::string& file);

bool operator==(const AboutStep& a, const AboutStep& b);

}  // namespace replay
