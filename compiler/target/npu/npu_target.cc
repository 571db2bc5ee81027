#include "compiler/target/npu/npu_target.h"

#include "compiler/target/npu/attention.h"
#include "compiler/target/npu/linear.h"
#include "compiler/target/npu/npu_body.h"
#include "compiler/target/npu/row_ops.h"
#include "compiler/target/top_k_rule.h"

namespace firn::target {
namespace {

void copy(BodyLowering& body, const Tensor& from, const Tensor& to) { npu::NpuBody(body).copy(from, to, "copy"); }

mlir::LogicalResult loadHidden(BodyLowering& body, mlir::Value value) {
  return scratch::copyTo(body, value, scratch::crossing(body, "x0", DType::kF32, value.getType()), copy);
}

mlir::LogicalResult keepResult(BodyLowering& body, mlir::Value value, unsigned index) {
  return scratch::keep(body, value, index, copy);
}

mlir::LogicalResult storeOutput(BodyLowering& body, mlir::Value value, blob::SymbolKind symbol) {
  return scratch::store(body, value, symbol, copy);
}

/// The rule of an op whose tasks may have been made with those of a group (passes/npu/fuse.cc).
template <mlir::LogicalResult (*Rule)(BodyLowering&, mlir::Operation*)>
mlir::LogicalResult unlessInGroup(BodyLowering& body, mlir::Operation* op) {
  return op->hasAttr(graph::kGroupAttr) ? mlir::success() : Rule(body, op);
}

}  // namespace

const Target& npuTarget() {
  static const Target target = {
      .number = blob::Target::kNpu,
      .kvType = DType::kF16,
      .hasOneKvType = true,
      .fixedLanes = 1,
      .needsMachine = true,
      .whyNoBatch = "rows of a batch have caches of their own, which it does not reach",
      .keepsStreamInHidden = true,
      .loadHidden = loadHidden,
      .keepResult = keepResult,
      .storeOutput = storeOutput,
      .rules =
          {
              {"graph.embed", {npu::lowerEmbed}},
              {"graph.head", {npu::lowerLinear}},
              {"graph.linear", {npu::lowerLinear}},
              {"graph.rms_norm", {unlessInGroup<npu::lowerRmsNorm>}},
              {"graph.rope", {unlessInGroup<npu::lowerRope>}},
              {"graph.cache_update", {npu::lowerCacheUpdate}},
              {"graph.attention", {npu::lowerAttention}},
              {"graph.silu", {unlessInGroup<leaveToReader>, npu::whyNoActivation}},
              {"graph.gelu", {unlessInGroup<leaveToReader>, npu::whyNoActivation}},
              {"graph.mul", {unlessInGroup<npu::lowerMul>}},
              {"graph.add", {unlessInGroup<npu::lowerAdd>}},
              {"graph.scale", {npu::lowerScale}},
              {"graph.softcap", {npu::lowerSoftcap}},
              {"graph.top_k", {npu::lowerTopK, whyNoTopK}},
          },
  };
  return target;
}

}  // namespace firn::target
