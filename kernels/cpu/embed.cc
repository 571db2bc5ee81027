#include <cassert>
#include <span>

#include "kernels/cpu/tables.h"
#include "kernels/quant/panel.h"

namespace firn::cpu {

void embed(const EmbedArgs& args) {
  const std::optional<uint64_t> bytes = quant::panelBytes(args.type, args.vocab, args.columns);
  assert(bytes && "a verifier refuses other tables");
  const std::span<const std::byte> table(static_cast<const std::byte*>(args.table), bytes.value_or(0));
  for (uint32_t i = 0; i < args.rows; ++i) {
    const std::span<float> out(args.out.data + i * args.out.rowStride, args.columns);
    quant::unpackPanelRow(args.type, table, static_cast<uint32_t>(args.ids[i]), args.columns, out);
  }
}

}  // namespace firn::cpu
