#include "kernels/reference/embed.h"

#include <cassert>

namespace firn::reference {

void embed(const EmbedArgs& args) {
  assert(args.out.columns == args.table.columns);
  for (uint64_t i = 0; i < args.out.rows; ++i) {
    assert(args.ids[i] >= 0);
    readWeights(args.table, static_cast<uint64_t>(args.ids[i]), 0, {args.out.row(i), args.out.columns});
  }
}

}  // namespace firn::reference
