// What the rules of the npu share: buffers in on-chip memory, copies, and how work is cut into pieces. A rule writes
// its tasks in an order in which they could run one by one; which of them run at once is decided later (plan.h).
#pragma once

#include <string>
#include <vector>

#include "compiler/target/body_lowering.h"
#include "compiler/target/scratch_values.h"

namespace firn::target::npu {

/// A dense tensor in the CMX of some tiles, at one address in all of them.
struct OnChip {
  std::string base;
  uint64_t tiles = 0;  ///< bits
  DType dtype{};
  llvm::SmallVector<int64_t, 4> dims;

  /// That of tile `tile`.
  Tensor in(int64_t tile) const;
};

/// A part of a matrix that one tile works on.
struct Piece {
  int64_t tile = 0;
  Range rows;
  Range columns;
};

/// A piece of work is at most one of so many parts of a tile's CMX: inputs, results, and the next piece are there at
/// once.
inline constexpr uint64_t kPieceShare = 8;

/// The tools of one rule.
class NpuBody {
 public:
  explicit NpuBody(BodyLowering& body) : body_(body) {}

  BodyLowering& lowering() { return body_; }
  const machine::Machine& machine() const { return *body_.choices().machine; }
  int64_t tiles() const { return machine().tiles; }
  uint64_t allTiles() const { return (uint64_t{1} << tiles()) - 1; }

  OnChip onChip(llvm::StringRef hint, uint64_t tiles, DType dtype, llvm::ArrayRef<int64_t> dims);
  /// A DMA of `from` into every tile of `to`.
  void load(const Tensor& from, const OnChip& to, llvm::StringRef name);
  /// A DMA into one tile, or out of it.
  void copy(const Tensor& from, const Tensor& to, llvm::StringRef name);
  /// A DMA of `from` into rows `rows` of every tile of `to`.
  void multicast(const Tensor& from, const OnChip& to, Range rows, llvm::StringRef name);
  /// A task of DPU or SHAVE, in the tile that its operands lie in.
  void run(llvm::StringRef op, llvm::StringRef name, llvm::ArrayRef<Tensor> operands,
           llvm::ArrayRef<mlir::Attribute> attrs = {}) {
    body_.run(0, op, name, operands, attrs);
  }
  mlir::Attribute integer(int64_t value) { return body_.integer(value); }
  mlir::Attribute number(double value) { return body_.number(value); }

  /// [m, n] cut so that all tiles have work and no piece takes more than a part of a tile, at `elementBytes` for all
  /// that is kept of an element: by rows, and where there are fewer rows than tiles by columns, unless `wholeRows`. A
  /// row or 64 columns are the least.
  std::vector<Piece> pieces(int64_t rows, int64_t columns, uint64_t elementBytes, bool wholeRows);

 private:
  BodyLowering& body_;
};

/// `count` in `parts` runs of multiples of `unit`, as even as can be; those at the end may be empty.
std::vector<Range> splitEvenly(int64_t count, int64_t parts, int64_t unit);

/// A whole weight, in a stream with the others of its layer or in one of its own.
Tensor stored(BodyLowering& body, const WeightInfo& weight, llvm::StringRef form);

/// A matrix of the model in its source format, as u8 [n, bytes of a row].
Tensor asBytes(const Tensor& weights, const WeightInfo& weight);

/// Rows `rows` and columns `columns` of a matrix.
Tensor part(const Tensor& matrix, Range rows, Range columns);
/// The same memory with other dims; `tensor` is dense.
Tensor reshaped(const Tensor& tensor, llvm::ArrayRef<int64_t> dims);

/// True when there is a task that leaves the result of `op` as f16.
bool canWriteHalf(mlir::Operation* op);

/// How a matrix is kept in DDR: f16 where all that is done with `value` takes it so, and always what an attention
/// makes; else f32.
DType storedType(mlir::Value value);

}  // namespace firn::target::npu
