#include <algorithm>
#include <array>

#include "compiler/ir/task.h"
#include "kernels/quant/panel.h"
#include "llvm/ADT/StringMap.h"

namespace firn::task {
namespace {

template <typename T>
struct Named {
  T value;
  llvm::StringRef name;
};

constexpr std::array kSpaces = {
    Named<blob::Space>{blob::Space::kScratch, "scratch"},
    Named<blob::Space>{blob::Space::kWeights, "weights"},
    Named<blob::Space>{blob::Space::kKv, "kv"},
    Named<blob::Space>{blob::Space::kSymbol, "symbol"},
};
constexpr std::array kSymbols = {
    Named<blob::SymbolKind>{blob::SymbolKind::kIds, "ids"},
    Named<blob::SymbolKind>{blob::SymbolKind::kPositions, "positions"},
    Named<blob::SymbolKind>{blob::SymbolKind::kValid, "valid"},
    Named<blob::SymbolKind>{blob::SymbolKind::kRow0, "row0"},
    Named<blob::SymbolKind>{blob::SymbolKind::kMask, "mask"},
    Named<blob::SymbolKind>{blob::SymbolKind::kHidden, "hidden"},
    Named<blob::SymbolKind>{blob::SymbolKind::kLogits, "logits"},
    Named<blob::SymbolKind>{blob::SymbolKind::kKv, "kv"},
};
constexpr std::array kEntryKinds = {
    Named<blob::EntryKind>{blob::EntryKind::kPrefill, "prefill"},
    Named<blob::EntryKind>{blob::EntryKind::kGenerate, "generate"},
    Named<blob::EntryKind>{blob::EntryKind::kHead, "head"},
};

template <typename T, size_t N>
llvm::StringRef nameOf(const std::array<Named<T>, N>& table, T value) {
  auto row = std::ranges::find(table, value, &Named<T>::value);
  return row == table.end() ? llvm::StringRef("?") : row->name;
}

template <typename T, size_t N>
std::optional<T> valueOf(const std::array<Named<T>, N>& table, llvm::StringRef name) {
  auto row = std::ranges::find(table, name, &Named<T>::name);
  if (row == table.end()) return std::nullopt;
  return row->value;
}

/// Task op numbers are below this; checked by the test of the names.
constexpr uint16_t kTaskOpLimit = 1024;

llvm::StringMap<blob::TaskOp> makeTaskOps() {
  llvm::StringMap<blob::TaskOp> ops;
  for (uint16_t number = 0; number < kTaskOpLimit; ++number) {
    auto op = static_cast<blob::TaskOp>(number);
    if (auto name = blob::taskOpName(op); !name.empty()) ops[llvm::StringRef(name.data(), name.size())] = op;
  }
  return ops;
}

}  // namespace

llvm::StringRef spaceName(blob::Space space) { return nameOf(kSpaces, space); }
std::optional<blob::Space> spaceFromName(llvm::StringRef name) { return valueOf(kSpaces, name); }
llvm::StringRef symbolName(blob::SymbolKind kind) { return nameOf(kSymbols, kind); }
std::optional<blob::SymbolKind> symbolFromName(llvm::StringRef name) { return valueOf(kSymbols, name); }
llvm::StringRef entryKindName(blob::EntryKind kind) { return nameOf(kEntryKinds, kind); }
std::optional<blob::EntryKind> entryKindFromName(llvm::StringRef name) { return valueOf(kEntryKinds, name); }

llvm::StringRef dtypeName(DType type) {
  const DTypeInfo* info = dtypeInfo(type);
  return info == nullptr ? llvm::StringRef("?") : llvm::StringRef(info->name.data(), info->name.size());
}

std::optional<DType> dtypeFromName(llvm::StringRef name) {
  for (unsigned number = 0; number < 256; ++number) {
    const DTypeInfo* info = dtypeInfo(static_cast<DType>(number));
    if (info != nullptr && info->name == std::string_view(name)) return info->type;
  }
  return std::nullopt;
}

std::optional<blob::TaskOp> taskOpFromName(llvm::StringRef name) {
  static const llvm::StringMap<blob::TaskOp> ops = makeTaskOps();
  auto it = ops.find(name);
  if (it == ops.end()) return std::nullopt;
  return it->second;
}

std::optional<uint64_t> operandExtent(DType type, blob::Layout layout, llvm::ArrayRef<int64_t> dims,
                                      llvm::ArrayRef<int64_t> strides) {
  if (dims.size() > 4 || std::ranges::any_of(dims, [](int64_t dim) { return dim <= 0 || dim > UINT32_MAX; })) {
    return std::nullopt;
  }
  if (layout == blob::Layout::kPanels) {
    if (dims.size() != 2 || std::ranges::any_of(strides, [](int64_t stride) { return stride != 0; })) {
      return std::nullopt;
    }
    return quant::packedBytes(type, static_cast<uint64_t>(dims[0]), static_cast<uint64_t>(dims[1]));
  }
  if (strides.size() != dims.size()) return std::nullopt;
  const DTypeInfo* info = dtypeInfo(type);
  if (info == nullptr) return std::nullopt;
  // dims and strides are below 2^32, so a product fits; a sum of four may not.
  unsigned __int128 last = 0;
  for (auto [dim, stride] : llvm::zip(dims, strides)) {
    if (stride < 0 || stride > UINT32_MAX) return std::nullopt;
    last += static_cast<unsigned __int128>(dim - 1) * static_cast<uint64_t>(stride);
  }
  if (last > UINT64_MAX / 8) return std::nullopt;
  auto elements = static_cast<uint64_t>(last) + 1;
  // Rows of quantized types are whole blocks.
  elements = (elements + info->blockElements - 1) / info->blockElements * info->blockElements;
  return dtypeBytes(type, elements);
}

}  // namespace firn::task
