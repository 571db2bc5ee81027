// Scratch of the tiny model on the cpu target. Not here: the tasks that use it (tiny_cpu.cc).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/kernels.h"
#include "runtime/cts/tiny_model.h"

namespace firn::runtime::cts {

/// A quantized activation of `columns` columns.
struct CodesAt {
  uint64_t codes, scales, sums;
};

/// Scratch of one lane for m rows.
struct LaneScratch {
  uint64_t x, n, q, k, v, a, gate, up, workspace;
  CodesAt codes;
};

class Scratch {
 public:
  Scratch(uint32_t m, uint32_t lanes) : rows(m) {
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      LaneScratch s{};
      for (uint64_t* at : {&s.x, &s.n, &s.q, &s.k, &s.v, &s.a}) *at = floats(uint64_t{m} * kEmbed);
      for (uint64_t* at : {&s.gate, &s.up}) *at = floats(uint64_t{m} * kFfn);
      s.workspace = floats(workspaceFloats());
      s.codes = {.codes = arena.take(uint64_t{2} * m * kFfn),
                 .scales = floats(uint64_t{m} * kFfn / 32),
                 .sums = floats(uint64_t{m} * kFfn / 32)};
      lane_.push_back(s);
    }
    partials_ = floats(uint64_t{lanes} * m * kEmbed);
    ffnPartials_ = floats(uint64_t{lanes} * m * kEmbed);
    topLogits = floats(uint64_t{lanes} * m * kVocab);
    topIds = floats(uint64_t{lanes} * m * kVocab);
  }

  const LaneScratch& lane(uint32_t lane) const { return lane_[lane]; }
  /// What a lane adds to the residual stream, [m, E]; the lanes' stand one after the other.
  uint64_t partialOf(uint32_t lane) const { return partials_ + uint64_t{lane} * rows * kEmbed * sizeof(float); }
  uint64_t ffnPartialOf(uint32_t lane) const { return ffnPartials_ + uint64_t{lane} * rows * kEmbed * sizeof(float); }
  uint64_t workspaceFloats() const { return cpu::attentionWorkspaceFloats(rows, kHeads / kKvHeads, kHeadDim); }

  uint32_t rows;
  ScratchArena arena;
  uint64_t topLogits = 0;  ///< [lanes, m, up to the vocabulary], the best of each lane
  uint64_t topIds = 0;

 private:
  uint64_t floats(uint64_t count) { return arena.take(count * sizeof(float)); }
  std::vector<LaneScratch> lane_;
  uint64_t partials_ = 0;
  uint64_t ffnPartials_ = 0;
};

}  // namespace firn::runtime::cts
