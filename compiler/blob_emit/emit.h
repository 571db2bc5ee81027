// Phase "blob": a scheduled task program becomes bytes. A translation, one record per op; nothing is decided here.
// Not here: the file format (blob/writer.h), where the numbers come from (passes/schedule.cc).
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/status.h"
#include "blob/program.h"
#include "blob/writer.h"
#include "compiler/import/model_spec.h"
#include "mlir/IR/BuiltinOps.h"

namespace firn::blob_emit {

/// The task.programs of `module`, one a target, as the tables of a blob, with header.weightsBytes set. internal when
/// the module was not scheduled.
Result<blob::Program> emitProgram(mlir::ModuleOp module);

/// The source tensor of that name, or nullptr.
using FindTensor = std::function<const import::TensorView*(std::string_view name)>;
/// `done` of `total` bytes of the weight section are written; false stops the compile (cancelled).
using WeightProgress = std::function<bool(uint64_t done, uint64_t total)>;

/// Packs the streams of the program, in the order of their addresses, into the writer. Memory: a few MiB.
/// internal when a stream names no tensor or one of another shape; cancelled; the writer's errors.
Status emitWeights(mlir::ModuleOp module, const FindTensor& find, const WeightProgress& progress, blob::Writer& writer);

}  // namespace firn::blob_emit
