// SPDX-License-Identifier: BSD-3-Clause
// Question and answer through pipes.
#include "runtime/needs.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "base/process.hpp"

namespace pillion::runtime {

namespace fs = std::filesystem;

std::string attaching_program() {
  if (const char* given = std::getenv("PILLION_ATTACH")) return given;
  Dl_info info{};
  std::error_code error;
  fs::path folder;
  if (dladdr(reinterpret_cast<const void*>(&attaching_program), &info) != 0 &&
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

Crossing ask_needs(const Word& word) {
  constexpr double seconds = 60;
  const auto answer = base::run_program({attaching_program(), "--answer"}, bytes_of(word), seconds);
  base::ByteReader in(answer);
  const auto code = in.get<int32_t>();
  if (code != 0) throw Error(static_cast<ErrorCode>(code), in.get<std::string>());
  const auto size = static_cast<size_t>(in.get<int64_t>());
  const std::byte* crossing = in.take(size);
  return read_crossing({crossing, crossing + size});
}

namespace {

base::Bytes read_answer(int in) {
  base::Bytes bytes;
  std::array<std::byte, 65536> piece;
  for (ssize_t n = 0; (n = read(in, piece.data(), piece.size())) > 0;)
    bytes.insert(bytes.end(), piece.begin(), piece.begin() + n);
  return bytes;
}

base::Bytes answer_to(const base::Bytes& question) {
  base::ByteWriter out;
  try {
    const Word word = read_word(question);
    Run run;
    run.configuration = word.configuration(0);
    run.declared = word.declared;
    run.roles = {Role::Sidecar};
    const auto crossing = bytes_of(needed_by(make_chains(run, Role::Sidecar, word.produced)));
    out.put(int32_t{0});
    out.put(static_cast<int64_t>(crossing.size()));
    out.put_raw(crossing.data(), crossing.size());
  } catch (const Error& e) {
    out.put(static_cast<int32_t>(e.code()));
    out.put(std::string(e.what()));
  }
  return out.take();
}

}  // namespace

void answer_needs(int in, int out) {
  const auto answer = answer_to(read_answer(in));
  for (size_t sent = 0; sent < answer.size();) {
    const auto n = write(out, answer.data() + sent, answer.size() - sent);
    if (n <= 0) base::fail(ErrorCode::File, "the answer cannot be written");
    sent += static_cast<size_t>(n);
  }
}

}  // namespace pillion::runtime
