#include "runtime/cts/rig.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace firn::runtime::cts {
namespace {

using blob::SymbolKind;

constexpr uint64_t kMargin = 4096;  // around every slot and symbol
/// Each symbol has a place of this size in the io buffer, of which it uses the bytes after the first margin.
constexpr uint64_t kPlace = 64 * 1024;
static_assert(kPlace >= 2 * kMargin + 64 * kVocab * sizeof(float));

uint64_t placeOf(SymbolKind kind) { return static_cast<uint32_t>(kind) * kPlace; }

uint64_t largestBytes(SymbolKind kind) {
  switch (kind) {
    case SymbolKind::kIds:
    case SymbolKind::kPositions: return 64 * sizeof(int32_t);
    case SymbolKind::kValid: return sizeof(int32_t);
    case SymbolKind::kRow0: return blob::kMaxBatchRows * sizeof(int32_t);
    case SymbolKind::kMask: return blob::kMaxBatchRows * kKvRows;
    case SymbolKind::kHidden: return 64 * kEmbed * sizeof(float);
    case SymbolKind::kLogits: return 16 * kVocab * sizeof(float);
    case SymbolKind::kTopLogits: return 16 * kTopTokens * sizeof(float);
    case SymbolKind::kTopIds: return 16 * kTopTokens * sizeof(int32_t);
    default: return 0;
  }
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
  FIRN_ASSIGN_OR_RETURN(kvBuffer_, device_->alloc(slotOffset(kSlots)));
  FIRN_ASSIGN_OR_RETURN(kv_, device_->map(kvBuffer_));
  FIRN_ASSIGN_OR_RETURN(ioBuffer_, device_->alloc(blob::kSymbolKinds * kPlace));
  FIRN_ASSIGN_OR_RETURN(io_, device_->map(ioBuffer_));
  std::fill(kv_.begin(), kv_.end(), kCanary);
  for (uint32_t slot = 0; slot < kSlots; ++slot) std::ranges::fill(cache(slot), std::byte{0});
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
    const bool isBatch = blob_->entries()[entry].kind == blob::EntryKind::kBatch;
    const uint32_t row = static_cast<uint32_t>(symbol.kind) - static_cast<uint32_t>(SymbolKind::kKv);
    binding.buffer = blob::isKv(symbol.kind) ? kvBuffer_ : ioBuffer_;
    binding.offsetBytes = blob::isKv(symbol.kind) ? slotOffset(isBatch ? row : slot_) : kMargin + placeOf(symbol.kind);
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

void Rig::setBatch(const std::vector<BatchRow>& rows, uint32_t entryRows, uint32_t context) {
  // Padding is what no check may look at.
  std::ranges::fill(ints(SymbolKind::kIds).first(entryRows), -1);
  std::ranges::fill(ints(SymbolKind::kPositions).first(entryRows), -1);
  std::ranges::fill(ints(SymbolKind::kRow0).first(entryRows), -1);
  std::ranges::fill(mask(), std::byte{0});
  for (uint32_t i = 0; i < rows.size(); ++i) {
    ints(SymbolKind::kIds)[i] = rows[i].id;
    ints(SymbolKind::kPositions)[i] = static_cast<int32_t>(rows[i].row0);
    ints(SymbolKind::kRow0)[i] = static_cast<int32_t>(rows[i].row0);
    std::ranges::fill(mask().subspan(size_t{i} * context, rows[i].row0 + 1), std::byte{1});
  }
  ints(SymbolKind::kValid)[0] = static_cast<int32_t>(rows.size());
}

Status Rig::runBatch(const std::vector<BatchRow>& rows, uint32_t entryRows, uint32_t context) {
  setBatch(rows, entryRows, context);
  const uint32_t index = entry("batch." + std::to_string(entryRows) + "." + std::to_string(context));
  Bindings bound = bindings(index);
  for (uint32_t i = 0; i < entryRows; ++i) {
    SymbolBinding& kv = bound[static_cast<uint32_t>(blob::kvOfRow(i))];
    kv = i < rows.size() ? SymbolBinding{kvBuffer_, slotOffset(rows[i].slot), kv.bytes} : SymbolBinding{};
  }
  FIRN_RETURN_IF_ERROR(device_->bind(program_, index, bound));
  FIRN_RETURN_IF_ERROR(device_->submit(program_, index));
  return device_->wait();
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

std::span<float> Rig::topLogits(uint32_t rows) {
  return {reinterpret_cast<float*>(symbol(SymbolKind::kTopLogits).data()), size_t{rows} * kTopTokens};
}

std::span<int32_t> Rig::topIds(uint32_t rows) { return ints(SymbolKind::kTopIds).first(size_t{rows} * kTopTokens); }

std::span<float> Rig::hidden(uint32_t rows) {
  return {reinterpret_cast<float*>(symbol(SymbolKind::kHidden).data()), size_t{rows} * kEmbed};
}

uint64_t Rig::slotOffset(uint32_t slot) const { return kMargin + slot * (blob_->header().kvBytes + kMargin); }

std::span<std::byte> Rig::cache(uint32_t slot) { return kv_.subspan(slotOffset(slot), blob_->header().kvBytes); }

std::span<std::byte> Rig::cacheRow(uint32_t slot, uint32_t head, uint32_t row) {
  const blob::KvPart part = kvPart(blob_->header().kvType);
  const uint64_t rowBytes = part.rowsBytes / kKvHeads / kKvRows;
  const uint64_t at = (head % kKvHeads * uint64_t{kKvRows} + row) * rowBytes;
  return cache(slot).subspan(head / kKvHeads * part.bytes() + at, rowBytes);
}

std::span<std::byte> Rig::cacheScale(uint32_t slot, uint32_t head, uint32_t row) {
  const blob::KvPart part = kvPart(blob_->header().kvType);
  const uint64_t scaleBytes = part.scalesBytes / kKvHeads / kKvRows;
  const uint64_t at = (head % kKvHeads * uint64_t{kKvRows} + row) * scaleBytes;
  return cache(slot).subspan(head / kKvHeads * part.bytes() + part.rowsBytes + at, scaleBytes);
}

bool Rig::isRowIntact(uint32_t slot, uint32_t row) {
  const auto isCanary = [](std::byte b) { return b == kCanary; };
  for (uint32_t head = 0; head < kCacheHeads; ++head) {
    if (!std::ranges::all_of(cacheRow(slot, head, row), isCanary)) return false;
    if (!std::ranges::all_of(cacheScale(slot, head, row), isCanary)) return false;
  }
  return true;
}

void Rig::poisonCache(uint32_t slot, uint32_t firstRow, float value) {
  const uint16_t half = f32ToF16(value);
  const auto fill = [](std::span<std::byte> bytes, const auto& pattern) {
    for (size_t at = 0; at < bytes.size(); at += sizeof pattern) std::memcpy(&bytes[at], &pattern, sizeof pattern);
  };
  for (uint32_t head = 0; head < kCacheHeads; ++head) {
    for (uint32_t row = firstRow; row < kKvRows; ++row) {
      fill(cacheScale(slot, head, row), value);
      switch (blob_->header().kvType) {
        case DType::kF16: fill(cacheRow(slot, head, row), half); break;
        case DType::kI8: fill(cacheRow(slot, head, row), int8_t{-127}); break;
        default: fill(cacheRow(slot, head, row), value);
      }
    }
  }
}

bool Rig::marginsIntact() {
  const auto isCanary = [](std::byte b) { return b == kCanary; };
  for (uint32_t i = 0; i < blob::kSymbolKinds; ++i) {
    const std::span<std::byte> place = io_.subspan(i * kPlace, kPlace);
    const uint64_t used = largestBytes(static_cast<SymbolKind>(i));
    if (!std::ranges::all_of(place.first(kMargin), isCanary)) return false;
    if (!std::ranges::all_of(place.subspan(kMargin + used), isCanary)) return false;
  }
  for (uint32_t slot = 0; slot <= kSlots; ++slot) {
    const uint64_t end = slotOffset(slot);
    if (!std::ranges::all_of(kv_.subspan(end - kMargin, kMargin), isCanary)) return false;
  }
  return true;
}

}  // namespace firn::runtime::cts
