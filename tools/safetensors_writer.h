// Writes one f32 tensor as a safetensors file, row by row, so that any size fits in memory.
// Format: https://huggingface.co/docs/safetensors (8-byte header length, JSON header, data).
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"

namespace firn::tools {

/// A file being written under a temporary name beside `path`; close() gives it its name, destruction without close()
/// removes it. One thread.
class SafetensorsWriter {
 public:
  /// Begins a file with one tensor `name` f32[rows, columns].
  static Result<SafetensorsWriter> create(const std::string& path, const std::string& name, uint64_t rows,
                                          uint64_t columns);
  SafetensorsWriter(SafetensorsWriter&&) noexcept = default;
  SafetensorsWriter& operator=(SafetensorsWriter&&) noexcept = default;
  ~SafetensorsWriter();

  /// Appends values in row-major order. io when the disk refuses.
  Status append(std::span<const float> values);
  /// Flushes and renames. internal when not exactly rows x columns values were appended.
  Status close();

 private:
  struct FileCloser {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  SafetensorsWriter() = default;

  std::unique_ptr<std::FILE, FileCloser> file_;
  std::string path_;
  std::string temporary_;
  uint64_t missing_ = 0;  ///< values still to come
};

}  // namespace firn::tools
