// SPDX-License-Identifier: BSD-3-Clause
// Keys and sections of .par files are in any case. '#' and ';' begin comments.
#include "inputs.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

namespace pillion::nek5000 {

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::string trimmed(const std::string& text) {
  constexpr const char* blanks = " \t\r\"";
  const size_t first = text.find_first_not_of(blanks);
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return std::tolower(letter); });
  return text;
}

}  // namespace

std::string case_name(const std::string& session) {
  const auto lines = lines_of(session);
  return lines.empty() ? "" : trimmed(lines.front());
}

std::string case_folder(const std::string& session) {
  const auto lines = lines_of(session);
  const auto folder = lines.size() < 2 ? "" : trimmed(lines[1]);
  return folder.empty() ? "." : folder;
}

bool are_coupled(const std::string& session) {
  const auto lines = lines_of(session);
  int sessions = 0;
  return lines.size() > 2 && (std::istringstream(lines.front()) >> sessions) && sessions > 1;
}

std::string start_file(const std::string& par) {
  std::string section;
  for (const auto& whole : lines_of(par)) {
    const auto line = trimmed(whole.substr(0, whole.find_first_of("#;")));
    if (!line.empty() && line.front() == '[') section = lower(line.substr(0, line.find(']') + 1));
    const size_t equals = line.find('=');
    if (section != "[general]" || equals == std::string::npos) continue;
    if (lower(trimmed(line.substr(0, equals))) != "startfrom") continue;
    const auto value = line.substr(equals + 1);
    if (lower(value).find("time=") != std::string::npos) return "";
    std::istringstream words(value.substr(0, value.find(',')));
    std::string file;
    words >> file;
    return trimmed(file);
  }
  return "";
}

bool names_restart(const std::string& configuration) {
  const auto lines = lines_of(configuration);
  return std::any_of(lines.begin(), lines.end(),
                     [](const std::string& line) { return line.starts_with("restart:"); });
}

}  // namespace pillion::nek5000
