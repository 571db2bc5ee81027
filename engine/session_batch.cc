// A decode step of several sessions at once.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/concat.h"
#include "engine/session.h"

namespace firn::engine {
namespace {

using blob::SymbolKind;

constexpr size_t at(SymbolKind kind) { return static_cast<size_t>(kind); }

Status checkMembers(std::span<Session* const> sessions, std::span<const int32_t> ids) {
  if (sessions.empty() || sessions.size() != ids.size()) {
    return invalidArgument(concat("a common step takes one token each of at least one session; found ", sessions.size(),
                                  " sessions and ", ids.size(), " tokens"));
  }
  const auto& batches = sessions[0]->model().variants().batches();
  const size_t most = batches.empty() ? 1 : batches.back();
  if (sessions.size() > most) {
    return invalidArgument(concat(sessions.size(), " sessions in a common step, the blob has room for ", most,
                                  "; compile with a larger --batch"));
  }
  return Status::ok();
}

}  // namespace

Result<std::span<const float>> Session::decodeTogether(std::span<Session* const> sessions,
                                                       std::span<const int32_t> ids) {
  FIRN_RETURN_IF_ERROR(checkMembers(sessions, ids));
  if (sessions.size() == 1) return sessions[0]->decode(ids[0]);
  uint32_t longest = 0;
  for (size_t i = 0; i < sessions.size(); ++i) {
    Session& session = *sessions[i];
    if (session.slot_.pool() != sessions[0]->slot_.pool() || std::ranges::count(sessions, &session) != 1) {
      return invalidArgument(concat("session ", i, " of a common step is there twice, or is of another pool"));
    }
    if (Status status = session.checkIds(ids.subspan(i, 1)); !status.isOk())
      return status.withPlace(concat("session ", i));
    if (Status status = session.makeRoom(); !status.isOk()) return status.withPlace(concat("session ", i));
    if (session.position_ == session.model_->limits().kvRows)
      return session.fullCache().withPlace(concat("session ", i));
    longest = std::max(longest, session.position_);
  }
  const VariantTable& variants = sessions[0]->model_->variants();
  const Variant* variant = variants.batchFor(static_cast<uint32_t>(sessions.size()), longest + 1);
  if (variant == nullptr) return corrupt("the blob has no batch for its whole cache");
  const auto start = std::chrono::steady_clock::now();
  FIRN_RETURN_IF_ERROR(sessions[0]->runTogether(*variant, sessions, ids));
  const auto nanoseconds =
      static_cast<uint64_t>((std::chrono::steady_clock::now() - start) / std::chrono::nanoseconds(1));
  for (size_t i = 0; i < sessions.size(); ++i) {
    Session& session = *sessions[i];
    session.mask_[session.position_] = 1;
    session.advance(ids.subspan(i, 1), variant->weightBytes / sessions.size());
    session.times_.decodeNanoseconds += nanoseconds;
    ++session.times_.decodeSteps;
  }
  return sessions[0]->io().logits(static_cast<uint32_t>(sessions.size()));
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
  bindings[at(SymbolKind::kLogits)] = io.binding(SymbolKind::kLogits, io.logits(variant.rows).size_bytes());
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
