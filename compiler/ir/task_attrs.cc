// Text and checks of the attributes of the task dialect.
#include "compiler/ir/task.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#define GET_ATTRDEF_CLASSES
#include "compiler/ir/task_attrs.cc.inc"

namespace firn::task {
namespace {

void printNumbers(mlir::AsmPrinter& printer, llvm::ArrayRef<int64_t> numbers) {
  printer << '[';
  llvm::interleaveComma(numbers, printer.getStream());
  printer << ']';
}

mlir::ParseResult parseNumbers(mlir::AsmParser& parser, llvm::SmallVectorImpl<int64_t>& numbers) {
  return parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(numbers.emplace_back()); });
}

/// A keyword that `fromName` knows.
template <typename T>
mlir::ParseResult parseNamed(mlir::AsmParser& parser, llvm::StringRef what, T& value,
                             std::optional<T> (*fromName)(llvm::StringRef)) {
  llvm::StringRef name;
  llvm::SMLoc where = parser.getCurrentLocation();
  if (parser.parseKeyword(&name)) return mlir::failure();
  std::optional<T> found = fromName(name);
  if (!found) return parser.emitError(where) << "'" << name << "' is no " << what;
  value = *found;
  return mlir::success();
}

}  // namespace

void OperandAttr::print(mlir::AsmPrinter& printer) const {
  printer << '<' << spaceName(getSpace());
  if (!getBase().empty()) printer << " \"" << getBase() << '"';
  printer << " + " << getOffset() << " : " << dtypeName(getDtype()) << ' ';
  printNumbers(printer, getDims());
  if (getLayout() == blob::Layout::kPanels) {
    printer << " panels";
  } else {
    printer << " strides ";
    printNumbers(printer, getStrides());
  }
  printer << " bytes " << getBytes() << '>';
}

mlir::Attribute OperandAttr::parse(mlir::AsmParser& parser, mlir::Type) {
  blob::Space space{};
  DType dtype{};
  std::string base;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  llvm::SmallVector<int64_t> dims;
  llvm::SmallVector<int64_t> strides;
  if (parser.parseLess() || parseNamed(parser, "memory space", space, &spaceFromName)) return {};
  (void)parser.parseOptionalString(&base);
  if (parser.parsePlus() || parser.parseInteger(offset) || parser.parseColon() ||
      parseNamed(parser, "element type", dtype, &dtypeFromName) || parseNumbers(parser, dims)) {
    return {};
  }
  auto layout = blob::Layout::kStrided;
  if (mlir::succeeded(parser.parseOptionalKeyword("panels"))) {
    layout = blob::Layout::kPanels;
    strides.assign(dims.size(), 0);
  } else if (parser.parseKeyword("strides") || parseNumbers(parser, strides)) {
    return {};
  }
  if (parser.parseKeyword("bytes") || parser.parseInteger(bytes) || parser.parseGreater()) return {};
  return get(parser.getContext(), space, base, offset, dtype, layout, dims, strides, bytes);
}

void ParamAttr::print(mlir::AsmPrinter& printer) const {
  printer << '<' << spaceName(getSpace()) << " \"" << getName() << "\" bytes " << getBytes() << '>';
}

mlir::Attribute ParamAttr::parse(mlir::AsmParser& parser, mlir::Type) {
  blob::Space space{};
  std::string name;
  uint64_t bytes = 0;
  if (parser.parseLess() || parseNamed(parser, "memory space", space, &spaceFromName) || parser.parseString(&name) ||
      parser.parseKeyword("bytes") || parser.parseInteger(bytes) || parser.parseGreater()) {
    return {};
  }
  return get(parser.getContext(), space, name, bytes);
}

void TaskDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/ir/task_attrs.cc.inc"
      >();
}

}  // namespace firn::task
