// A decode step of several sessions at once.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/concat.h"
#include "engine/session.h"
#include "engine/token_ids.h"

namespace firn::engine {
namespace {

using blob::SymbolKind;

Status checkCount(std::span<Session* const> sessions, std::span<const int32_t> ids) {
  if (sessions.empty() || sessions.size() != ids.size()) {
    return invalidArgument(concat("a common step takes one token each of at least one session; found ", sessions.size(),
                                  " sessions and ", ids.size(), " tokens"));
  }
  return Status::ok();
}

Status checkBatch(const Model& model, size_t sessions) {
  const auto& batches = model.variants().batches();
  const size_t most = batches.empty() ? 1 : batches.back();
  if (sessions <= most) return Status::ok();
  return invalidArgument(concat(sessions, " sessions in a common step, the blob has room for ", most,
                                "; compile with --batch for as many"));
}

}  // namespace

Result<std::span<const float>> Session::decodeTogether(std::span<Session* const> sessions,
                                                       std::span<const int32_t> ids) {
  FIRN_RETURN_IF_ERROR(checkCount(sessions, ids));
  if (sessions.size() == 1) return sessions[0]->decode(ids[0]);
  for (size_t i = 0; i < sessions.size(); ++i) {
    if (Status status = sessions[i]->checkMember(sessions.first(i), ids[i]); !status.isOk()) {
      return status.withPlace(concat("session ", i, " of a common step"));
    }
  }
  FIRN_RETURN_IF_ERROR(checkBatch(sessions[0]->model(), sessions.size()));
  uint32_t longest = 0;
  for (size_t i = 0; i < sessions.size(); ++i) {
    if (Status status = sessions[i]->makeRoom(); !status.isOk()) return status.withPlace(concat("session ", i));
    longest = std::max(longest, sessions[i]->position_);
  }
  // A batch of the largest size reaches every row of the cache, and now each session has a free one.
  const Variant& variant =
      *sessions[0]->model_->variants().batchFor(static_cast<uint32_t>(sessions.size()), longest + 1);
  const auto start = std::chrono::steady_clock::now();
  FIRN_RETURN_IF_ERROR(sessions[0]->runTogether(variant, sessions, ids));
  const uint64_t nanoseconds = nanosecondsSince(start);
  for (size_t i = 0; i < sessions.size(); ++i) {
    Session& session = *sessions[i];
    session.mask_[session.position_] = 1;
    session.advance(ids.subspan(i, 1), variant.weightBytes / sessions.size());
    session.hasLogits_ = true;
    session.times_.decodeNanoseconds += nanoseconds;
    ++session.times_.decodeSteps;
  }
  return sessions[0]->io().logits(static_cast<uint32_t>(sessions.size()));
}

Status Session::checkMember(std::span<Session* const> before, int32_t id) const {
  if (std::ranges::find(before, this) != before.end()) {
    return invalidArgument(
        "it is there twice; a session takes one token at a time, so leave the second for another step");
  }
  if (!before.empty() && before[0]->slot_.pool() != slot_.pool()) {
    return invalidArgument(
        "it is of another pool than session 0; create both in one SlotPool, or let them take steps of their own");
  }
  FIRN_RETURN_IF_ERROR(checkIds({&id, 1}, model_->limits().vocab));
  return options_.contextShift || position_ < model_->limits().kvRows ? Status::ok() : fullCache();
}

Status Session::runTogether(const Variant& variant, std::span<Session* const> sessions, std::span<const int32_t> ids) {
  StepIo& io = this->io();
  const uint64_t rows = variant.rows;
  runtime::Bindings bindings{};
  bindings[at(SymbolKind::kIds)] = io.binding(SymbolKind::kIds, rows * sizeof(int32_t));
  bindings[at(SymbolKind::kPositions)] = io.binding(SymbolKind::kPositions, rows * sizeof(int32_t));
  bindings[at(SymbolKind::kValid)] = io.binding(SymbolKind::kValid, sizeof(int32_t));
  bindings[at(SymbolKind::kRow0)] = io.binding(SymbolKind::kRow0, rows * sizeof(int32_t));
  bindings[at(SymbolKind::kMask)] = io.binding(SymbolKind::kMask, rows * variant.context);
  bindings[at(SymbolKind::kHidden)] = io.binding(SymbolKind::kHidden, rows * model_->limits().embed * sizeof(float));
  io.bindLogits(variant.rows, bindings);
  std::memset(io.at<int32_t>(SymbolKind::kIds), 0, rows * sizeof(int32_t));
  std::memset(io.at<int32_t>(SymbolKind::kPositions), 0, rows * sizeof(int32_t));
  std::memset(io.at<int32_t>(SymbolKind::kRow0), 0, rows * sizeof(int32_t));
  *io.at<int32_t>(SymbolKind::kValid) = static_cast<int32_t>(sessions.size());
  for (size_t i = 0; i < sessions.size(); ++i) {
    const Session& session = *sessions[i];
    const uint32_t row = session.position_;
    io.at<int32_t>(SymbolKind::kIds)[i] = ids[i];
    io.at<int32_t>(SymbolKind::kPositions)[i] = static_cast<int32_t>(row);
    io.at<int32_t>(SymbolKind::kRow0)[i] = static_cast<int32_t>(row);
    uint8_t* mask = io.at<uint8_t>(SymbolKind::kMask) + i * variant.context;
    std::memcpy(mask, session.mask_.data(), variant.context);
    mask[row] = 1;
    bindings[at(blob::kvOfRow(static_cast<uint32_t>(i)))] = session.slot_.cacheBinding();
  }
  return submit(variant.entry, bindings);
}

}  // namespace firn::engine
