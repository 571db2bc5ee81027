#include "blob/task_op.h"

namespace firn::blob {

std::string_view taskOpName(TaskOp op) {
  switch (op) {
    case TaskOp::kRefEmbed: return "ref.embed";
    case TaskOp::kRefRmsNorm: return "ref.rms_norm";
    case TaskOp::kRefLayerNorm: return "ref.layer_norm";
    case TaskOp::kRefLinear: return "ref.linear";
    case TaskOp::kRefRope: return "ref.rope";
    case TaskOp::kRefStateWrite: return "ref.state_write";
    case TaskOp::kRefAttention: return "ref.attention";
    case TaskOp::kRefSilu: return "ref.silu";
    case TaskOp::kRefGelu: return "ref.gelu";
    case TaskOp::kRefMul: return "ref.mul";
    case TaskOp::kRefAdd: return "ref.add";
    case TaskOp::kRefScale: return "ref.scale";
    case TaskOp::kRefSoftcap: return "ref.softcap";
    case TaskOp::kRefSlice: return "ref.slice";
    case TaskOp::kRefConcat: return "ref.concat";
    case TaskOp::kRefCopy: return "ref.copy";
    case TaskOp::kRefTopK: return "ref.top_k";
    case TaskOp::kCpuEmbed: return "cpu.embed";
    case TaskOp::kCpuRmsNorm: return "cpu.rms_norm";
    case TaskOp::kCpuQuantize: return "cpu.quantize";
    case TaskOp::kCpuLinearI8: return "cpu.linear_i8";
    case TaskOp::kCpuLinearF32: return "cpu.linear_f32";
    case TaskOp::kCpuRope: return "cpu.rope";
    case TaskOp::kCpuKvWrite: return "cpu.kv_write";
    case TaskOp::kCpuAttention: return "cpu.attention";
    case TaskOp::kCpuSiluMul: return "cpu.silu_mul";
    case TaskOp::kCpuAddPartials: return "cpu.add_partials";
    case TaskOp::kCpuCopy: return "cpu.copy";
    case TaskOp::kCpuGeluMul: return "cpu.gelu_mul";
    case TaskOp::kCpuScale: return "cpu.scale";
    case TaskOp::kCpuTopK: return "cpu.top_k";
    case TaskOp::kCpuTopKMerge: return "cpu.top_k_merge";
    case TaskOp::kNpuCopy: return "npu.copy";
    case TaskOp::kNpuKvWrite: return "npu.kv_write";
    case TaskOp::kNpuMatmul: return "npu.matmul";
    case TaskOp::kNpuMatmulGroups: return "npu.matmul_groups";
    case TaskOp::kNpuEmbed: return "npu.embed";
    case TaskOp::kNpuRmsNorm: return "npu.rms_norm";
    case TaskOp::kNpuRope: return "npu.rope";
    case TaskOp::kNpuExpand: return "npu.expand";
    case TaskOp::kNpuAccumulate: return "npu.accumulate";
    case TaskOp::kNpuGroupSums: return "npu.group_sums";
    case TaskOp::kNpuBias: return "npu.bias";
    case TaskOp::kNpuAdd: return "npu.add";
    case TaskOp::kNpuMul: return "npu.mul";
    case TaskOp::kNpuSiluMul: return "npu.silu_mul";
    case TaskOp::kNpuGeluMul: return "npu.gelu_mul";
    case TaskOp::kNpuScale: return "npu.scale";
    case TaskOp::kNpuSoftcap: return "npu.softcap";
    case TaskOp::kNpuCast: return "npu.cast";
    case TaskOp::kNpuSoftmax: return "npu.softmax";
    case TaskOp::kNpuRescale: return "npu.rescale";
    case TaskOp::kNpuFinish: return "npu.finish";
    case TaskOp::kNpuClean: return "npu.clean";
    case TaskOp::kNpuTopK: return "npu.top_k";
    case TaskOp::kNpuTopKMerge: return "npu.top_k_merge";
    case TaskOp::kNpuEmbedGroups: return "npu.embed_groups";
    case TaskOp::kNpuExpandGroups: return "npu.expand_groups";
  }
  return {};
}

}  // namespace firn::blob
