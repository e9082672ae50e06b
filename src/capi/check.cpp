// SPDX-License-Identifier: BSD-3-Clause
// What a check has found, as plain C values.
#include "preflight/check.hpp"

#include <pillion/check.h>

#include "base/guard.hpp"
#include "capi/options.hpp"

using pillion::preflight::CheckRequest;
using pillion::preflight::CheckResult;

namespace {

using pillion::capi::text_or_nothing;

CheckRequest question_of(const pillion_question& asked, const pillion_options* options) {
  const auto given = options == nullptr ? pillion::session::Options() : options->options;
  CheckRequest question{.file = text_or_nothing(asked.file),
                        .of = text_or_nothing(asked.of),
                        .parameters = given.parameters,
                        .overrides = given.overrides,
                        .catalogue = given.catalogue,
                        .catalogue_file = text_or_nothing(asked.catalogue_file),
                        .restart = given.restart,
                        .start = {asked.ranks, asked.nodes, asked.sidecars}};
  if (question.file.empty())
    pillion::base::fail(pillion::ErrorCode::Argument, "the configuration to check is missing");
  if (asked.ranks < 0 || asked.nodes < 0 || asked.sidecars < 0)
    pillion::base::fail(pillion::ErrorCode::Argument, "numbers of ranks and nodes are not below 0");
  return question;
}

std::vector<pillion_remark> remarks_of(const std::vector<pillion::preflight::Finding>& remarks) {
  std::vector<pillion_remark> out;
  for (const auto& remark : remarks)
    out.push_back({remark.file.c_str(), remark.line, remark.message.c_str()});
  return out;
}

/// The forecast as C sees it, and the memory behind it.
class Plain {
 public:
  explicit Plain(const pillion::preflight::DryRun& forecast)
      : needs_(forecast.analyses.size()), stages_(forecast.analyses.size()) {
    for (size_t a = 0; a < forecast.analyses.size(); ++a) add(forecast.analyses[a], a);
    for (const auto& one : forecast.cut_fields)
      cut_fields_.push_back({one.name.c_str(), one.mesh->name.c_str(), one.made_by.c_str(),
                             pillion::model::name_of(one.field->type), one.field->components,
                             static_cast<pillion_mesh_kind>(one.mesh->kind), one.bytes()});
    const auto& configuration = *forecast.configuration;
    const auto& sidecars = configuration.sidecars;
    outlook_ = {.output = configuration.output.c_str(),
                .run = configuration.run.c_str(),
                .restart = configuration.restart.c_str(),
                .job = pillion::model::name_of(sidecars.job),
                .when_full = pillion::model::name_of(sidecars.when_full),
                .sidecar_ranks = sidecars.ranks,
                .sidecars_per_node = sidecars.per_node,
                .memory = sidecars.memory,
                .simulating = forecast.simulating,
                .analyses = analyses_.data(),
                .crossing = cut_fields_.data(),
                .analysis_count = static_cast<int32_t>(analyses_.size()),
                .crossing_count = static_cast<int32_t>(cut_fields_.size()),
                .bytes = forecast.bytes,
                .bytes_per_rank = forecast.bytes_per_rank()};
  }
  [[nodiscard]] const pillion_outlook& forecast() const { return outlook_; }

 private:
  void add(const pillion::preflight::AnalysisDryRun& one, size_t a) {
    const auto& analysis = *one.analysis;
    every_.push_back(analysis.every.text());
    for (const auto& need : one.needs) needs_[a].push_back(need.c_str());
    for (const auto& stage : analysis.stages)
      stages_[a].push_back({stage.name.c_str(), static_cast<int32_t>(stage.place)});
    analyses_.push_back({.name = analysis.name.c_str(),
                         .every = every_.back().c_str(),
                         .when = analysis.when ? analysis.when->text().c_str() : "",
                         .folder = one.folder.c_str(),
                         .products_every = analysis.products_every,
                         .stage_count = static_cast<int32_t>(stages_[a].size()),
                         .need_count = static_cast<int32_t>(needs_[a].size()),
                         .stages = stages_[a].data(),
                         .needs = needs_[a].data()});
  }

  std::deque<std::string> every_;
  std::vector<std::vector<const char*>> needs_;
  std::vector<std::vector<pillion_stage_outlook>> stages_;
  std::vector<pillion_analysis_outlook> analyses_;
  std::vector<pillion_crossing> cut_fields_;
  pillion_outlook outlook_{};
};

void hand_over(const CheckResult& found, void (*tell)(const pillion_checked*, void*),
               void* context) {
  const auto mistakes = remarks_of(found.mistakes);
  const auto notes = remarks_of(found.notes);
  std::optional<Plain> plain;
  if (found.forecast) plain.emplace(*found.forecast);
  const pillion_checked checked{
      mistakes.data(), notes.data(), static_cast<int32_t>(mistakes.size()),
      static_cast<int32_t>(notes.size()), plain ? &plain->forecast() : nullptr};
  tell(&checked, context);
}

}  // namespace

extern "C" pillion_status pillion_check(const pillion_question* question,
                                        const pillion_options* options,
                                        void (*tell)(const pillion_checked*, void*),
                                        void* context) {
  return pillion::base::guard([&] {
    if (question == nullptr || tell == nullptr)
      pillion::base::fail(pillion::ErrorCode::Argument, "the question or who to tell is NULL");
    hand_over(*pillion::preflight::check(question_of(*question, options)), tell, context);
  });
}
