// linear_i8: quantized activations times quantized panels. One row runs matrix-vector, straight from the packed
// weights; more rows run tiles over unpacked codes in L1. Both do the same operations per output, in the same order.
// Kernel text: included after a vector header.
#pragma once

#include <cassert>

#include "kernels/cpu/panels_text.h"

namespace firn::cpu {
namespace {

/// What a group starts from: minus the offset of the weight codes times the sum of the activation codes, so that the
/// integer result is the dot product of the signed weights.
template <class Format>
FIRN_INLINE I32 groupStart(int32_t sum) {
  if constexpr (Format::kOffsetShift == 0) return splatInt(0);
  return subInt(splatInt(0), shiftLeft<Format::kOffsetShift>(splatInt(sum)));
}

/// The same for the parts of a group with two scales, by plane: the sum of the first half is made here.
template <class Format, int kPlanes>
FIRN_INLINE void partStarts(const int8_t* codes, size_t planeStride, int32_t sum,
                            I32 (&starts)[Format::kParts][kPlanes]) {
  if constexpr (Format::kParts == 1) {
    for (int p = 0; p < kPlanes; ++p) starts[0][p] = p == kPlanes - 1 ? groupStart<Format>(sum) : splatInt(0);
  } else {
    const Bytes offset = splatBytes(1 << Format::kOffsetShift);
    for (int p = 0; p < kPlanes; ++p) {
      I32 first = splatInt(0);
      FIRN_UNROLL
      for (int j = 0; j < 4; ++j) first = dot<true>(first, offset, loadQuad(codes + p * planeStride + 4 * j));
      starts[0][p] = subInt(splatInt(0), first);
      starts[1][p] = p == kPlanes - 1 ? addInt(first, groupStart<Format>(sum)) : first;
    }
  }
}

/// The integer dot product of a group from the sums of its one or two planes.
template <int kPlanes>
FIRN_INLINE I32 combine(const I32 (&planes)[kPlanes]) {
  if constexpr (kPlanes == 1) return planes[0];
  return addInt(shiftLeft<8>(planes[0]), planes[1]);
}

/// Of a part of a group of the weights, for each row of a panel.
struct PartScales {
  F32 scale;
  F32 min;  ///< read where the format has one
};

/// The fp32 step of a group (docs/arithmetic.md, "linear_i8").
template <class Format>
FIRN_INLINE F32 accumulate(F32 acc, I32 dots, const PartScales& weight, F32 scale, F32 sum) {
  acc = fma(toFloat(dots), mul(weight.scale, scale), acc);
  if constexpr (Format::kMins) acc = fma(weight.min, mul(scale, sum), acc);
  return acc;
}

/// Dot products of one group of a packed panel with one row of codes, for each part of the group.
template <class Format, int kPlanes>
FIRN_INLINE void packedDots(const uint8_t* weight, const ConstCodes& in, const int8_t* codes, int32_t sum,
                            I32 (&dots)[Format::kParts]) {
  constexpr bool kSmall = Format::kCodeBits < 8;
  I32 sums[Format::kParts][kPlanes];
  partStarts<Format, kPlanes>(codes, in.planeStride, sum, sums);
  if constexpr (kSmall) {
    FIRN_UNROLL
    for (int j = 0; j < 4; ++j) {
      const Bytes packed = loadBytes(weight + j * kRowsOf4);
      const Bytes low = withHighBits<Format>(weight, j, lowNibbles(packed));
      const Bytes high = withHighBits<Format>(weight, j + 4, highNibbles(packed));
      for (int p = 0; p < kPlanes; ++p) {
        const int8_t* x = codes + p * in.planeStride;
        I32& last = sums[Format::kParts - 1][p];
        sums[0][p] = dot<true>(sums[0][p], low, loadQuad(x + 4 * j));
        last = dot<true>(last, high, loadQuad(x + 16 + 4 * j));
      }
    }
  } else {
    FIRN_UNROLL
    for (int j = 0; j < 8; ++j) {
      const Bytes w = loadBytes(weight + j * kRowsOf4);
      for (int p = 0; p < kPlanes; ++p) {
        sums[0][p] = dot<false>(sums[0][p], w, loadQuad(codes + p * in.planeStride + 4 * j));
      }
    }
  }
  for (int part = 0; part < Format::kParts; ++part) dots[part] = combine<kPlanes>(sums[part]);
}

/// One row times all panels, one after the other: a single stream through the weights.
template <class Format, int kPlanes>
void gemv(const LinearI8Args& args, const QuantizedPanels<Format>& weight) {
  const size_t groups = args.columns / kGroup;
  const size_t panels = (size_t{args.outputs} + kLanes - 1) / kLanes;
  for (size_t panel = 0; panel < panels; ++panel) {
    const QuantizedPanel<Format> planes = weight.panel(panel);
    F32 acc = splat(0);
    for (size_t g = 0; g < groups; ++g) {
      weight.prefetch(panel + 1, g);
      const int32_t sum = args.in.sums[g];
      I32 dots[Format::kParts];
      packedDots<Format, kPlanes>(planes.codes(g), args.in, args.in.codes + g * kGroup, sum, dots);
      for (int part = 0; part < Format::kParts; ++part) {
        acc = accumulate<Format>(acc, dots[part], {planes.scales(g, part), planes.mins(g)}, splat(args.in.scales[g]),
                                 toFloat(splatInt(sum)));
      }
    }
    const size_t count = panelRows(panel, args.outputs);
    storeN(args.out.data + panel * kLanes, withBias(acc, args.bias, panel, count), count);
  }
}

/// Groups unpacked at a time: with two panels 24 KiB of codes, which leaves L1 room for scales and activations.
constexpr size_t kBlockGroups = 24;

/// kPanels panels, kBlockGroups groups of them, as bytes and fp32; [group][...][panel] so that a tile reads forward.
template <class Format, int kPanels>
struct UnpackedBlock {
  alignas(64) uint8_t codes[kBlockGroups][8][kPanels][kRowsOf4];
  alignas(64) float scales[kBlockGroups][Format::kParts][kPanels][kLanes];
  alignas(64) float mins[kBlockGroups][kPanels][kLanes];
};

/// Unpacks groups first .. first + count - 1 of kPanels panels from `panel` on.
template <class Format, int kPanels>
void unpackBlock(const QuantizedPanels<Format>& weight, size_t panel, size_t first, size_t count,
                 UnpackedBlock<Format, kPanels>& block) {
  constexpr bool kSmall = Format::kCodeBits < 8;
  for (int p = 0; p < kPanels; ++p) {
    const QuantizedPanel<Format> planes = weight.panel(panel + p);
    for (size_t g = 0; g < count; ++g) {
      weight.prefetch(panel + p + kPanels, first + g);
      const uint8_t* codes = planes.codes(first + g);
      FIRN_UNROLL
      for (int j = 0; j < (kSmall ? 4 : 8); ++j) {
        const Bytes bytes = loadBytes(codes + j * kRowsOf4);
        if constexpr (kSmall) {
          storeBytes(block.codes[g][j][p], withHighBits<Format>(codes, j, lowNibbles(bytes)));
          storeBytes(block.codes[g][j + 4][p], withHighBits<Format>(codes, j + 4, highNibbles(bytes)));
        } else {
          storeBytes(block.codes[g][j][p], bytes);
        }
      }
      for (int part = 0; part < Format::kParts; ++part) {
        store(block.scales[g][part][p], planes.scales(first + g, part));
      }
      if constexpr (Format::kMins) store(block.mins[g][p], planes.mins(first + g));
    }
  }
}

/// One tile's place in the product: rows from `row`, panels from `panel`, groups from `group`.
struct TilePlace {
  size_t row;
  size_t panel;
  size_t group;
  size_t groups;
  bool isFirst;  ///< of the blocks of K: starts from 0, else from what the block before left in `out`
  bool isLast;   ///< adds the bias
};

/// A group of the activations of a tile, from code `x` on, and what its sums start from for each row: see partStarts.
template <class Format, int kPlanes, int kRows>
struct TileGroup {
  const ConstCodes& in;
  const int8_t* x;
  I32 sums[kRows][Format::kParts][kPlanes];

  FIRN_INLINE TileGroup(const ConstCodes& codes, const int8_t* first, const int32_t* groupSums) : in(codes), x(first) {
    for (int t = 0; t < kRows; ++t) {
      partStarts<Format, kPlanes>(x + t * in.rowStride, in.planeStride, groupSums[t * in.groupStride], sums[t]);
    }
  }
};

/// The integer sums of one part of a group for a tile of kRows x kPanels.
template <class Format, int kPlanes, int kPanels, int kRows>
FIRN_INLINE void tileDots(const uint8_t (&codes)[8][kPanels][kRowsOf4], int part,
                          const TileGroup<Format, kPlanes, kRows>& group, I32 (&dots)[kRows][kPanels]) {
  constexpr int kRowsOfPart = 8 / Format::kParts;
  I32 planes[kRows][kPanels][kPlanes];
  FIRN_UNROLL
  for (int t = 0; t < kRows; ++t) {
    for (int r = 0; r < kPanels; ++r) {
      for (int p = 0; p < kPlanes; ++p) planes[t][r][p] = group.sums[t][part][p];
    }
  }
  FIRN_UNROLL
  for (int i = 0; i < kRowsOfPart; ++i) {
    const int j = part * kRowsOfPart + i;
    Bytes w[kPanels];
    for (int r = 0; r < kPanels; ++r) w[r] = loadBytes(codes[j][r]);
    FIRN_UNROLL
    for (int t = 0; t < kRows; ++t) {
      for (int p = 0; p < kPlanes; ++p) {
        const Quad quad = loadQuad(group.x + t * group.in.rowStride + p * group.in.planeStride + 4 * j);
        for (int r = 0; r < kPanels; ++r) planes[t][r][p] = dot<(Format::kCodeBits < 8)>(planes[t][r][p], w[r], quad);
      }
    }
  }
  for (int t = 0; t < kRows; ++t) {
    for (int r = 0; r < kPanels; ++r) dots[t][r] = combine<kPlanes>(planes[t][r]);
  }
}

template <class Format, int kPlanes, int kPanels, int kRows>
void tile(const LinearI8Args& args, const UnpackedBlock<Format, kPanels>& block, const TilePlace& place) {
  const ConstCodes& in = args.in;
  const int8_t* codes = in.codes + place.row * in.rowStride + place.group * kGroup;
  const float* scales = in.scales + place.row * in.groupStride + place.group;
  const int32_t* sums = in.sums + place.row * in.groupStride + place.group;
  float* out = args.out.data + place.row * args.out.rowStride + place.panel * kLanes;
  const size_t lastCount = panelRows(place.panel + kPanels - 1, args.outputs);

  F32 acc[kRows][kPanels];
  for (int t = 0; t < kRows; ++t) {
    for (int r = 0; r < kPanels; ++r) {
      const size_t count = r == kPanels - 1 ? lastCount : kLanes;
      acc[t][r] = place.isFirst ? splat(0) : loadN(out + t * args.out.rowStride + r * kLanes, count);
    }
  }
  for (size_t g = 0; g < place.groups; ++g) {
    const TileGroup<Format, kPlanes, kRows> group(in, codes + g * kGroup, sums + g);
    FIRN_UNROLL
    for (int part = 0; part < Format::kParts; ++part) {
      I32 dots[kRows][kPanels];
      tileDots<Format, kPlanes, kPanels, kRows>(block.codes[g], part, group, dots);
      FIRN_UNROLL
      for (int t = 0; t < kRows; ++t) {
        const F32 scale = splat(scales[t * in.groupStride + g]);
        const F32 sum = toFloat(splatInt(sums[t * in.groupStride + g]));
        for (int r = 0; r < kPanels; ++r) {
          const F32 min = Format::kMins ? load(block.mins[g][r]) : splat(0);
          acc[t][r] = accumulate<Format>(acc[t][r], dots[t][r], {load(block.scales[g][part][r]), min}, scale, sum);
        }
      }
    }
  }
  for (int t = 0; t < kRows; ++t) {
    for (int r = 0; r < kPanels; ++r) {
      const size_t count = r == kPanels - 1 ? lastCount : kLanes;
      const F32 result = place.isLast ? withBias(acc[t][r], args.bias, place.panel + r, count) : acc[t][r];
      storeN(out + t * args.out.rowStride + r * kLanes, result, count);
    }
  }
}

/// The last `count` rows, fewer than a full tile has.
template <class Format, int kPlanes, int kPanels, int kRows>
void lastTile(const LinearI8Args& args, const UnpackedBlock<Format, kPanels>& block, const TilePlace& place,
              size_t count) {
  if constexpr (kRows > 0) {
    if (count == kRows) return tile<Format, kPlanes, kPanels, kRows>(args, block, place);
    lastTile<Format, kPlanes, kPanels, kRows - 1>(args, block, place, count);
  }
}

/// All rows of kPanels panels.
template <class Format, int kPlanes, int kPanels>
void gemmPanels(const LinearI8Args& args, const QuantizedPanels<Format>& weight, size_t panel) {
  constexpr int kTileRows = kPlanes == 1 ? kTileTokens1 : kTileTokens2;
  const size_t groups = args.columns / kGroup;
  UnpackedBlock<Format, kPanels> block;
  for (size_t first = 0; first < groups; first += kBlockGroups) {
    const size_t count = groups - first < kBlockGroups ? groups - first : kBlockGroups;
    unpackBlock<Format, kPanels>(weight, panel, first, count, block);
    TilePlace place{0, panel, first, count, first == 0, first + count == groups};
    for (; place.row + kTileRows <= args.rows; place.row += kTileRows) {
      tile<Format, kPlanes, kPanels, kTileRows>(args, block, place);
    }
    lastTile<Format, kPlanes, kPanels, kTileRows - 1>(args, block, place, args.rows - place.row);
  }
}

template <class Format, int kPlanes>
void gemm(const LinearI8Args& args, const QuantizedPanels<Format>& weight) {
  const size_t panels = (size_t{args.outputs} + kLanes - 1) / kLanes;
  size_t panel = 0;
  for (; panel + kTilePanels <= panels; panel += kTilePanels) {
    gemmPanels<Format, kPlanes, kTilePanels>(args, weight, panel);
  }
  if constexpr (kTilePanels > 1) {
    for (; panel < panels; ++panel) gemmPanels<Format, kPlanes, 1>(args, weight, panel);
  }
}

/// With no columns every output is 0 plus the bias; the matrix kernels below take at least one group.
template <class Format, int kPlanes>
void linearPlanes(const LinearI8Args& args) {
  const QuantizedPanels<Format> weight(args.weight, args.columns / kGroup);
  if (args.rows == 1 || args.columns == 0) {
    for (size_t row = 0; row < args.rows; ++row) {
      LinearI8Args one = args;
      one.in.codes += row * args.in.rowStride;
      one.in.scales += row * args.in.groupStride;
      one.in.sums += row * args.in.groupStride;
      one.out.data += row * args.out.rowStride;
      one.rows = 1;
      gemv<Format, kPlanes>(one, weight);
    }
  } else if (args.rows > 1) {
    gemm<Format, kPlanes>(args, weight);
  }
}

template <class Format>
void linearFormat(const LinearI8Args& args) {
  if (args.in.planes == 1) {
    linearPlanes<Format, 1>(args);
  } else {
    linearPlanes<Format, 2>(args);
  }
}

void linearI8(const LinearI8Args& args) {
  switch (args.type) {
    case DType::kQ4_0: return linearFormat<Q40>(args);
    case DType::kQ4_1: return linearFormat<Q41>(args);
    case DType::kQ8_0: return linearFormat<Q80>(args);
    case DType::kQ5_0: return linearFormat<Q50>(args);
    case DType::kQ5_1: return linearFormat<Q51>(args);
    case DType::kQ4_K: return linearFormat<Q4K>(args);
    case DType::kQ5_K: return linearFormat<Q5K>(args);
    case DType::kQ6_K: return linearFormat<Q6K>(args);
    default: assert(false && "a verifier refuses every other type"); return;
  }
}

}  // namespace
}  // namespace firn::cpu
