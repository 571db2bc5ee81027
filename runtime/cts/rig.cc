#include "runtime/cts/rig.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace firn::runtime::cts {
namespace {

using blob::SymbolKind;

constexpr uint64_t kMargin = 4096;
/// Each symbol has a place of this size in the io buffer, of which it uses the bytes after the first margin.
constexpr uint64_t kPlace = 64 * 1024;
static_assert(kPlace >= 2 * kMargin + 64 * kVocab * sizeof(float));

uint64_t placeOf(SymbolKind kind) { return static_cast<uint32_t>(kind) * kPlace; }

uint64_t largestBytes(SymbolKind kind) {
  switch (kind) {
    case SymbolKind::kIds:
    case SymbolKind::kPositions: return 64 * sizeof(int32_t);
    case SymbolKind::kValid:
    case SymbolKind::kRow0: return sizeof(int32_t);
    case SymbolKind::kMask: return kKvRows;
    case SymbolKind::kHidden: return 64 * kEmbed * sizeof(float);
    case SymbolKind::kLogits: return 16 * kVocab * sizeof(float);
    case SymbolKind::kKv: return 0;
  }
  return 0;
}

}  // namespace

std::vector<int32_t> someIds(uint32_t count, uint32_t first) {
  std::vector<int32_t> ids(count);
  for (uint32_t i = 0; i < count; ++i) ids[i] = static_cast<int32_t>((first + i) * 37 % kVocab);
  return ids;
}

std::vector<uint32_t> bitsOf(std::span<const float> values) {
  std::vector<uint32_t> bits(values.size());
  std::transform(values.begin(), values.end(), bits.begin(), [](float x) { return std::bit_cast<uint32_t>(x); });
  return bits;
}

std::unique_ptr<Rig> Rig::open(const DeviceCase& testCase, const LoadOptions& options) {
  std::unique_ptr<Rig> rig(new Rig());
  const Status status = rig->start(testCase, options);
  if (status.isOk()) return rig;
  ADD_FAILURE() << status.toString();
  return nullptr;
}

Status Rig::start(const DeviceCase& testCase, const LoadOptions& options) {
  FIRN_ASSIGN_OR_RETURN(blob::Blob blob, makeTinyBlob(testCase.program));
  blob_ = std::make_unique<blob::Blob>(std::move(blob));
  FIRN_ASSIGN_OR_RETURN(device_, openDevice(testCase.device, testCase.options));
  FIRN_ASSIGN_OR_RETURN(program_, device_->load(*blob_, options));
  FIRN_ASSIGN_OR_RETURN(kvBuffer_, device_->alloc(blob_->header().kvBytes + 2 * kMargin));
  FIRN_ASSIGN_OR_RETURN(kv_, device_->map(kvBuffer_));
  FIRN_ASSIGN_OR_RETURN(ioBuffer_, device_->alloc(blob::kSymbolKinds * kPlace));
  FIRN_ASSIGN_OR_RETURN(io_, device_->map(ioBuffer_));
  std::fill_n(kv_.begin(), kMargin, kCanary);
  std::fill(kv_.end() - kMargin, kv_.end(), kCanary);
  std::fill(io_.begin(), io_.end(), kCanary);
  return Status::ok();
}

uint32_t Rig::entry(std::string_view name) const {
  const std::optional<uint32_t> found = blob_->findEntry(name);
  EXPECT_TRUE(found.has_value()) << name;
  return found.value_or(0);
}

Bindings Rig::bindings(uint32_t entry) const {
  Bindings bindings{};
  for (const blob::SymbolRecord& symbol : blob_->symbolsOf(blob_->entries()[entry])) {
    SymbolBinding& binding = bindings[static_cast<uint32_t>(symbol.kind)];
    binding.buffer = symbol.kind == SymbolKind::kKv ? kvBuffer_ : ioBuffer_;
    binding.offsetBytes = kMargin + (symbol.kind == SymbolKind::kKv ? 0 : placeOf(symbol.kind));
    binding.bytes = symbol.bytes;
  }
  return bindings;
}

std::span<std::byte> Rig::symbol(SymbolKind kind) { return io_.subspan(placeOf(kind) + kMargin, largestBytes(kind)); }

std::span<int32_t> Rig::ints(SymbolKind kind) {
  const std::span<std::byte> bytes = symbol(kind);
  return {reinterpret_cast<int32_t*>(bytes.data()), bytes.size() / sizeof(int32_t)};
}

void Rig::setInputs(const Tokens& tokens) {
  const auto valid = static_cast<uint32_t>(tokens.ids.size());
  std::ranges::fill(ints(SymbolKind::kIds), 0);
  std::ranges::copy(tokens.ids, ints(SymbolKind::kIds).begin());
  std::ranges::fill(ints(SymbolKind::kPositions), 0);
  for (uint32_t i = 0; i < valid; ++i) ints(SymbolKind::kPositions)[i] = static_cast<int32_t>(tokens.row0 + i);
  ints(SymbolKind::kValid)[0] = static_cast<int32_t>(valid);
  ints(SymbolKind::kRow0)[0] = static_cast<int32_t>(tokens.row0);
  const std::span<std::byte> mask = symbol(SymbolKind::kMask);
  std::ranges::fill(mask, std::byte{0});
  std::fill_n(mask.begin(), std::min<size_t>(tokens.row0 + valid, mask.size()), std::byte{1});
}

Status Rig::run(std::string_view name) {
  const uint32_t index = entry(name);
  FIRN_RETURN_IF_ERROR(device_->bind(program_, index, bindings(index)));
  FIRN_RETURN_IF_ERROR(device_->submit(program_, index));
  return device_->wait();
}

Status Rig::run(std::string_view name, const Tokens& tokens) {
  setInputs(tokens);
  return run(name);
}

Status Rig::generateAll(const Tokens& tokens) {
  for (uint32_t i = 0; i < tokens.ids.size(); ++i) {
    FIRN_RETURN_IF_ERROR(run("generate.128", {.ids = {tokens.ids[i]}, .row0 = tokens.row0 + i}));
  }
  return Status::ok();
}

std::span<float> Rig::logits(uint32_t rows) {
  return {reinterpret_cast<float*>(symbol(SymbolKind::kLogits).data()), size_t{rows} * kVocab};
}

std::span<float> Rig::hidden(uint32_t rows) {
  return {reinterpret_cast<float*>(symbol(SymbolKind::kHidden).data()), size_t{rows} * kEmbed};
}

std::span<std::byte> Rig::cache() { return kv_.subspan(kMargin, kv_.size() - 2 * kMargin); }
std::span<std::byte> Rig::cacheAndMargins() { return kv_; }

bool Rig::marginsIntact() {
  const auto isCanary = [](std::byte b) { return b == kCanary; };
  for (uint32_t i = 0; i < blob::kSymbolKinds; ++i) {
    const std::span<std::byte> place = io_.subspan(i * kPlace, kPlace);
    const uint64_t used = largestBytes(static_cast<SymbolKind>(i));
    if (!std::ranges::all_of(place.first(kMargin), isCanary)) return false;
    if (!std::ranges::all_of(place.subspan(kMargin + used), isCanary)) return false;
  }
  return std::ranges::all_of(kv_.first(kMargin), isCanary) && std::ranges::all_of(kv_.last(kMargin), isCanary);
}

}  // namespace firn::runtime::cts
