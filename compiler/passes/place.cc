// Phase "place": passes.h. Each op of an entry that is no call, and each call of a layer, is asked to run somewhere: by
// --place, else by --prefill-device or --decode-device, else by --device. Neighbours that end up on one target are one
// function; a range of layers of --place is always a function of its own.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "blob/names.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/cut.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/place_reason.h"
#include "compiler/placement.h"
#include "compiler/target/targets.h"
#include "llvm/ADT/StringExtras.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace firn::passes {
namespace {

using compiler::PlaceRange;
using graph::FuncOp;
using target::Target;

bool isTensorOp(mlir::Operation* op) { return !llvm::isa<graph::ParamOp, graph::CallOp, graph::ReturnOp>(op); }

/// The targets that can run `op`, for messages.
std::string capableTargets(mlir::Operation* op) {
  std::string names;
  for (const Target* target : target::allTargets()) {
    if (target->whyNot(op).empty()) names += (names.empty() ? "" : ", ") + target->name().str();
  }
  return names.empty() ? "none" : names;
}

/// The reason that stands on a body: which kinds of ops it has.
std::string kernelsOf(const Target& target, llvm::ArrayRef<mlir::Operation*> ops) {
  std::set<std::string> kinds;
  for (mlir::Operation* op : ops) {
    if (isTensorOp(op)) kinds.insert(op->getName().stripDialect().str());
  }
  return "target " + target.name().str() +
         " has a kernel for each op here: " + (kinds.empty() ? "none" : llvm::join(kinds, ", "));
}

llvm::SmallVector<mlir::Operation*> opsOf(FuncOp func) {
  llvm::SmallVector<mlir::Operation*> ops;
  for (mlir::Operation& op : func.getBody().front()) ops.push_back(&op);
  return ops;
}

/// Where something is to run.
struct Wish {
  const Target* target = nullptr;
  const PlaceRange* range = nullptr;              ///< of --place, if one names it
  std::string option = {};                        ///< that says so; empty where that target refused
  std::optional<Refusal> refusal = std::nullopt;  ///< why it is not where it was asked to run
};

/// A call, or the ops between two calls.
struct Unit {
  llvm::SmallVector<mlir::Operation*> ops;
  Wish wish;
  int64_t layer = kOutsideLayers;
};

/// What a target refused, and who runs it: said once for all layers, whose chunk sizes have a body each.
struct Warning {
  mlir::Location location;  ///< of the first
  std::set<int64_t> layers;
};

class Placer {
 public:
  Placer(mlir::ModuleOp module, const PlaceOptions& options) : module_(module), options_(options) {}

  mlir::LogicalResult run() {
    llvm::SmallVector<FuncOp> entries;
    llvm::SmallVector<FuncOp> others;
    for (auto func : module_.getOps<FuncOp>()) (graph::entryOf(func) ? entries : others).push_back(func);
    for (FuncOp entry : entries) {
      if (mlir::failed(placeEntry(entry))) return mlir::failure();
    }
    isBatch_ = false;
    for (FuncOp func : others) {
      if (func->hasAttr(graph::kDeviceAttr)) continue;  // an entry calls it
      Unit unit = {opsOf(func), wishOfDevice()};
      if (mlir::failed(settle(unit, func))) return mlir::failure();
      annotate(func, *unit.wish.target);
    }
    for (const auto& [what, warning] : warnings_) {
      const auto& [refusal, able] = what;
      mlir::emitWarning(warning.location)
          << "graph.place_c2: target " << refusal.target << " cannot run " << refusal.op << " "
          << whereText(warning.layers) << ": " << refusal.why << "; it runs on " << able;
    }
    return mlir::success();
  }

 private:
  Wish wishOf(llvm::StringRef name, std::string option) const {
    return {target::findTarget(name), nullptr, std::move(option)};
  }

  Wish wishOfDevice() const { return wishOf(options_.target, "--device " + options_.target); }

  /// What holds for an entry where no place is named.
  Wish wishOfEntry(const graph::Entry& entry) const {
    const bool isPrefill = entry.kind == graph::EntryKind::kPrefill;
    const std::string& name = isPrefill ? options_.prefillTarget : options_.decodeTarget;
    if (name.empty()) return wishOfDevice();
    return wishOf(name, (isPrefill ? "--prefill-device " : "--decode-device ") + name);
  }

  Wish wishOfRange(const PlaceRange& range) const {
    return {target::findTarget(range.target), &range, "--place " + range.text};
  }

  Wish wishOfLayer(int64_t layer, const Wish& otherwise) const {
    for (const PlaceRange& range : options_.places) {
      if (!range.isHead && layer >= range.first && layer < range.end) return wishOfRange(range);
    }
    return otherwise;
  }

  Wish wishOfHead(const Wish& otherwise) const {
    for (const PlaceRange& range : options_.places) {
      if (range.isHead) return wishOfRange(range);
    }
    return otherwise;
  }

  FuncOp calleeOf(graph::CallOp call) {
    return tables_.lookupSymbolIn<FuncOp>(module_, call.getCalleeAttr().getAttr());
  }

  /// Moves `unit`, which stands in `func`, to a target that has a kernel for each of its ops, with the reason. Fails
  /// when none has.
  mlir::LogicalResult settle(Unit& unit, FuncOp func) {
    const auto whyNot = [&](const Target& target) -> std::pair<mlir::Operation*, std::string> {
      if (isBatch_ && !target.whyNoBatch.empty()) return {unit.ops.front(), target.whyNoBatch.str()};
      for (mlir::Operation* op : unit.ops) {
        auto call = llvm::dyn_cast<graph::CallOp>(op);
        for (mlir::Operation* inner : call ? opsOf(calleeOf(call)) : llvm::SmallVector<mlir::Operation*>{op}) {
          if (!isTensorOp(inner)) continue;
          if (std::string why = target.whyNot(inner); !why.empty()) return {inner, why};
        }
      }
      return {};
    };
    const Target& asked = *unit.wish.target;
    const auto [op, why] = whyNot(asked);
    if (op == nullptr) return mlir::success();
    llvm::SmallVector<const Target*> candidates = {target::findTarget(options_.target)};
    llvm::append_range(candidates, target::allTargets());
    auto able = llvm::find_if(candidates, [&](const Target* target) { return whyNot(*target).first == nullptr; });
    const bool isForBatch = isBatch_ && why == asked.whyNoBatch;
    const Refusal refusal = {asked.name().str(), isForBatch ? "a batch" : op->getName().getStringRef().str(), why};
    if (able == candidates.end()) {
      return op->emitOpError() << "graph.place_c2: target " << refusal.target << " cannot run " << refusal.op << " "
                               << whereText({unit.layer}) << " (@" << func.getSymName() << "): " << why
                               << "; targets that can: " << capableTargets(op);
    }
    warnings_.try_emplace({refusal, (*able)->name().str()}, Warning{op->getLoc(), {}})
        .first->second.layers.insert(unit.layer);
    unit.wish = {*able, nullptr, "", refusal};
    return mlir::success();
  }

  mlir::LogicalResult placeEntry(FuncOp func) {
    const graph::Entry entry = *graph::entryOf(func);
    isBatch_ = entry.kind == graph::EntryKind::kBatch;
    llvm::SmallVector<Unit> units;
    if (mlir::failed(findUnits(func, wishOfEntry(entry), units))) return mlir::failure();
    llvm::SmallVector<Part> parts;
    llvm::SmallVector<PlaceReason> reasons;  // of the parts
    const Unit* last = nullptr;
    for (Unit& unit : units) {
      auto call = llvm::dyn_cast<graph::CallOp>(unit.ops.front());
      if (call) bindBody(call, *unit.wish.target);
      // Ops outside the layers join whoever shares their target; layers only those of their own range.
      const bool joins = last != nullptr && last->wish.target == unit.wish.target &&
                         (last->wish.range == unit.wish.range || !call || !llvm::isa<graph::CallOp>(last->ops.front()));
      if (!joins) {
        parts.push_back({{}, unit.wish.target->name().str(), ""});
        reasons.emplace_back();
      }
      parts.back().ops.append(unit.ops);
      reasons.back().addOption(unit.wish.option);
      if (unit.wish.refusal) reasons.back().addRefusal(*unit.wish.refusal, unit.layer);
      last = &unit;
    }
    if (parts.empty()) {  // it gives back what it is given
      const Wish wish = wishOfEntry(entry);
      parts.push_back({{}, wish.target->name().str(), ""});
      reasons.emplace_back().addOption(wish.option);
    }
    for (auto [part, reason] : llvm::zip(parts, reasons)) part.reason = reason.text();
    if (parts.size() > 1) return cutEntry(func, parts);
    mlir::Builder builder(func.getContext());
    func->setAttr(graph::kDeviceAttr, builder.getStringAttr(parts.front().device));
    func->setAttr(graph::kReasonAttr, builder.getStringAttr(parts.front().reason));
    return mlir::success();
  }

  mlir::LogicalResult findUnits(FuncOp func, const Wish& otherwise, llvm::SmallVector<Unit>& units) {
    bool hadCall = false;
    const bool isHead = graph::entryOf(func)->kind == graph::EntryKind::kHead;
    bool isOpen = false;  // the last unit takes more ops
    for (mlir::Operation& op : func.getBody().front().without_terminator()) {
      auto call = llvm::dyn_cast<graph::CallOp>(op);
      if (call) {
        units.push_back({{&op}, wishOfLayer(call.getLayer(), otherwise), call.getLayer()});
      } else if (isOpen) {
        units.back().ops.push_back(&op);
      } else {
        units.push_back({{&op}, isHead || hadCall ? wishOfHead(otherwise) : otherwise});
      }
      isOpen = !call;
      hadCall = hadCall || call;
    }
    for (Unit& unit : units) {
      auto call = llvm::dyn_cast<graph::CallOp>(unit.ops.front());
      if (mlir::failed(settle(unit, call ? calleeOf(call) : func))) return mlir::failure();
    }
    return mlir::success();
  }

  /// Makes `call` call the body for `target`: the body itself for the first target that wants it, a copy for others.
  void bindBody(graph::CallOp call, const Target& target) {
    FuncOp callee = calleeOf(call);
    FuncOp& body = bodies_[{call.getCalleeAttr().getAttr().getAsOpaquePointer(), &target}];
    if (!body) {
      const bool isTaken = callee->hasAttr(graph::kDeviceAttr);
      body = callee;
      if (isTaken) {
        mlir::OpBuilder builder(callee);
        builder.setInsertionPointAfter(callee);
        body = llvm::cast<FuncOp>(builder.clone(*callee));
        body.setSymName((callee.getSymName() + "." + target.name()).str());
      }
      annotate(body, target);
    }
    call.setCalleeAttr(mlir::FlatSymbolRefAttr::get(body.getSymNameAttr()));
  }

  static void annotate(FuncOp func, const Target& target) {
    mlir::Builder builder(func.getContext());
    func->setAttr(graph::kDeviceAttr, builder.getStringAttr(target.name()));
    func->setAttr(graph::kReasonAttr, builder.getStringAttr(kernelsOf(target, opsOf(func))));
  }

  mlir::ModuleOp module_;
  const PlaceOptions& options_;
  mlir::SymbolTableCollection tables_;  // of the functions before this pass: only bodies are looked up, by their calls
  bool isBatch_ = false;                // the entry at hand is one
  std::map<std::pair<const void*, const Target*>, FuncOp> bodies_;  ///< by name of the callee
  std::map<std::pair<Refusal, std::string>, Warning> warnings_;     ///< by what was refused and the target that runs it
};

class PlacePass : public mlir::PassWrapper<PlacePass, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlacePass)

  PlacePass() = default;
  PlacePass(const PlacePass& other) : PassWrapper(other), parsed_(other.parsed_) {}
  explicit PlacePass(const PlaceOptions& options) {
    target_ = options.target;
    prefill_ = options.prefillTarget;
    decode_ = options.decodeTarget;
    parsed_ = options.places;
  }

  llvm::StringRef getArgument() const final { return "graph-place"; }
  llvm::StringRef getDescription() const final { return "Each function to a device, with the reason"; }

  void runOnOperation() final {
    PlaceOptions options = {target_, prefill_, decode_, parsed_};
    for (const std::string* name : {&options.target, &options.prefillTarget, &options.decodeTarget}) {
      if ((name->empty() && name != &options.target) || target::findTarget(*name) != nullptr) continue;
      getOperation().emitError() << "graph.place_c1: found target \"" << *name
                                 << "\", expected one of: " << blob::targetNames();
      return signalPassFailure();
    }
    Result<std::vector<PlaceRange>> parsed = compiler::parsePlaces(places_);
    if (parsed) llvm::append_range(options.places, *parsed);
    const Status status = parsed ? compiler::checkPlaces(options.places, layersOf(getOperation())) : parsed.status();
    if (!status.isOk()) {
      getOperation().emitError() << "graph.place_c3: " << status.message();
      return signalPassFailure();
    }
    if (mlir::failed(Placer(getOperation(), options).run())) signalPassFailure();
  }

 private:
  static uint32_t layersOf(mlir::ModuleOp module) {
    uint32_t layers = 0;
    module.walk([&](graph::CallOp call) { layers = std::max(layers, static_cast<uint32_t>(call.getLayer()) + 1); });
    return layers;
  }

  Option<std::string> target_{*this, "target", llvm::cl::desc("name of a target"), llvm::cl::init("cpu")};
  Option<std::string> prefill_{*this, "prefill", llvm::cl::desc("target of the prefill entries"), llvm::cl::init("")};
  Option<std::string> decode_{*this, "decode", llvm::cl::desc("target of the others"), llvm::cl::init("")};
  Option<std::string> places_{*this, "places", llvm::cl::desc("compiler/placement.h"), llvm::cl::init("")};
  std::vector<PlaceRange> parsed_;  ///< those of a caller, which has no text
};

}  // namespace

std::unique_ptr<mlir::Pass> createPlacePass(const PlaceOptions& options) {
  return std::make_unique<PlacePass>(options);
}

}  // namespace firn::passes
