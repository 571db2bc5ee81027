#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/concat.h"
#include "compiler/blob_emit/emit.h"
#include "compiler/ir/task.h"
#include "kernels/quant/group_split.h"
#include "kernels/quant/panel.h"

namespace firn::blob_emit {
namespace {

/// Bytes packed before they are written: bounds the memory of a compile whatever the size of a tensor.
constexpr uint64_t kChunkBytes = 8ULL << 20;

std::string text(llvm::StringRef value) { return value.str(); }

/// Writes packs at their addresses and counts the bytes.
class WeightStream {
 public:
  WeightStream(const FindTensor& find, const WeightProgress& progress, uint64_t total, blob::Writer& writer)
      : find_(find), progress_(progress), total_(total), writer_(writer) {}

  Status write(task::PackOp pack, uint64_t address) {
    FIRN_RETURN_IF_ERROR(writer_.padWeightsTo(address + pack.getOffset()));
    if (pack.getForm() == "rope_table") return writeRopeTable(pack);
    if (pack.getValues()) return writeConstant(pack);
    const import::TensorView* tensor = find_({pack.getSource().data(), pack.getSource().size()});
    if (tensor == nullptr) return internalError(concat("the model has no tensor '", text(pack.getSource()), "'"));
    FIRN_RETURN_IF_ERROR(checkShape(pack, *tensor));
    if (pack.getForm() == "panels") return writePanels(pack, *tensor);
    if (task::isPlaneForm(pack.getForm())) return writePlane(pack, *tensor);
    return pack.getForm() == "raw" ? append(tensor->bytes) : writeAsF32(pack, *tensor);
  }

  Status append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      auto part = bytes.first(std::min<size_t>(bytes.size(), kChunkBytes));
      FIRN_RETURN_IF_ERROR(writer_.appendWeights(part));
      bytes = bytes.subspan(part.size());
      if (!progress_(writer_.weightsOffset(), total_)) return cancelled("the compile was stopped");
    }
    return Status::ok();
  }

 private:
  /// The pack's rectangle lies in the tensor, and the tensor's bytes are what its dims say.
  static Status checkShape(task::PackOp pack, const import::TensorView& tensor) {
    uint64_t columns = tensor.dims.empty() ? 1 : tensor.dims.back();
    uint64_t elements = 1;
    for (uint64_t dim : tensor.dims) elements *= dim;
    uint64_t rows = columns == 0 ? 0 : elements / columns;
    auto inside = [](llvm::ArrayRef<int64_t> range, uint64_t limit) {
      return static_cast<uint64_t>(range[0] + range[1]) <= limit;
    };
    std::optional<uint64_t> bytes = dtypeBytes(tensor.type, elements);
    bool whole = pack.getForm() != "raw" || static_cast<uint64_t>(pack.getBytes()) == tensor.bytes.size();
    bool sameType = pack.getForm() == "f32" || text(pack.getDtype()) == text(task::dtypeName(tensor.type));
    if (inside(pack.getRows(), rows) && inside(pack.getColumns(), columns) && bytes == tensor.bytes.size() && whole &&
        sameType) {
      return Status::ok();
    }
    return internalError(concat("tensor '", tensor.name, "' of ", rows, " rows and ", columns, " columns of ",
                                text(task::dtypeName(tensor.type)), " does not hold what is packed of it"));
  }

  Status writePanels(task::PackOp pack, const import::TensorView& tensor) {
    quant::PackSource source;
    source.type = tensor.type;
    source.bytes = tensor.bytes;
    source.columns = tensor.dims.back();
    source.firstColumn = static_cast<uint64_t>(pack.getColumns()[0]);
    source.columnCount = static_cast<uint64_t>(pack.getColumns()[1]);
    auto shape = quant::panelShape(tensor.type, source.columnCount);
    if (!shape) return internalError(concat("tensor '", tensor.name, "' has no panels"));
    auto count = static_cast<uint64_t>(pack.getRows()[1]);
    uint64_t chunkRows = std::max<uint64_t>(1, kChunkBytes / shape->panelBytes) * quant::kPanelRows;
    for (uint64_t done = 0; done < count; done += chunkRows) {
      uint64_t rows = std::min(chunkRows, count - done);
      rowOrder_.resize(rows);
      std::iota(rowOrder_.begin(), rowOrder_.end(),
                static_cast<uint32_t>(static_cast<uint64_t>(pack.getRows()[0]) + done));
      buffer_.resize((rows + quant::kPanelRows - 1) / quant::kPanelRows * shape->panelBytes);
      FIRN_RETURN_IF_ERROR(quant::packPanels(source, rowOrder_, buffer_).withPlace(tensor.name));
      FIRN_RETURN_IF_ERROR(append(buffer_));
    }
    return Status::ok();
  }

  /// The pack's verifier has seen that the type has this plane.
  Status writePlane(task::PackOp pack, const import::TensorView& tensor) {
    task::PackPlane plane = *task::packPlane(pack.getForm(), tensor.type, pack.getColumns()[1]);
    uint64_t planeBytes = *dtypeBytes(plane.dtype, static_cast<uint64_t>(plane.columns));
    uint64_t rowBytes = *dtypeBytes(tensor.type, tensor.dims.back());
    uint64_t skip = *dtypeBytes(tensor.type, static_cast<uint64_t>(pack.getColumns()[0]));
    auto columns = static_cast<uint64_t>(pack.getColumns()[1]);
    auto count = static_cast<uint64_t>(pack.getRows()[1]);
    uint64_t chunkRows = std::max<uint64_t>(1, kChunkBytes / planeBytes);
    for (uint64_t done = 0; done < count; done += chunkRows) {
      uint64_t first = static_cast<uint64_t>(pack.getRows()[0]) + done;
      buffer_.resize(std::min(chunkRows, count - done) * planeBytes);
      for (uint64_t at = 0; at < buffer_.size(); at += planeBytes) {
        auto row = tensor.bytes.subspan((first + at / planeBytes) * rowBytes + skip);
        quant::splitRow(tensor.type, row, columns,
                        planesOf(pack.getForm(), std::span(buffer_).subspan(at, planeBytes)));
      }
      FIRN_RETURN_IF_ERROR(append(buffer_));
    }
    return Status::ok();
  }

  static quant::SplitPlanes planesOf(llvm::StringRef form, std::span<std::byte> plane) {
    quant::SplitPlanes planes;
    (form == "codes" ? planes.codes : form == "scales" ? planes.scales : planes.mins) = plane;
    return planes;
  }

  Status writeAsF32(task::PackOp pack, const import::TensorView& tensor) {
    uint64_t columns = tensor.dims.back();
    std::vector<float> values(columns);
    uint64_t rowBytes = dtypeBytes(tensor.type, columns).value_or(0);
    auto first = static_cast<size_t>(pack.getColumns()[0]);
    auto count = static_cast<size_t>(pack.getColumns()[1]);
    for (int64_t row = pack.getRows()[0]; row < pack.getRows()[0] + pack.getRows()[1]; ++row) {
      quant::dequantizeRow(tensor.type, tensor.bytes.subspan(static_cast<uint64_t>(row) * rowBytes, rowBytes), values);
      FIRN_RETURN_IF_ERROR(append(std::as_bytes(std::span(values).subspan(first, count))));
    }
    return Status::ok();
  }

  Status writeConstant(task::PackOp pack) {
    std::vector<float> values;
    for (llvm::APFloat value : pack.getValues()->getValues<llvm::APFloat>()) values.push_back(value.convertToFloat());
    return append(std::as_bytes(std::span(values)));
  }

  /// docs/arithmetic.md: the angle is a float product, cos and sin are taken of it in double and rounded once.
  Status writeRopeTable(task::PackOp pack) {
    auto magnitude = static_cast<float>(pack.getMagnitude()->convertToDouble());
    std::vector<float> freqs;
    for (llvm::APFloat value : pack.getValues()->getValues<llvm::APFloat>()) freqs.push_back(value.convertToFloat());
    std::vector<float> row(2 * freqs.size());
    for (int64_t position = 0; position < pack.getRows()[1]; ++position) {
      for (size_t i = 0; i < freqs.size(); ++i) {
        double angle = static_cast<float>(position) * freqs[i];
        row[2 * i] = static_cast<float>(std::cos(angle) * magnitude);
        row[2 * i + 1] = static_cast<float>(std::sin(angle) * magnitude);
      }
      FIRN_RETURN_IF_ERROR(append(std::as_bytes(std::span(row))));
    }
    return Status::ok();
  }

  const FindTensor& find_;
  const WeightProgress& progress_;
  uint64_t total_;
  blob::Writer& writer_;
  std::vector<uint32_t> rowOrder_;
  std::vector<std::byte> buffer_;
};

}  // namespace

Status emitWeights(mlir::ModuleOp module, const FindTensor& find, const WeightProgress& progress,
                   blob::Writer& writer) {
  std::vector<task::StreamOp> streams;
  uint64_t total = 0;
  for (auto program : module.getOps<task::ProgramOp>()) {
    total = static_cast<uint64_t>(program.getMemory()->getAs<mlir::IntegerAttr>("weights_bytes").getInt());
    llvm::append_range(streams, program.getBody().getOps<task::StreamOp>());
  }
  std::ranges::sort(streams, {}, [](task::StreamOp stream) { return stream.getAddress().value_or(0); });
  WeightStream out(find, progress, total, writer);
  for (task::StreamOp stream : streams) {
    for (auto pack : stream.getBody().getOps<task::PackOp>()) {
      FIRN_RETURN_IF_ERROR(out.write(pack, stream.getAddress().value_or(0)));
    }
  }
  return writer.padWeightsTo(total);
}

}  // namespace firn::blob_emit
