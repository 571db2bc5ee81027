// npu.matmul. Kernel text: included after a vector header.
#pragma once

#include "kernels/npu/matmul.h"
#include "kernels/npu/tile_text.h"

namespace firn::npu {
namespace {

/// Inputs of k that lanes of a transposed tile take at a time: 16 to a lane.
constexpr size_t kPiece = 256;
/// Rows and vectors of columns of a transposed tile.
constexpr int kTurnedRows = kFewRows;
constexpr int kTurnedVectors = kFewColumns;

FIRN_INLINE void matmulRows(const MatmulArgs& args) {
  const size_t columns = args.out.columns;
  const size_t rows = args.out.rows;
  const auto tileAt = [&](size_t i, size_t j) {
    return TileOperands<HalfRows>{{args.a.data + i * args.a.rowStride, args.a.rowStride, rows - i},
                                  {args.w.data + j * args.w.outputStride, args.w.outputStride, columns - j},
                                  {0, args.a.columns}};
  };
  // The last row alone, where there is one, does not pay for four.
  const size_t tiled = rows % 4 == 1 ? rows - 1 : rows;
  for (size_t j = 0; j < columns && tiled != 0; j += 4) {
    for (size_t i = 0; i < tiled; i += 4) writeRows({args.out, args.accumulate, i, j}, tileSums<4>(tileAt(i, j)));
  }
  for (size_t j = 0; j < columns && tiled < rows; j += 16) {
    writeRow({args.out, args.accumulate, tiled, j}, tileSums<16>(tileAt(tiled, j)));
  }
}

/// A tile of weights [k, n] with n side by side: vectors hold columns, so each of the 16 lanes of a sum is an
/// accumulator of its own. They are kept in memory, and a piece of k at a time goes through them lane by lane.
struct TurnedTile {
  const MatmulArgs& args;
  size_t row;
  size_t column;
  float a[kTurnedRows][kPiece];
  F32 lanes[16][kTurnedRows][kTurnedVectors];

  FIRN_INLINE size_t lanesOf(int v) const {
    const size_t at = column + 16 * static_cast<size_t>(v);
    return at < args.out.columns ? lanesAt(at, args.out.columns) : 0;
  }
};

/// Inputs first, first + 16, ... of a piece for one lane.
FIRN_INLINE void addLane(TurnedTile& tile, size_t first, size_t pieceStart, size_t pieceEnd) {
  F32 acc[kTurnedRows][kTurnedVectors];
  __builtin_memcpy(&acc, &tile.lanes[first], sizeof acc);
  for (size_t k = pieceStart + first; k < pieceEnd; k += 16) {
    const uint16_t* w = tile.args.w.data + k * tile.args.w.inputStride + tile.column;
    FIRN_UNROLL
    for (int v = 0; v < kTurnedVectors; ++v) {
      const size_t n = tile.lanesOf(v);
      const F32 weights = n == 0 ? splat(0) : loadHalves(w + 16 * v, n);
      FIRN_UNROLL
      for (int i = 0; i < kTurnedRows; ++i) {
        acc[i][v] = addProduct(acc[i][v], splat(tile.a[i][k - pieceStart]), weights);
      }
    }
  }
  __builtin_memcpy(&tile.lanes[first], &acc, sizeof acc);
}

FIRN_INLINE void addPiece(TurnedTile& tile, size_t start, size_t end) {
  const HalfRows a = {tile.args.a.data + tile.row * tile.args.a.rowStride, tile.args.a.rowStride,
                      tile.args.out.rows - tile.row};
  for (int i = 0; i < kTurnedRows; ++i) {
    for (size_t k = start; k < end; k += 16) {
      store(&tile.a[i][k - start], a.load(static_cast<size_t>(i), k, lanesAt(k, end)));
    }
  }
  for (size_t lane = 0; lane < 16; ++lane) addLane(tile, lane, start, end);
}

void matmulTurnedTile(const MatmulArgs& args, size_t row, size_t column) {
  TurnedTile tile = {.args = args, .row = row, .column = column, .a = {}, .lanes = {}};
  for (size_t start = 0; start < args.a.columns; start += kPiece) {
    addPiece(tile, start, least(start + kPiece, args.a.columns));
  }
  for (int i = 0; i < kTurnedRows && row + static_cast<size_t>(i) < args.out.rows; ++i) {
    for (int v = 0; v < kTurnedVectors && tile.lanesOf(v) != 0; ++v) {
      for (int step = 8; step > 0; step /= 2) {
        for (int l = 0; l < step; ++l) tile.lanes[l][i][v] = add(tile.lanes[l][i][v], tile.lanes[l + step][i][v]);
      }
      writeRow({args.out, args.accumulate, row + static_cast<size_t>(i), column + 16 * static_cast<size_t>(v)},
               tile.lanes[0][i][v]);
    }
  }
}

void matmulKernel(const MatmulArgs& args) {
  if (args.w.inputStride == 1) return matmulRows(args);
  for (size_t j = 0; j < args.out.columns; j += 16 * kTurnedVectors) {
    for (size_t i = 0; i < args.out.rows; i += kTurnedRows) matmulTurnedTile(args, i, j);
  }
}

}  // namespace
}  // namespace firn::npu
