// SPDX-License-Identifier: BSD-3-Clause
// Question and answer through pipes.
#include "run/attached_job.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "base/process.hpp"
#include "run/chains.hpp"

namespace pillion::run {

namespace fs = std::filesystem;

std::string attach_program() {
  if (const char* given = std::getenv("PILLION_ATTACH")) return given;
  Dl_info info{};
  std::error_code error;
  fs::path folder;
  if (dladdr(reinterpret_cast<const void*>(&attach_program), &info) != 0 &&
      info.dli_fname != nullptr)
    folder = fs::canonical(info.dli_fname, error).parent_path();
  // Beside the folder of libraries, which may be one level further down than it is called.
  for (const auto& up : {folder.parent_path(), folder.parent_path().parent_path()}) {
    const fs::path program = up / "bin" / "pillion-attach";
    if (fs::exists(program, error)) return program.string();
  }
  base::fail(ErrorCode::Configuration,
             "'job: separate' needs the program pillion-attach, which is not beside the library in "
             "{}; set PILLION_ATTACH to its path",
             folder.string());
}

CutFields ask_cut_fields(const RunSpec& spec) {
  constexpr double seconds = 60;
  const auto answer =
      base::run_program({attach_program(), "--answer"}, base::to_bytes(spec), seconds);
  base::ByteReader in(answer);
  const auto code = in.get<int32_t>();
  if (code != 0) throw Error(static_cast<ErrorCode>(code), in.get<std::string>());
  return in.get<CutFields>();
}

namespace {

base::Bytes read_until_closed(int in) {
  base::Bytes bytes;
  std::array<std::byte, 65536> piece;
  for (ssize_t n = 0; (n = read(in, piece.data(), piece.size())) > 0;)
    bytes.insert(bytes.end(), piece.begin(), piece.begin() + n);
  return bytes;
}

base::Bytes answer_to(const base::Bytes& question) {
  base::ByteWriter out;
  try {
    const RunSpec spec = base::from_bytes<RunSpec>(question);
    Run run;
    run.configuration = spec.configuration(0);
    run.declared = spec.declared;
    run.roles = {topology::Role::Sidecar};
    const auto cut_fields = cut_fields_of(make_chains(run, topology::Role::Sidecar, spec.produced));
    out.put(int32_t{0});
    out.put(cut_fields);
  } catch (const Error& e) {
    out.put(static_cast<int32_t>(e.code()));
    out.put(std::string(e.what()));
  }
  return out.take();
}

}  // namespace

void answer_cut_fields(int in, int out) {
  const auto answer = answer_to(read_until_closed(in));
  for (size_t sent = 0; sent < answer.size();) {
    const auto n = write(out, answer.data() + sent, answer.size() - sent);
    if (n <= 0) base::fail(ErrorCode::File, "the answer cannot be written");
    sent += static_cast<size_t>(n);
  }
}

std::deque<model::AnalysisSpec> AttachedJob::analyses(const model::Catalogue& catalogue,
                                                      const std::set<std::string>& taken) const {
  return model::read_attached_job_analyses(text, file, parameters, catalogue, taken);
}

}  // namespace pillion::run
