#include "kernels/npu/top_k.h"

#include "kernels/cpu/kernels.h"

namespace firn::npu {
namespace {

const cpu::CpuKernels& best() {
  static const cpu::CpuKernels& table = cpu::kernels(cpu::bestInstructionSet());
  return table;
}

cpu::TopLists listsOf(const MatrixView<float>& values, const MatrixView<int32_t>& ids) {
  return {values.data, ids.data, values.rowStride, ids.rowStride};
}

}  // namespace

void topK(const TopKArgs& args) {
  best().topK({.in = {args.in.data, args.in.rowStride},
               .out = listsOf(args.values, args.ids),
               .rows = static_cast<uint32_t>(args.values.rows),
               .columns = static_cast<uint32_t>(args.in.columns),
               .count = static_cast<uint32_t>(args.values.columns),
               .firstId = args.firstId});
}

void topKMerge(const TopKMergeArgs& args) {
  best().topKMerge({.values = args.partValues.data,
                    .ids = args.partIds.data,
                    .valuePartStride = args.partValues.partStride,
                    .valueStride = args.partValues.rowStride,
                    .idPartStride = args.partIds.partStride,
                    .idStride = args.partIds.rowStride,
                    .out = listsOf(args.values, args.ids),
                    .parts = static_cast<uint32_t>(args.partValues.parts),
                    .rows = static_cast<uint32_t>(args.values.rows),
                    .count = static_cast<uint32_t>(args.values.columns)});
}

}  // namespace firn::npu
