// SPDX-License-Identifier: BSD-3-Clause
// Reads the parameters of a run and refuses those that it could not be right with.
#include "parameters.hpp"

#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>

namespace cosmology {
namespace {

using Setter = std::function<void(Parameters&, const std::string&)>;

template <class T>
Setter set(T Parameters::*member) {
  return [member](Parameters& parameters, const std::string& text) {
    std::istringstream stream(text);
    if (!(stream >> parameters.*member) || !(stream >> std::ws).eof())
      throw std::invalid_argument("'" + text + "' is not a value of its kind");
  };
}

const std::map<std::string, Setter>& setters() {
  using P = Parameters;
  static const std::map<std::string, Setter> table = {
      {"cells", set(&P::cells)},
      {"length", set(&P::length)},
      {"box", set(&P::box)},
      {"seed", set(&P::seed)},
      {"fixed", set(&P::fixed)},
      {"redshift", set(&P::redshift)},
      {"final_redshift", set(&P::final_redshift)},
      {"steps", set(&P::steps)},
      {"omega_m", set(&P::omega_m)},
      {"omega_b", set(&P::omega_b)},
      {"hubble", set(&P::hubble)},
      {"tilt", set(&P::tilt)},
      {"sigma_8", set(&P::sigma_8)},
      {"filter", set(&P::filter)},
      {"T0", set(&P::T0)},
      {"gamma", set(&P::gamma)},
      {"ionisation", set(&P::ionisation)},
      {"helium", set(&P::helium)},
      {"analyses", set(&P::analyses)},
      {"output", set(&P::output)},
      {"snapshots", set(&P::snapshots)},
      {"snapshot_every", set(&P::snapshot_every)},
  };
  return table;
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

void assign(Parameters& parameters, const std::string& assignment) {
  const auto equals = assignment.find('=');
  const std::string name = trimmed(assignment.substr(0, equals));
  const auto found = setters().find(name);
  if (equals == std::string::npos || found == setters().end()) {
    std::string known;
    for (const auto& entry : setters()) known += " " + entry.first;
    throw std::invalid_argument("'" + assignment + "' sets no parameter; they are:" + known);
  }
  try {
    found->second(parameters, trimmed(assignment.substr(equals + 1)));
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(name + ": " + error.what());
  }
}

void read_file(Parameters& parameters, const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument("cannot read the parameter file '" + path + "'");
  for (std::string line; std::getline(file, line);) {
    line = trimmed(line.substr(0, line.find('#')));
    if (!line.empty()) assign(parameters, line);
  }
}

void expect(bool good, const std::string& what) {
  if (!good) throw std::invalid_argument(what);
}

void check(const Parameters& p) {
  expect(p.cells >= 4 && p.cells % 2 == 0 && p.cells <= 8192, "cells: an even number, 4 to 8192");
  expect(p.box >= 1, "box: at least 1 cell per side");
  expect(p.length > 0, "length: above 0");
  expect(p.steps >= 1 && p.snapshot_every >= 0, "steps: at least 1; snapshot_every: at least 0");
  expect(p.redshift > p.final_redshift && p.final_redshift > -1,
         "redshift: above final_redshift, which is above -1");
  expect(p.omega_m > 0 && p.omega_m <= 1 && p.omega_b > 0 && p.omega_b < p.omega_m,
         "omega_m: above 0, at most 1; omega_b: between 0 and omega_m");
  expect(p.hubble > 0 && p.sigma_8 > 0, "hubble, sigma_8: above 0");
  expect(p.filter >= 0 && p.T0 > 0 && p.ionisation > 0,
         "filter: not below 0; T0, ionisation: above");
  expect(p.helium >= 0 && p.helium < 1, "helium: a mass fraction");
}

}  // namespace

Parameters read_parameters(const std::vector<std::string>& arguments) {
  Parameters parameters;
  for (const auto& argument : arguments) {
    if (argument.find('=') == std::string::npos) read_file(parameters, argument);
    else assign(parameters, argument);
  }
  check(parameters);
  return parameters;
}

}  // namespace cosmology
