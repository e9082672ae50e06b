// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: the text of a configuration, as a run reads it, as `pillion check` does, and as that
// of an attached job.
#include "model/configuration.hpp"

#include "input.hpp"

using namespace pillion;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto text = fuzz::text({data, size});
  const base::Parameters parameters = {{"given", "1"}};
  fuzz::accept_errors([&] { model::read_configuration(text, "run.yaml", parameters, "", 0); });
  fuzz::accept_errors([&] {
    base::Diagnostics mistakes;
    model::read_configuration(text, "checked.yaml", parameters, "", 1, {}, &mistakes);
  });
  fuzz::accept_errors(
      [&] { model::read_attached_job_analyses(text, "more.yaml", parameters, {}, {"taken"}); });
  return 0;
}
