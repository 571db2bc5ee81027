// Weights, states, functions and calls: parsing, printing and verifiers. Tensor ops are in graph_verify.cc.
#include <string>

#include "base/dtype.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/graph_constraint.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionImplementation.h"

#define GET_OP_CLASSES
#include "compiler/ir/graph_ops.cc.inc"

namespace firn::graph {
namespace {

/// Checks a type that a symbol declares: known elements, positive static dims, whole blocks in a row.
llvm::LogicalResult verifyWeightType(mlir::Operation* op, llvm::StringRef labelPrefix, mlir::Type type) {
  auto tensor = llvm::cast<mlir::RankedTensorType>(type);
  std::optional<DType> dtype = elementDType(tensor.getElementType());
  if (!dtype || tensor.getRank() < 1 || tensor.getRank() > 2 || !tensor.hasStaticShape() ||
      llvm::any_of(tensor.getShape(), [](int64_t dim) { return dim < 1; })) {
    return violates(op, labelPrefix + "_c1")
           << "found " << tensor << ", expected 1 or 2 static positive dims of a known element type";
  }
  const DTypeInfo* info = dtypeInfo(*dtype);
  if (tensor.getShape().back() % info->blockElements != 0) {
    return violates(op, labelPrefix + "_c2") << "found " << tensor << ", expected rows of whole blocks of "
                                             << info->blockElements << " elements for " << std::string(info->name);
  }
  return mlir::success();
}

bool isMaskOfAnyLength(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return tensor && tensor.getRank() >= 1 && tensor.isDynamicDim(tensor.getRank() - 1);
}

}  // namespace

mlir::LogicalResult WeightOp::verify() {
  if (mlir::failed(verifyWeightType(*this, "graph.weight", getType()))) return mlir::failure();
  if (getFile().has_value() == getValue().has_value()) {
    return violates(*this, "graph.weight_c3")
           << "found " << (getFile() ? "both" : "neither") << " of file and value, expected exactly one";
  }
  if (getValue() && getValue()->getType() != getType()) {
    return violates(*this, "graph.weight_c4")
           << "found a value of type " << getValue()->getType() << ", expected " << getType();
  }
  if (getValue()) {
    auto numbers = getValue()->tryGetValues<llvm::APFloat>();
    if (numbers && !llvm::all_of(*numbers, [](const llvm::APFloat& one) { return one.isFinite(); })) {
      return violates(*this, "graph.weight_c5") << "found " << *getValue() << ", expected finite numbers";
    }
  }
  return mlir::success();
}

mlir::LogicalResult ParamOp::verify() { return verifyWeightType(*this, "graph.param", getType()); }

mlir::LogicalResult StateOp::verify() {
  auto tensor = llvm::cast<mlir::RankedTensorType>(getType());
  if (tensor.getRank() != 3 || !tensor.getElementType().isF32() || tensor.isDynamicDim(0) || tensor.isDynamicDim(2)) {
    return violates(*this, "graph.state_c1")
           << "found " << tensor << ", expected tensor<kv_heads x T x head_dim x f32> where only T may be dynamic";
  }
  return mlir::success();
}

mlir::BlockArgument FuncOp::findArgument(llvm::StringRef name) {
  for (auto [index, attribute] : llvm::enumerate(getArgNames())) {
    if (llvm::cast<mlir::StringAttr>(attribute).getValue() == name) return getBody().getArgument(index);
  }
  return nullptr;
}

llvm::StringRef FuncOp::argumentName(unsigned index) {
  return llvm::cast<mlir::StringAttr>(getArgNames()[index]).getValue();
}

void FuncOp::getAsmBlockArgumentNames(mlir::Region& region, mlir::OpAsmSetValueNameFn setName) {
  if (region.empty() || getArgNames().size() != region.getNumArguments()) return;
  for (mlir::BlockArgument argument : region.getArguments()) setName(argument, argumentName(argument.getArgNumber()));
}

mlir::ParseResult FuncOp::parse(mlir::OpAsmParser& parser, mlir::OperationState& result) {
  mlir::Builder& builder = parser.getBuilder();
  (void)mlir::impl::parseOptionalVisibilityKeyword(parser, result.attributes);
  mlir::StringAttr name;
  llvm::SmallVector<mlir::OpAsmParser::Argument> arguments;
  llvm::SmallVector<mlir::Type> resultTypes;
  llvm::SmallVector<mlir::DictionaryAttr> resultAttrs;
  bool isVariadic = false;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name), result.attributes) ||
      mlir::function_interface_impl::parseFunctionSignature(parser, /*allowVariadic=*/false, arguments, isVariadic,
                                                            resultTypes, resultAttrs) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes)) {
    return mlir::failure();
  }
  llvm::SmallVector<mlir::Type> argumentTypes;
  llvm::SmallVector<llvm::StringRef> names;
  for (const mlir::OpAsmParser::Argument& argument : arguments) {
    argumentTypes.push_back(argument.type);
    names.push_back(argument.ssaName.name.drop_front());
  }
  result.addAttribute(getFunctionTypeAttrName(result.name),
                      mlir::TypeAttr::get(builder.getFunctionType(argumentTypes, resultTypes)));
  result.addAttribute(getArgNamesAttrName(result.name), builder.getStrArrayAttr(names));
  return parser.parseRegion(*result.addRegion(), arguments);
}

void FuncOp::print(mlir::OpAsmPrinter& printer) {
  printer << ' ';
  if (isPrivate()) printer << "private ";
  printer.printSymbolName(getSymName());
  mlir::function_interface_impl::printFunctionSignature(printer, *this, getArgumentTypes(), /*isVariadic=*/false,
                                                        getResultTypes());
  mlir::function_interface_impl::printFunctionAttributes(
      printer, *this, {getArgNamesAttrName(), getFunctionTypeAttrName(), getSymVisibilityAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

mlir::LogicalResult FuncOp::verify() {
  if (getArgNames().size() != getArgumentTypes().size()) {
    return violates(*this, "graph.func_c1")
           << "found " << getArgNames().size() << " argument names, expected " << getArgumentTypes().size();
  }
  llvm::SmallDenseSet<mlir::Attribute, 16> seen;
  for (mlir::Attribute name : getArgNames()) {
    if (!seen.insert(name).second) {
      return violates(*this, "graph.func_c2") << "two arguments are named " << name << ", expected distinct names";
    }
  }
  for (mlir::Type type : getArgumentTypes()) {
    if (llvm::isa<mlir::RankedTensorType>(type)) continue;
    return violates(*this, "graph.func_c3") << "found an argument of type " << type << ", expected ranked tensors";
  }
  if (getBody().empty() ||
      !llvm::isa_and_nonnull<ReturnOp>(getBody().front().empty() ? nullptr : &getBody().front().back())) {
    return violates(*this, "graph.func_c4") << "expected a body that ends in graph.return";
  }
  mlir::BlockArgument mask = findArgument(kMaskArg);
  const bool hasParams = !getBody().getOps<ParamOp>().empty();
  if (hasParams && mask && !isMaskOfAnyLength(mask.getType())) {
    return violates(*this, "graph.func_c5")
           << "the mask of a body is " << mask.getType()
           << ", expected tensor<?xi8>, or one a row: all contexts of a chunk share the body";
  }
  if (hasParams && !isPrivate()) {
    return violates(*this, "graph.func_c6") << "found graph.param in a public function, expected a private one";
  }
  return mlir::success();
}

mlir::LogicalResult ReturnOp::verify() {
  auto func = llvm::cast<FuncOp>((*this)->getParentOp());
  if (llvm::to_vector(getOperandTypes()) != llvm::to_vector(func.getResultTypes())) {
    return violates(*this, "graph.return_c1") << "found types (" << getOperandTypes() << "), expected ("
                                              << func.getResultTypes() << ") as @" << func.getSymName() << " declares";
  }
  return mlir::success();
}

mlir::LogicalResult CallOp::verifySymbolUses(mlir::SymbolTableCollection& tables) {
  auto module = (*this)->getParentOfType<mlir::ModuleOp>();
  auto callee = module ? llvm::dyn_cast_or_null<FuncOp>(tables.lookupSymbolIn(module, getCalleeAttr())) : FuncOp();
  if (!callee || !callee.isPrivate()) {
    return violates(*this, "graph.call_c1") << "found " << getCalleeAttr() << ", expected a private graph.func";
  }
  mlir::FunctionType type = callee.getFunctionType();
  const bool argumentsFit =
      type.getNumInputs() == getArgs().size() && llvm::all_of(llvm::zip(type.getInputs(), getArgs()), [](auto pair) {
        return tensorsFit(std::get<0>(pair), std::get<1>(pair).getType());
      });
  if (!argumentsFit) {
    return violates(*this, "graph.call_c2")
           << "found arguments (" << getArgs().getTypes() << "), expected (" << type.getInputs() << ")";
  }
  if (llvm::to_vector(type.getResults()) != llvm::to_vector(getResultTypes())) {
    return violates(*this, "graph.call_c3")
           << "found results (" << getResultTypes() << "), expected (" << type.getResults() << ")";
  }
  size_t params = 0;
  for (ParamOp param : callee.getBody().getOps<ParamOp>()) {
    ++params;
    auto actual = getBind().getAs<mlir::FlatSymbolRefAttr>(param.getSymName());
    mlir::RankedTensorType bound = actual ? weightType(*this, actual, tables) : nullptr;
    if (bound != param.getType()) {
      return violates(*this, "graph.call_c4")
             << "param @" << param.getSymName() << " is bound to " << actual << " of type " << bound
             << ", expected a weight of type " << param.getType();
    }
  }
  if (params != getBind().size()) {
    return violates(*this, "graph.call_c5") << "found " << getBind().size() << " bound weights, expected the " << params
                                            << " params of " << getCalleeAttr();
  }
  return mlir::success();
}

}  // namespace firn::graph
