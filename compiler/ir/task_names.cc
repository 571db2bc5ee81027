#include "blob/extent.h"
#include "blob/names.h"
#include "compiler/ir/task.h"
#include "llvm/ADT/StringMap.h"

namespace firn::task {
namespace {

llvm::StringRef ref(std::string_view text) { return {text.data(), text.size()}; }

llvm::StringRef orUnknown(std::string_view name) { return name.empty() ? llvm::StringRef("?") : ref(name); }

/// Numbers of spaces, symbol kinds and entry kinds are below this.
constexpr uint32_t kNumberLimit = 32;
static_assert(blob::kSymbolKinds <= kNumberLimit);

/// The value whose name, by blob/names.h, is `name`.
template <typename T>
std::optional<T> valueOf(std::string_view (*nameOf)(T), llvm::StringRef name) {
  for (uint32_t number = 0; !name.empty() && number < kNumberLimit; ++number) {
    if (ref(nameOf(static_cast<T>(number))) == name) return static_cast<T>(number);
  }
  return std::nullopt;
}

/// Dims of an operand in a blob.
constexpr unsigned kMaxRank = std::tuple_size_v<decltype(blob::OperandRecord::dims)>;

/// Task op numbers are below this.
constexpr uint16_t kTaskOpLimit = 1024;

llvm::StringMap<blob::TaskOp> makeTaskOps() {
  llvm::StringMap<blob::TaskOp> ops;
  for (uint16_t number = 0; number < kTaskOpLimit; ++number) {
    auto op = static_cast<blob::TaskOp>(number);
    if (auto name = blob::taskOpName(op); !name.empty()) ops[ref(name)] = op;
  }
  return ops;
}

}  // namespace

llvm::StringRef spaceName(blob::Space space) { return orUnknown(blob::spaceName(space)); }
llvm::StringRef symbolName(blob::SymbolKind kind) { return orUnknown(blob::symbolKindName(kind)); }
llvm::StringRef entryKindName(blob::EntryKind kind) { return orUnknown(blob::entryKindName(kind)); }

std::optional<blob::Space> spaceFromName(llvm::StringRef name) { return valueOf(blob::spaceName, name); }
std::optional<blob::SymbolKind> symbolFromName(llvm::StringRef name) { return valueOf(blob::symbolKindName, name); }
std::optional<blob::EntryKind> entryKindFromName(llvm::StringRef name) { return valueOf(blob::entryKindName, name); }

llvm::StringRef dtypeName(DType type) {
  const DTypeInfo* info = dtypeInfo(type);
  return info == nullptr ? llvm::StringRef("?") : ref(info->name);
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
  const auto fits = [](int64_t value) { return value >= 0 && value <= UINT32_MAX; };
  if (dims.size() > kMaxRank || !llvm::all_of(dims, fits) || !llvm::all_of(strides, fits)) return std::nullopt;
  if (layout == blob::Layout::kPanels && !llvm::all_of(strides, [](int64_t stride) { return stride == 0; })) {
    return std::nullopt;
  }
  const llvm::SmallVector<uint32_t, kMaxRank> sizes(dims);
  const llvm::SmallVector<uint32_t, kMaxRank> steps(strides);
  return blob::operandBytes(type, layout, {sizes.data(), sizes.size()}, {steps.data(), steps.size()});
}

}  // namespace firn::task
