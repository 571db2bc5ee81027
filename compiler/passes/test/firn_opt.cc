// firn-opt: runs single passes on IR given as text. Only for the lit tests.
#include "compiler/ir/graph.h"
#include "compiler/ir/task.h"
#include "compiler/passes/npu/passes.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/task_passes.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char** argv) {
  firn::passes::registerGraphPasses();
  firn::passes::registerTaskPasses();
  firn::passes::registerNpuPasses();
  mlir::DialectRegistry registry;
  registry.insert<firn::graph::GraphDialect, firn::task::TaskDialect>();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "firn pass driver\n", registry));
}
