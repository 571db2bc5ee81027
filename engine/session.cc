#include "engine/session.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include "base/concat.h"
#include "base/page_buffer.h"
#include "base/quote.h"
#include "engine/snapshot.h"
#include "engine/token_ids.h"

namespace firn::engine {
namespace {

using blob::SymbolKind;

/// Rows of a head from this many bytes on are spread over so many pages of 2 MiB that zeroing them all at the first
/// token takes longer than the token: 360 MB for SmolLM2 with 16 K rows. Such a cache has pages of 4 KiB until a prompt
/// fills an eighth of it; from then on huge ones pay: a step over 8000 rows is up to a tenth faster with them.
constexpr uint64_t kSmallPageHeadBytes = 512 << 10;
constexpr uint32_t kHugePageShare = 8;

}  // namespace

Session::Session(KvSlot slot, const SessionOptions& options)
    : model_(slot.pool()->model()),
      options_(options),
      slot_(std::move(slot)),
      cache_(slot_.cache()),
      mask_(slot_.mask()),
      turn_(model_->blob().header().headDim),
      layout_(KvLayout::of(model_->blob().header())) {
  hasSmallPages_ = layout_.rows * layout_.rowBytes >= kSmallPageHeadBytes;
  if (hasSmallPages_) useSmallPages(cache_);
  ids_.reserve(model_->limits().kvRows);
  std::ranges::fill(mask_, uint8_t{0});  // the last owner of the slot may have left rows
}

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<Model> model, const SessionOptions& options) {
  FIRN_ASSIGN_OR_RETURN(const std::shared_ptr<SlotPool> pool, SlotPool::create(std::move(model), 1));
  FIRN_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, create(pool, options));
  session->sharesPool_ = false;
  return session;
}

Result<std::unique_ptr<Session>> Session::create(const std::shared_ptr<SlotPool>& pool, const SessionOptions& options) {
  FIRN_ASSIGN_OR_RETURN(KvSlot slot, pool->take());
  std::unique_ptr<Session> session(new Session(std::move(slot), options));
  FIRN_RETURN_IF_ERROR(session->checkOptions());
  return session;
}

void Session::preparePages(uint32_t rows) {
  if (!hasSmallPages_ || rows < layout_.rows / kHugePageShare) return;
  useHugePages(cache_);
  hasSmallPages_ = false;
}

void Session::adopt(std::span<const int32_t> ids, uint32_t exactTokens) {
  position_ = static_cast<uint32_t>(ids.size());
  exactTokens_ = exactTokens;
  hasLogits_ = false;
  ids_.assign(ids.begin(), ids.end());
  std::fill(std::fill_n(mask_.begin(), position_, uint8_t{1}), mask_.end(), uint8_t{0});
}

Status Session::makeRoom() {
  const uint32_t rows = model_->limits().kvRows;
  if (!options_.contextShift || position_ < rows) return Status::ok();
  return truncate(options_.keepRows, options_.keepRows + rows / 4);
}

Status Session::fullCache() const {
  return resourceExhausted(concat("the cache is full: all ", model_->limits().kvRows,
                                  " rows hold tokens; compile with a larger --min-response-len"));
}

Result<std::span<const float>> Session::decode(int32_t id) {
  FIRN_RETURN_IF_ERROR(checkIds({&id, 1}, model_->limits().vocab));
  FIRN_RETURN_IF_ERROR(makeRoom());
  const Variant* variant = model_->variants().generateFor(position_ + 1);
  if (variant == nullptr) return fullCache();
  const auto start = std::chrono::steady_clock::now();
  FIRN_RETURN_IF_ERROR(runStep({variant, position_, 1, true}, {&id, 1}));
  times_.decodeNanoseconds += nanosecondsSince(start);
  ++times_.decodeSteps;
  return io().logits();
}

size_t Session::best(std::span<ScoredToken> best, uint32_t row) const {
  if (!hasLogits_ || row >= io().logitRows()) return 0;
  const ModelLimits& limits = model_->limits();
  if (best.size() <= limits.topTokens) return bestTokens(io().top(row), limits.vocab, best);
  return bestTokens(io().logits(row + 1).subspan(uint64_t{row} * limits.vocab), best);
}

Status Session::submit(uint32_t entry, const runtime::Bindings& bindings) {
  return model_->devices().run(entry, bindings);
}

Status Session::runStep(const PlanStep& step, std::span<const int32_t> ids) {
  const uint32_t rows = step.variant->rows;
  StepIo& io = this->io();
  auto* idInput = io.at<int32_t>(SymbolKind::kIds);
  auto* positions = io.at<int32_t>(SymbolKind::kPositions);
  std::fill(std::copy(ids.begin(), ids.end(), idInput), idInput + rows, 0);
  for (uint32_t i = 0; i < rows; ++i) positions[i] = i < step.valid ? static_cast<int32_t>(step.row0 + i) : 0;
  *io.at<int32_t>(SymbolKind::kValid) = static_cast<int32_t>(step.valid);
  *io.at<int32_t>(SymbolKind::kRow0) = static_cast<int32_t>(step.row0);
  std::memset(&mask_[step.row0], 1, step.valid);

  runtime::Bindings bindings;
  bindings[at(SymbolKind::kIds)] = io.binding(SymbolKind::kIds, uint64_t{rows} * sizeof(int32_t));
  bindings[at(SymbolKind::kPositions)] = io.binding(SymbolKind::kPositions, uint64_t{rows} * sizeof(int32_t));
  bindings[at(SymbolKind::kValid)] = io.binding(SymbolKind::kValid, sizeof(int32_t));
  bindings[at(SymbolKind::kRow0)] = io.binding(SymbolKind::kRow0, sizeof(int32_t));
  bindings[at(SymbolKind::kMask)] = slot_.maskBinding(step.variant->context);
  bindings[at(SymbolKind::kKv)] = slot_.cacheBinding();
  // Of a cut entry the hidden rows go from part to part.
  bindings[at(SymbolKind::kHidden)] =
      io.binding(SymbolKind::kHidden, uint64_t{rows} * model_->limits().embed * sizeof(float));
  if (step.isGenerate) io.bindLogits(1, bindings);
  if (Status status = submit(step.variant->entry, bindings); !status.isOk()) {
    std::memset(&mask_[step.row0], 0, step.valid);  // rows that were not written stay invisible
    return status;
  }
  advance(ids, step.variant->weightBytes);
  hasLogits_ = step.isGenerate;
  return Status::ok();
}

void Session::advance(std::span<const int32_t> ids, uint64_t weightBytes) {
  const auto rows = static_cast<uint32_t>(ids.size());
  if (exactTokens_ == position_) exactTokens_ += rows;
  position_ += rows;
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  // Each row is written, and each step reads the valid ones.
  times_.bytesMoved += weightBytes + layout_.packedBytes(position_) + layout_.packedBytes(rows);
}

Status Session::runHead(const Variant& head, uint32_t firstRow) {
  const uint64_t rowBytes = uint64_t{model_->limits().embed} * sizeof(float);
  runtime::Bindings bindings;
  bindings[at(SymbolKind::kHidden)] = io().binding(SymbolKind::kHidden, head.rows * rowBytes, firstRow * rowBytes);
  io().bindLogits(head.rows, bindings);
  times_.bytesMoved += head.weightBytes;
  FIRN_RETURN_IF_ERROR(submit(head.entry, bindings));
  hasLogits_ = true;
  return Status::ok();
}

Status Session::rewind(uint32_t tokens) {
  if (tokens > position_) {
    return outOfRange("cannot rewind to " + std::to_string(tokens) + " tokens: the session holds " +
                      std::to_string(position_));
  }
  std::fill(mask_.begin() + tokens, mask_.begin() + position_, uint8_t{0});
  hasLogits_ = hasLogits_ && tokens == position_;
  position_ = tokens;
  exactTokens_ = std::min(exactTokens_, tokens);
  ids_.resize(tokens);
  return Status::ok();
}

Result<std::unique_ptr<Session>> Session::fork() const {
  FIRN_ASSIGN_OR_RETURN(std::unique_ptr<Session> copy,
                        sharesPool_ ? create(slot_.pool(), options_) : create(model_, options_));
  copy->preparePages(position_);
  layout_.copy(cache_, {0, position_}, copy->cache_);
  copy->adopt(ids_, exactTokens_);
  return copy;
}

Status Session::copyPrefix(const Session& from, uint32_t tokens) {
  if (from.model_ != model_) return invalidArgument("rows can only be copied between sessions of one model");
  if (tokens > from.exactTokens_) {
    return outOfRange(
        concat("cannot copy ", tokens, " tokens: the other session has ", from.exactTokens_, " exact ones"));
  }
  const auto ids = std::span<const int32_t>(from.ids_).first(tokens);
  const uint32_t present = commonPrefix(ids, std::span<const int32_t>(ids_).first(exactTokens_));
  if (present == tokens) return rewind(tokens);  // it may be this session
  preparePages(tokens);
  layout_.copy(from.cache_, {present, tokens}, cache_);
  times_.bytesCopied += layout_.packedBytes(tokens - present);
  adopt(ids, tokens);
  return Status::ok();
}

Status Session::save(const std::string& path) const {
  return writeSnapshot(path, {.identity = SnapshotIdentity::of(model_->blob()),
                              .layout = layout_,
                              .ids = ids_,
                              .exactTokens = exactTokens_,
                              .cache = cache_});
}

Status Session::load(const std::string& path) {
  const SnapshotIdentity identity = SnapshotIdentity::of(model_->blob());
  FIRN_ASSIGN_OR_RETURN(const PageBuffer file, readSnapshot(path, identity, layout_));
  const Result<SnapshotView> view = parseSnapshot(file.bytes(), identity, layout_);
  if (!view.isOk()) return view.status().withPlace(printablePath(path));
  const auto tokens = static_cast<uint32_t>(view->ids.size());
  preparePages(tokens);
  layout_.unpack(view->rows, tokens, {0, tokens}, cache_);
  adopt(view->ids, view->exactTokens);
  return Status::ok();
}

}  // namespace firn::engine
