// What rules get for a weight: the memory and the shape of the form that they ask for.
#include "compiler/target/body_lowering.h"

#include <gtest/gtest.h>

#include "compiler/target/targets.h"
#include "mlir/Parser/Parser.h"

namespace firn::target {
namespace {

constexpr std::string_view kModule = R"(
graph.weight @w : tensor<48x64x!graph.q5_1> {file = "w.weight"}
graph.func private @block(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  graph.param @w : tensor<48x64x!graph.q5_1>
  graph.return %x : tensor<?x64xf32>
}
)";

class BodyLoweringTest : public testing::Test {
 protected:
  BodyLoweringTest() {
    context.loadDialect<graph::GraphDialect, task::TaskDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(kModule, &context);
  }

  /// The weight as the module has it, or as the body names it.
  WeightInfo weight(bool isFormal) {
    WeightInfo info;
    info.symbol = "w";
    info.dtype = DType::kQ5_1;
    info.rows = 48;
    info.columns = 64;
    info.isFormal = isFormal;
    module->walk([&](mlir::Operation* op) {
      if (isFormal ? llvm::isa<graph::ParamOp>(op) : llvm::isa<graph::WeightOp>(op)) info.op = op;
    });
    return info;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

std::vector<int64_t> listOf(llvm::ArrayRef<int64_t> numbers) { return numbers.vec(); }

struct Plane {
  std::string form;
  DType dtype;
  int64_t width;
  uint64_t streamOffset;  ///< of rows 16 to 48, behind the planes above
};

TEST_F(BodyLoweringTest, PlanesOfAWeightAreDenseMatrices) {
  ASSERT_TRUE(module);
  ProgramBuilder program(*module, {.target = "cpu", .card = {}, .machine = {}});
  BodyLowering body(program, *findTarget("cpu"), {}, {.group = "prefill.16", .rows = 16});
  for (const Plane& plane : {Plane{"codes", DType::kU8, 64, 0}, Plane{"scales", DType::kF16, 2, 2048},
                             Plane{"mins", DType::kF16, 2, 2176}}) {
    const Tensor whole = body.whole(weight(false), plane.form);
    EXPECT_EQ(whole.space, blob::Space::kWeights);
    EXPECT_EQ(whole.layout, blob::Layout::kStrided);
    EXPECT_EQ(whole.base, "@w." + plane.form);
    EXPECT_EQ(whole.offset, 0U);
    EXPECT_EQ(whole.dtype, plane.dtype);
    EXPECT_EQ(listOf(whole.dims), (std::vector<int64_t>{48, plane.width}));
    EXPECT_EQ(listOf(whole.strides), (std::vector<int64_t>{plane.width, 1}));
    EXPECT_EQ(body.whole(weight(true), plane.form).base, "w." + plane.form);

    const Tensor part = body.streamed(0, weight(false), plane.form, {16, 32}, {0, 64});
    EXPECT_EQ(part.dtype, plane.dtype);
    EXPECT_EQ(part.offset, plane.streamOffset);
    EXPECT_EQ(listOf(part.dims), (std::vector<int64_t>{32, plane.width}));
  }
}

}  // namespace
}  // namespace firn::target
