#include "compiler/passes/passes.h"
#include "mlir/Pass/Pass.h"

namespace firn::passes {

void registerGraphPasses() {
  mlir::registerPass([] { return createStatelessPass(); });
  mlir::registerPass([] { return createFreezePass({.chunks = {}, .contexts = {}, .batches = {}, .headRows = {}}); });
  mlir::registerPass([] { return createFoldPass(); });
  mlir::registerPass([] { return createPlacePass({}); });
}

}  // namespace firn::passes
