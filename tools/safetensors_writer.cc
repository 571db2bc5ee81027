#include "tools/safetensors_writer.h"

#include <bit>
#include <cerrno>
#include <cstring>

#include <nlohmann/json.hpp>
#include <unistd.h>

namespace firn::tools {

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian");

Result<SafetensorsWriter> SafetensorsWriter::create(const std::string& path, const std::string& name, uint64_t rows,
                                                    uint64_t columns) {
  SafetensorsWriter writer;
  writer.path_ = path;
  writer.temporary_ = path + ".tmp" + std::to_string(getpid());
  writer.missing_ = rows * columns;
  writer.file_.reset(std::fopen(writer.temporary_.c_str(), "wb"));
  if (writer.file_ == nullptr) return ioError("cannot write " + path + ": " + std::strerror(errno));
  const nlohmann::json header = {
      {name, {{"dtype", "F32"}, {"shape", {rows, columns}}, {"data_offsets", {0, writer.missing_ * sizeof(float)}}}}};
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  const bool written = std::fwrite(&length, sizeof(length), 1, writer.file_.get()) == 1 &&
                       std::fwrite(text.data(), 1, text.size(), writer.file_.get()) == text.size();
  if (!written) return ioError("cannot write " + path + ": " + std::strerror(errno));
  return writer;
}

SafetensorsWriter::~SafetensorsWriter() {
  if (file_ == nullptr) return;
  file_.reset();
  std::remove(temporary_.c_str());
}

Status SafetensorsWriter::append(std::span<const float> values) {
  if (values.size() > missing_) return internalError("more values than the tensor of " + path_ + " holds");
  if (std::fwrite(values.data(), sizeof(float), values.size(), file_.get()) != values.size()) {
    return ioError("cannot write " + path_ + ": " + std::strerror(errno));
  }
  missing_ -= values.size();
  return Status::ok();
}

Status SafetensorsWriter::close() {
  if (missing_ != 0) return internalError(std::to_string(missing_) + " values of " + path_ + " were not written");
  const bool flushed = std::fflush(file_.get()) == 0 && fsync(fileno(file_.get())) == 0;
  file_.reset();
  if (!flushed || std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    std::remove(temporary_.c_str());
    return ioError("cannot write " + path_ + ": " + reason);
  }
  return Status::ok();
}

}  // namespace firn::tools
