// Writes one f32 tensor as a safetensors file, row by row, so that any size fits in memory.
// Format: https://huggingface.co/docs/safetensors (8-byte header length, JSON header, data).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/atomic_file.h"
#include "base/status.h"

namespace firn::tools {

/// A file that appears under its name when close() succeeds, and not before. Movable; one thread.
class SafetensorsWriter {
 public:
  /// Begins a file with one tensor `name` f32[rows, columns]. Errors: those of AtomicFile.
  static Result<SafetensorsWriter> create(const std::string& path, const std::string& name, uint64_t rows,
                                          uint64_t columns);

  /// Appends values in row-major order.
  Status append(std::span<const float> values);
  /// Ends the file. internal when not exactly rows x columns values were appended.
  Status close();

 private:
  SafetensorsWriter() = default;

  AtomicFile file_;
  uint64_t missing_ = 0;  ///< values still to come
};

}  // namespace firn::tools
