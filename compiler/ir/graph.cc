#include "compiler/ir/graph.h"

#include "blob/names.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"

// clang-format off
#include "compiler/ir/graph_dialect.cc.inc"
#include "compiler/ir/graph_enums.cc.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/ir/graph_types.cc.inc"
// clang-format on

namespace firn::graph {

void GraphDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/ir/graph_types.cc.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/ir/graph_ops.cc.inc"
      >();
}

llvm::LogicalResult GraphDialect::verifyOperationAttribute(mlir::Operation* op, mlir::NamedAttribute attribute) {
  llvm::StringRef name = attribute.getName();
  if (name == kModelAttr && !modelCard(op)) {
    return op->emitError(
        "graph.model_c1: graph.model needs architecture (string) and embed, heads, kv_heads, "
        "head_dim, ffn, vocab, layers (positive i32) on the module");
  }
  if (name == kEntryAttr) {
    auto func = llvm::dyn_cast<FuncOp>(op);
    if (!func || !entryOf(func)) {
      return op->emitError(
          "graph.entry_c1: graph.entry needs kind (prefill, generate, head or batch), rows (1 or more) and "
          "context (0 for a head, else at least rows) on a graph.func; part, if any, is below parts");
    }
  }
  return llvm::success();
}

std::optional<DType> elementDType(mlir::Type element) {
  return llvm::TypeSwitch<mlir::Type, std::optional<DType>>(element)
      .Case<mlir::Float32Type>([](auto) { return DType::kF32; })
      .Case<mlir::Float16Type>([](auto) { return DType::kF16; })
      .Case<mlir::BFloat16Type>([](auto) { return DType::kBf16; })
      .Case<Q4_0Type>([](auto) { return DType::kQ4_0; })
      .Case<Q4_1Type>([](auto) { return DType::kQ4_1; })
      .Case<Q8_0Type>([](auto) { return DType::kQ8_0; })
      .Case<Q5_0Type>([](auto) { return DType::kQ5_0; })
      .Case<Q5_1Type>([](auto) { return DType::kQ5_1; })
      .Case<Q4_KType>([](auto) { return DType::kQ4_K; })
      .Case<Q5_KType>([](auto) { return DType::kQ5_K; })
      .Case<Q6_KType>([](auto) { return DType::kQ6_K; })
      .Case<mlir::IntegerType>([](mlir::IntegerType integer) -> std::optional<DType> {
        if (integer.isInteger(32)) return DType::kI32;
        if (integer.isInteger(8)) return DType::kI8;
        return std::nullopt;
      })
      .Default([](mlir::Type) { return std::nullopt; });
}

mlir::Type elementType(mlir::MLIRContext& context, DType type) {
  switch (type) {
    case DType::kF32: return mlir::Float32Type::get(&context);
    case DType::kF16: return mlir::Float16Type::get(&context);
    case DType::kBf16: return mlir::BFloat16Type::get(&context);
    case DType::kI32: return mlir::IntegerType::get(&context, 32);
    case DType::kI8: return mlir::IntegerType::get(&context, 8);
    case DType::kQ4_0: return Q4_0Type::get(&context);
    case DType::kQ4_1: return Q4_1Type::get(&context);
    case DType::kQ8_0: return Q8_0Type::get(&context);
    case DType::kQ5_0: return Q5_0Type::get(&context);
    case DType::kQ5_1: return Q5_1Type::get(&context);
    case DType::kQ4_K: return Q4_KType::get(&context);
    case DType::kQ5_K: return Q5_KType::get(&context);
    case DType::kQ6_K: return Q6_KType::get(&context);
    default: return nullptr;
  }
}

mlir::Operation* findWeight(mlir::Operation* user, mlir::FlatSymbolRefAttr symbol,
                            mlir::SymbolTableCollection& tables) {
  if (auto func = user->getParentOfType<FuncOp>()) {
    mlir::Operation* found = tables.lookupSymbolIn(func, symbol);
    if (llvm::isa_and_nonnull<ParamOp>(found)) return found;
  }
  auto module = user->getParentOfType<mlir::ModuleOp>();
  if (!module) return nullptr;
  mlir::Operation* found = tables.lookupSymbolIn(module, symbol);
  return llvm::isa_and_nonnull<WeightOp>(found) ? found : nullptr;
}

mlir::RankedTensorType weightType(mlir::Operation* user, mlir::FlatSymbolRefAttr symbol,
                                  mlir::SymbolTableCollection& tables) {
  mlir::Operation* weight = findWeight(user, symbol, tables);
  if (weight == nullptr) return nullptr;
  mlir::Type type =
      llvm::isa<ParamOp>(weight) ? llvm::cast<ParamOp>(weight).getType() : llvm::cast<WeightOp>(weight).getType();
  return llvm::dyn_cast<mlir::RankedTensorType>(type);
}

std::string entryName(const Entry& entry) {
  blob::EntryRecord record{};
  record.kind = entry.kind;
  record.rows = static_cast<uint32_t>(entry.rows);
  record.context = static_cast<uint32_t>(entry.context);
  record.part = static_cast<uint16_t>(entry.part);
  record.parts = static_cast<uint16_t>(entry.parts);
  return blob::entryName(record);
}

std::optional<Entry> entryOf(FuncOp func) {
  auto dictionary = func->getAttrOfType<mlir::DictionaryAttr>(kEntryAttr);
  if (!dictionary) return std::nullopt;
  auto kind = dictionary.getAs<mlir::StringAttr>("kind");
  auto rows = dictionary.getAs<mlir::IntegerAttr>("rows");
  auto context = dictionary.getAs<mlir::IntegerAttr>("context");
  if (!kind || !rows || !context) return std::nullopt;
  Entry entry{.rows = rows.getInt(), .context = context.getInt()};
  bool known = false;
  for (EntryKind candidate : {EntryKind::kPrefill, EntryKind::kGenerate, EntryKind::kHead, EntryKind::kBatch}) {
    if (std::string_view(kind.getValue()) != blob::entryKindName(candidate)) continue;
    entry.kind = candidate;
    known = true;
  }
  const bool contextFits = entry.kind == EntryKind::kHead ? entry.context == 0 : entry.context >= entry.rows;
  if (auto part = dictionary.getAs<mlir::IntegerAttr>("part")) entry.part = part.getInt();
  if (auto parts = dictionary.getAs<mlir::IntegerAttr>("parts")) entry.parts = parts.getInt();
  const bool partFits = entry.part >= 0 && entry.part < entry.parts && entry.parts <= UINT16_MAX;
  if (!known || entry.rows < 1 || !contextFits || !partFits) return std::nullopt;
  return entry;
}

mlir::DictionaryAttr entryAttr(mlir::MLIRContext& context, const Entry& entry) {
  mlir::Builder builder(&context);
  const auto number = [&](llvm::StringRef key, int64_t value) {
    return builder.getNamedAttr(key, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  };
  llvm::SmallVector<mlir::NamedAttribute> attrs = {
      builder.getNamedAttr("kind", builder.getStringAttr(blob::entryKindName(entry.kind))),
      number("rows", entry.rows),
      number("context", entry.context),
  };
  if (entry.parts > 1) attrs.append({number("part", entry.part), number("parts", entry.parts)});
  return builder.getDictionaryAttr(attrs);
}

std::optional<ModelCard> modelCard(mlir::Operation* module) {
  auto dictionary = module->getAttrOfType<mlir::DictionaryAttr>(kModelAttr);
  if (!dictionary) return std::nullopt;
  auto architecture = dictionary.getAs<mlir::StringAttr>("architecture");
  if (!architecture) return std::nullopt;
  ModelCard card{.architecture = architecture.getValue()};
  const std::pair<llvm::StringLiteral, int64_t*> numbers[] = {
      {"embed", &card.embed}, {"heads", &card.heads}, {"kv_heads", &card.kvHeads}, {"head_dim", &card.headDim},
      {"ffn", &card.ffn},     {"vocab", &card.vocab}, {"layers", &card.layers},
  };
  for (const auto& [key, target] : numbers) {
    auto number = dictionary.getAs<mlir::IntegerAttr>(key);
    if (!number || !number.getType().isInteger(32) || number.getInt() < 1) return std::nullopt;
    *target = number.getInt();
  }
  return card;
}

}  // namespace firn::graph
