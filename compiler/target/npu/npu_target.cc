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

/// Entries are timed by their schedule; this is for what has none.
CostModel costModel(int64_t) { return {1, 1, 1, 1, 0, 0}; }

}  // namespace

const Target& npuTarget() {
  static const Target target = {
      .number = blob::Target::kNpu,
      .kvType = DType::kF16,
      .hasOneKvType = true,
      .fixedLanes = 1,
      .keepsStreamInHidden = true,
      .costModel = costModel,
      .loadHidden = loadHidden,
      .keepResult = keepResult,
      .storeOutput = storeOutput,
      .rules =
          {
              {"graph.embed", {npu::lowerEmbed}},
              {"graph.head", {npu::lowerLinear}},
              {"graph.linear", {npu::lowerLinear}},
              {"graph.rms_norm", {npu::lowerRmsNorm}},
              {"graph.rope", {npu::lowerRope}},
              {"graph.cache_update", {npu::lowerCacheUpdate, npu::whyNoCacheUpdate}},
              {"graph.attention", {npu::lowerAttention, npu::whyNoAttention}},
              {"graph.silu", {npu::lowerActivation, npu::whyNoActivation}},
              {"graph.gelu", {npu::lowerActivation, npu::whyNoActivation}},
              {"graph.mul", {npu::lowerMul}},
              {"graph.add", {npu::lowerAdd}},
              {"graph.scale", {npu::lowerScale}},
              {"graph.softcap", {npu::lowerSoftcap}},
              {"graph.top_k", {npu::lowerTopK, whyNoTopK}},
          },
  };
  return target;
}

}  // namespace firn::target
