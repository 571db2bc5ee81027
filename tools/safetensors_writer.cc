#include "tools/safetensors_writer.h"

#include <bit>
#include <cstring>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/align.h"

namespace firn::tools {

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian");

Result<SafetensorsWriter> SafetensorsWriter::create(const std::string& path, const std::string& name, uint64_t rows,
                                                    uint64_t columns) {
  SafetensorsWriter writer;
  writer.missing_ = rows * columns;
  FIRN_ASSIGN_OR_RETURN(writer.file_, AtomicFile::create(path));
  const nlohmann::json header = {
      {name, {{"dtype", "F32"}, {"shape", {rows, columns}}, {"data_offsets", {0, writer.missing_ * sizeof(float)}}}}};
  std::string text = header.dump();
  text.resize(roundUp(text.size(), 8), ' ');  // data begins 8-byte aligned
  const uint64_t length = text.size();
  FIRN_RETURN_IF_ERROR(writer.file_.append(std::as_bytes(std::span(&length, 1))));
  FIRN_RETURN_IF_ERROR(writer.file_.append(std::as_bytes(std::span(text))));
  return writer;
}

Status SafetensorsWriter::append(std::span<const float> values) {
  if (values.size() > missing_) return internalError("more values than the tensor holds");
  missing_ -= values.size();
  return file_.append(std::as_bytes(values));
}

Status SafetensorsWriter::close() {
  if (missing_ != 0) return internalError(std::to_string(missing_) + " values of the tensor were not written");
  return file_.commit();
}

}  // namespace firn::tools
