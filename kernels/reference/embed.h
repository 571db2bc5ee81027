// embed: rows of a table by token id. out[i, :] = table[ids[i], :], converted to fp32, exact.
// Any scaling of the embedding (Gemma) is an op of its own.
#pragma once

#include <cstdint>

#include "kernels/reference/view.h"

namespace firn::reference {

struct EmbedArgs {
  const int32_t* ids = nullptr;  ///< out.rows values, each in [0, table.rows)
  WeightView table;              ///< [V, E]
  Matrix out;                    ///< [m, E]
};

void embed(const EmbedArgs& args);

}  // namespace firn::reference
