// SPDX-License-Identifier: BSD-3-Clause
// The progress line's text, and where it is written.
#include "progress_line.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "ride.hpp"

namespace pillion::lammps {

std::string progress_text(const pillion_progress& progress, int64_t last_step) {
  // `rerun` goes on to the end of its files, wherever that is.
  constexpr int64_t unknown = int64_t{1} << 60;
  const std::string of = last_step < unknown ? " of " + std::to_string(last_step) : "";
  char text[200];
  std::snprintf(text, sizeof text,
                "pillion: step %lld%s  %.1f steps/s  publications %lld  skipped %lld  behind %lld",
                static_cast<long long>(progress.step), of.c_str(), progress.steps_per_second,
                static_cast<long long>(progress.publications),
                static_cast<long long>(progress.skipped), static_cast<long long>(progress.behind));
  std::string line = text;
  if (progress.stall_seconds >= 0.1) {
    std::snprintf(text, sizeof text, "  stalled %.1f s", progress.stall_seconds);
    line += text;
  }
  if (progress.disabled > 0)
    line += "  DISABLED " + std::to_string(progress.disabled) + " of the analyses";
  return line;
}

ProgressLine::ProgressLine(double seconds)
    : seconds_(seconds), terminal_(isatty(STDERR_FILENO) != 0) {
  next_ = MPI_Wtime() + seconds;
}

void ProgressLine::update(const pillion_session* session, int64_t last_step) {
  if (seconds_ <= 0) return;
  const double now = MPI_Wtime();
  if (now < next_) return;
  next_ = now + (terminal_ ? std::min(seconds_, 0.5) : seconds_);
  pillion_progress progress{};
  check(pillion_get_progress(session, &progress));
  show(progress, last_step);
}

void ProgressLine::finish(const pillion_session* session, int64_t last_step) {
  if (seconds_ <= 0) return;
  pillion_progress progress{};
  check(pillion_get_progress(session, &progress));
  if (progress.step != shown_) show(progress, last_step);
  if (open_) std::fputc('\n', stderr);
  open_ = false;
}

void ProgressLine::show(const pillion_progress& progress, int64_t last_step) {
  const std::string line = progress_text(progress, last_step);
  if (terminal_) std::fprintf(stderr, "\r%s\033[K", line.c_str());
  else std::fprintf(stderr, "%s\n", line.c_str());
  std::fflush(stderr);
  shown_ = progress.step;
  open_ = terminal_;
}

}  // namespace pillion::lammps
