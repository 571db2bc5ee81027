// What firn run says about its answers when they are done: JSON, a line for a person, the times of each stage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/session.h"
#include "genai/pipeline.h"
#include "tools/model_source.h"

namespace firn::tools {

/// An answer and where its time went.
struct Answer {
  genai::GenerateResult result;
  engine::StageTimes times;
};
/// To one prompt; at least one, and fewer than were asked for when they were interrupted. What is said of them has the
/// form of those asked for.
using Answers = std::vector<Answer>;

/// The object that `firn run --json` prints; with more than one asked for texts and tokens stand in `choices`.
std::string answersJson(const Answers& answers, uint64_t asked, const OpenModel& open);
/// Tokens and speed in one line.
std::string answersSummary(const Answers& answers, const blob::Blob& blob);
/// explainTimes of each answer; from the second on, the prompt is there already.
std::string answersTimes(const Answers& answers, uint64_t asked, const blob::Blob& blob);

}  // namespace firn::tools
