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
  }
  return {};
}

}  // namespace firn::blob
